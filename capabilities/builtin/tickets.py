"""Tickets in an SQLite database of the workspace.

The effect's key is a unique column of the ticket itself, so that a ticket and the record of
having made it are one transaction, whatever happens to the process.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Annotated, Literal

from pydantic import BaseModel, Field, JsonValue

from planwright.capabilities.builtin.places import tickets_of
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Guide
from planwright.capabilities.declaration import capability
from planwright.capabilities.descriptions import MISSING, ArgumentDescription, Deed
from planwright.domain.errors import CapabilityRejected, CapabilityUnavailable
from planwright.domain.plan import Compensation

_TABLE = """CREATE TABLE IF NOT EXISTS tickets (
    id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL DEFAULT '', amount TEXT,
    status TEXT NOT NULL DEFAULT 'open', created_at TEXT NOT NULL, effect_key TEXT UNIQUE)"""


class Ticket(BaseModel):
    """One ticket."""

    id: int
    """Number of the ticket."""
    title: str
    """What it is about, in one line."""
    body: str = ""
    """Details; "" for none."""
    amount: str | None = None
    """Sum of money that it is about, with its currency; None for none."""
    status: str = "open"
    """`open` or `closed`."""
    created_at: str = ""
    """When it was created, in ISO 8601."""


class Tickets(BaseModel):
    """Tickets, newest first."""

    tickets: list[Ticket]
    """The tickets, newest first."""
    count: int
    """Number of those tickets."""


async def _described(args: Mapping[str, JsonValue], call: CallContext) -> Mapping[str, ArgumentDescription]:
    """Say which ticket a number names: by its title, which others may have written."""
    if not isinstance(id_ := args.get("id"), int):
        return {}
    ticket = await asyncio.to_thread(_ticket, id_, call)
    if ticket is None:
        return {"id": MISSING}
    closed = ", closed already" if ticket.status == "closed" else ""
    return {"id": ArgumentDescription(f"{ticket.title}{closed}", untrusted=True)}


def _ticket(id_: int, call: CallContext) -> Ticket | None:
    """Read a ticket, and nothing else: where there is no database, none is made."""
    path = call.settings.workspace / call.settings.sources.tickets
    if not path.is_file():
        return None
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        database.row_factory = sqlite3.Row
        row = database.execute("SELECT * FROM tickets WHERE id = ?", (id_,)).fetchone()
    return None if row is None else Ticket.model_validate(dict(row))


@capability(
    "tickets.create",
    mode="local_write",
    risk="Medium",
    effect="idempotent",
    tags=("ticket", "create", "issue", "task"),
    guide=Guide(
        "Opens a ticket. `amount` is the sum of money it is about, if any.",
        ("Create a ticket to review the quarterly report",),
        50,
    ),
    trusted_result=True,
    deed=Deed("create", "ticket"),
    adds=tickets_of,
    compensation=Compensation(capability="tickets.close", params={"id": "{{output.id}}"}),
)
def create(
    title: Annotated[str, Field(description="what the ticket is about, in one line", min_length=1)],
    call: CallContext,
    body: Annotated[str, Field(description="details")] = "",
    amount: Annotated[str | None, Field(description="a sum of money, with its currency")] = None,
) -> Ticket:
    """Create a ticket in the ticket database."""
    with _open(call) as database:
        database.execute("BEGIN IMMEDIATE")
        database.execute(
            "INSERT OR IGNORE INTO tickets (title, body, amount, created_at, effect_key) VALUES (?,?,?,?,?)",
            (title, body, amount, call.now().isoformat(timespec="seconds"), call.idempotency_key),
        )
        row = database.execute(
            "SELECT * FROM tickets WHERE effect_key = ?", (call.idempotency_key,)
        ).fetchone()
        database.execute("COMMIT")
    return Ticket.model_validate(dict(row))


@capability(
    "tickets.close",
    mode="local_write",
    risk="Medium",
    effect="idempotent",
    tags=("ticket", "close"),
    guide=Guide("Closes a ticket by its `id`; one that is closed stays so.", (), 900),
    deed=Deed("close", "ticket"),
    describe=_described,
    writes=tickets_of,
)
def close(
    id: Annotated[int, Field(description="number of the ticket, as tickets.list says it")], call: CallContext
) -> Ticket:
    """Close a ticket."""
    with _open(call) as database:
        database.execute("UPDATE tickets SET status = 'closed' WHERE id = ?", (id,))
        row = database.execute("SELECT * FROM tickets WHERE id = ?", (id,)).fetchone()
    if row is None:
        raise CapabilityRejected(f"there is no ticket {id}", "list them with: tickets.list")
    return Ticket.model_validate(dict(row))


@capability(
    "tickets.list",
    mode="read_only",
    tags=("ticket", "list", "open", "closed", "issue"),
    guide=Guide("Lists tickets by status, filtered by words of the title.", ("What tickets are open?",), 50),
    reads=tickets_of,
)
def list_tickets(
    call: CallContext,
    status: Literal["open", "closed", "all"] = "open",
    query: Annotated[str, Field(description="words the title must hold")] = "",
) -> Tickets:
    """List tickets of the ticket database; where there is none yet, there are no tickets."""
    if not (call.settings.workspace / call.settings.sources.tickets).exists():
        return Tickets(tickets=[], count=0)
    with _open(call) as database:
        rows = database.execute(
            "SELECT * FROM tickets WHERE (? = 'all' OR status = ?) ORDER BY id DESC", (status, status)
        ).fetchall()
    tickets = [Ticket.model_validate(dict(row)) for row in rows]
    wanted = query.lower().split()
    tickets = [ticket for ticket in tickets if all(word in ticket.title.lower() for word in wanted)]
    return Tickets(tickets=tickets, count=len(tickets))


@contextmanager
def _open(call: CallContext) -> Iterator[sqlite3.Connection]:
    path = call.settings.workspace / call.settings.sources.tickets
    try:
        database = sqlite3.connect(path, isolation_level=None, timeout=10)
    except sqlite3.OperationalError as error:
        raise CapabilityRejected(f"cannot open {path}: {error}", "set sources.tickets") from error
    try:
        database.row_factory = sqlite3.Row
        database.execute(_TABLE)
        yield database
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise CapabilityUnavailable(f"{path.name} is locked by another program") from error
        raise CapabilityRejected(f"{path.name}: {error}") from error
    except sqlite3.DatabaseError as error:
        raise CapabilityRejected(
            f"{path.name} is no ticket database: {error}", "set sources.tickets"
        ) from error
    finally:
        database.close()
