"""The child of a user who runs a LangGraph graph of their own before Planwright is imported."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict


class Counted(TypedDict):
    """The state of the user's own graph."""

    count: int


def run_own_graph() -> int:
    """Run the user's own graph, with a saver of LangGraph's."""
    graph = StateGraph(Counted)
    graph.add_node("add", lambda state: {"count": state["count"] + 1})
    graph.add_edge(START, "add")
    graph.add_edge("add", END)
    compiled = graph.compile(checkpointer=InMemorySaver())
    return int(compiled.invoke({"count": 1}, {"configurable": {"thread_id": "own"}})["count"])


if __name__ == "__main__":
    assert run_own_graph() == 2
    assert not [name for name in sys.modules if name.startswith("planwright")]
    sys.path.remove(str(Path(__file__).parent))  # its modules are not installed: a workspace has its own
    runpy.run_path(str(Path(__file__).with_name("child.py")), run_name="__main__")
