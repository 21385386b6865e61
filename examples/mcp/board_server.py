"""A small MCP server over stdio: a board of cards in SQLite, with one tool that reads and one that writes.

python board_server.py      # an MCP client starts it; there is nothing to see in a terminal
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations
from pydantic import BaseModel

DATABASE = "board.db"
SCHEMA = "CREATE TABLE IF NOT EXISTS cards (id INTEGER PRIMARY KEY, title TEXT NOT NULL)"
server = MCPServer("board")


class Card(BaseModel):
    """One card of the board."""

    id: int
    title: str


@contextmanager
def opened() -> Iterator[sqlite3.Connection]:
    """Open the board, and commit what is done in the block."""
    with closing(sqlite3.connect(DATABASE)) as database, database:
        database.execute(SCHEMA)
        yield database


@server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
def cards() -> list[Card]:
    """List the cards of the board."""
    with opened() as database:
        rows = database.execute("SELECT id, title FROM cards ORDER BY id").fetchall()
    return [Card(id=id_, title=title) for id_, title in rows]


@server.tool(annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False))
def add_card(title: str) -> Card:
    """Add a card to the board."""
    with opened() as database:
        row = database.execute("INSERT INTO cards (title) VALUES (?) RETURNING id", (title,)).fetchone()
    return Card(id=row[0], title=title)


if __name__ == "__main__":
    server.run()
