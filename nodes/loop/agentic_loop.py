"""agentic_loop: a request is answered by a model with tools, without a plan."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from planwright.domain.plan import CLOSING
from planwright.execution.loop_ends import Loop, loop_outcome, supersteps
from planwright.execution.tool_offer import only_asks
from planwright.models.roles import serving
from planwright.records.effects.refusals import ends_with
from planwright.records.stores import Stores
from planwright.settings.settings import Settings
from planwright.state.agent_state import AgentState, AgentUpdate
from planwright.state.invocation import invocation_of
from planwright.state.loop_state import (
    LoopInput,
    LoopTask,
)
from planwright.state.node import Node
from planwright.state.step_board import parked_if_drained


def agentic_loop(subgraph: Loop, stores: Stores, settings: Settings) -> Node[AgentState, AgentUpdate]:
    """Answer a simple request by a model with tools; its last words are the answer, or its questions.

    A run whose every effect was refused ends so, whatever the model says of it; one that was to answer a
    question, and has read for that, does not.
    """
    limit = supersteps(settings)

    async def agentic_loop(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        invocation = invocation_of(config)
        invocation.speak_from_here()
        invocation.answer_from_here(config)
        tools = (*(name for name in state["tools"] if name not in CLOSING), "clarify")
        route = serving(settings, "agent", state["route"])
        loop = LoopTask(lane="main", goal=state["request"], route=route, tools=tools)
        opening = LoopInput(loop=loop, conversation=state["messages"], compacted=state.get("compacted"))
        work = subgraph.ainvoke(opening, {**config, "recursion_limit": limit})
        ended = await parked_if_drained(work)
        outcome = loop_outcome(ended)
        completed = outcome.status == "completed"
        if outcome.status in ("completed", "needs_input") and await stores.doubts.of_run(invocation.run_id):
            return {"answer": outcome.text, "status": "escalated"}  # by the record, whatever the state says
        if not completed:
            return {"answer": outcome.text, "status": outcome.status}
        asks = only_asks(state["request"])
        refused = await stores.refusals.of_all_effects(invocation.run_id, asks=asks)
        return {"answer": outcome.text, "status": ends_with(refused) if refused else "completed"}

    return agentic_loop
