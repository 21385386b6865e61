"""agentic_loop: a request is answered by a model with tools, without a plan."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig

from planwright.domain.plan import CLOSING
from planwright.execution.loop_ends import Loop, limited, loop_outcome
from planwright.execution.tool_offer import only_asks
from planwright.models.conversation.answer import emit_messages
from planwright.models.conversation.thread_messages import last_results, of_calls, of_thread
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

    async def agentic_loop(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        invocation = invocation_of(config)
        invocation.speak_from_here()
        invocation.answer_from_here(config)
        tools = (*(name for name in state["tools"] if name not in CLOSING), "clarify")
        route = serving(settings, "agent", state["route"])
        loop = LoopTask(lane="main", goal=state["request"], route=route, tools=tools)
        before = _opening(state)
        opening = LoopInput(loop=loop, conversation=before, compacted=state.get("compacted"))
        work = subgraph.ainvoke(opening, limited(config, settings))
        ended = await parked_if_drained(work)
        outcome = loop_outcome(ended)
        calls = await _calls_of(ended["conversation"][len(before) :], invocation.run_id, config)
        update: AgentUpdate = {"calls": calls, "answer": outcome.text}
        if outcome.status in ("completed", "needs_input") and await stores.doubts.of_run(invocation.run_id):
            return {**update, "status": "escalated"}  # by the record, whatever the state says
        if outcome.status != "completed":
            return {**update, "status": outcome.status}
        asks = only_asks(state["request"])
        refused = await stores.refusals.of_all_effects(invocation.run_id, asks=asks)
        return {**update, "status": ends_with(refused) if refused else "completed"}

    return agentic_loop


def _opening(state: AgentState) -> list[AnyMessage]:
    """Begin with the conversation; behind what others have said since, the request stands once more."""
    before = of_thread(state["messages"])
    again = HumanMessage(state["request"], id=f"{state['run_id']}_request")
    return before if before[-1].type == "human" else [*before, again]


async def _calls_of(messages: Sequence[AnyMessage], run_id: str, config: RunnableConfig) -> list[AnyMessage]:
    """Choose the calls of a loop and their results; what its last turn brought is streamed only now."""
    calls, untold = of_calls(messages, run_id), last_results(messages, run_id)
    await emit_messages(untold, config, seen=[call for call in calls if call not in untold])
    return calls
