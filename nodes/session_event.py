"""session_event: open the journal of a run and clear what belonged to the one before."""

from __future__ import annotations

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite

from planwright.graph.invocation import invocation_of
from planwright.graph.state import AgentState, Attempts, Task
from planwright.nodes.node import Node, Update


def session_event() -> Node[AgentState]:
    """Record the user's message before anything is done about it."""

    async def session_event(state: AgentState, config: RunnableConfig) -> Update:
        invocation = invocation_of(config)
        request = newest_request(state["messages"])
        context = invocation.context
        agent = {"agent": context.agent} if context.agent else {}
        invocation.emit("run_start", {"tenant": context.tenant, "channel": context.channel, **agent}, "run")
        invocation.emit("user_message", {"content": request}, "run")
        return {
            "run_id": invocation.run_id,
            "request": request,
            "task": Task(task=request),
            "status": "running",
            "plan": None,
            "checked": [],
            "changes": [],
            "draft": None,
            "findings": [],
            "attempts": Attempts(),
            "gate_id": "",
            "shortlist": [],
            "results": Overwrite({}),
            "verdict": None,
            "escalates": False,
            "answer": "",
        }

    return session_event


def newest_request(messages: list[AnyMessage]) -> str:
    """Read the text of the newest message of the user's."""
    human = [message for message in messages if message.type == "human"]
    return human[-1].text if human else ""
