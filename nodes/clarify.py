"""clarify: end the run with the planner's questions; the next message answers them."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from pydantic import JsonValue

from planwright.graph.state import AgentState
from planwright.nodes.node import Node, Update


def clarify() -> Node[AgentState]:
    """Ask what is meant."""

    async def clarify(state: AgentState, config: RunnableConfig) -> Update:
        plan = state["plan"]
        assert plan is not None
        return {"answer": phrase(plan.steps[-1].params.get("questions")), "status": "completed"}

    return clarify


def phrase(questions: JsonValue) -> str:
    """Put one to four questions on lines of their own."""
    asked = [str(question) for question in questions] if isinstance(questions, list) else []
    return "\n".join(asked) or "What do you mean?"
