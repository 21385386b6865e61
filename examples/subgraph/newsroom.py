"""Planwright as one node of a graph of your own; the outer graph answers its gates.

python newsroom.py
"""

from __future__ import annotations

import uuid
from typing import Annotated

from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command
from typing_extensions import TypedDict

from planwright.graph import open_agent


class Newsroom(TypedDict, total=False):
    """The state of the outer graph: what it shares with the agent has the same names."""

    messages: Annotated[list[AnyMessage], add_messages]
    """What the agent is asked, and what it answers."""
    headline: str
    """What is to stand on the front page; set by whoever runs the graph."""
    answer: str
    """Words of the agent at its end."""
    status: str
    """How its run stands or ended."""
    printed: str
    """What was printed; "" for nothing."""


def brief(state: Newsroom) -> Newsroom:
    """Turn the headline into a request."""
    return {"messages": [HumanMessage(f'Write "{state["headline"]}" to front-page.md')]}


def print_page(state: Newsroom) -> Newsroom:
    """Do what comes after: only a page that was written is printed."""
    return {"printed": state["headline"] if state["status"] == "completed" else ""}


def main() -> None:
    """Run the outer graph, and answer what the inner one asks."""
    with open_agent(".") as agent:
        graph = StateGraph(Newsroom)
        graph.add_node("brief", brief)
        graph.add_node("agent", agent)
        graph.add_node("print", print_page)
        graph.add_edge(START, "brief")
        graph.add_edge("brief", "agent")
        graph.add_edge("agent", "print")
        graph.add_edge("print", END)
        app = graph.compile(checkpointer=agent.stores.saver)  # on disk, beside what the agent records

        thread: RunnableConfig = {"configurable": {"thread_id": str(uuid.uuid4())}}
        out = app.invoke({"headline": "Frost in May"}, thread)
        while waiting := out.get("__interrupt__"):
            gate = waiting[0].value
            print(gate["action_requests"][0]["description"])
            yes = input("approve? [y/N] ").lower() == "y"
            answer = {"type": "approve" if yes else "reject", "gate_id": gate["gate_id"]}
            out = app.invoke(Command(resume=answer), thread)
    print(f"{out['status']}, printed: {out['printed'] or 'nothing'}")


if __name__ == "__main__":
    main()
