"""LangChain tools and a chat model of one's own, behind Planwright's gates and ledger.

python shop.py "Order 3 bags of coffee if there are less than 5 in stock"
"""

from __future__ import annotations

import os
import sqlite3
import sys
import uuid
from contextlib import closing

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.types import Command

from planwright.graph import open_agent

DATABASE = "shop.db"
SCHEMA = """
CREATE TABLE IF NOT EXISTS stock (article TEXT PRIMARY KEY, pieces INTEGER);
CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, article TEXT, pieces INTEGER);
INSERT OR IGNORE INTO stock VALUES ('coffee', 2), ('tea', 40);
"""


@tool
def stock(article: str) -> int:
    """Count the pieces of an article in stock."""
    with closing(sqlite3.connect(DATABASE)) as database:
        row = database.execute("SELECT pieces FROM stock WHERE article = ?", (article,)).fetchone()
    return int(row[0]) if row else 0


@tool
def order(article: str, pieces: int) -> int:
    """Order pieces of an article from the supplier. Returns the number of the order."""
    with closing(sqlite3.connect(DATABASE)) as database, database:
        done = database.execute("INSERT INTO orders (article, pieces) VALUES (?, ?)", (article, pieces))
    return done.lastrowid or 0


stock.metadata = {"mode": "read_only"}  # `order` says nothing of itself: a person is asked every time


def main() -> None:
    """Answer one request; ask at the terminal about what changes something."""
    with closing(sqlite3.connect(DATABASE)) as database:
        database.executescript(SCHEMA)
    model = ChatOpenAI(model=os.environ.get("OPENAI_MODEL", "gpt-5-mini"))
    thread: RunnableConfig = {"configurable": {"thread_id": str(uuid.uuid4())}}
    with open_agent(".", model=model, tools=[stock, order]) as agent:
        out = agent.invoke({"messages": [("user", sys.argv[1])]}, thread)
        while waiting := out.get("__interrupt__"):
            answers = {}
            for gate in waiting:  # each order of a reply has one of its own
                for request in gate.value["action_requests"]:
                    print(request["name"], request["args"])
                yes = input("approve? [y/N] ").lower() == "y"
                answers[gate.id] = {"type": "approve"} if yes else {"type": "reject", "message": "not now"}
            out = agent.invoke(Command(resume=answers), thread)
    print(f"{out['status']}: {out['answer']}")


if __name__ == "__main__":
    main()
