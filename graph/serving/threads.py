"""Threads that were begun anywhere are known to LangGraph's server before it answers a request about them.

The development server keeps a list of threads of its own. Before it looks there, those of our store that it
does not know are created through its own route, in the name of who asks.
"""

from __future__ import annotations

import json
import re
import sqlite3
import uuid
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from planwright.graph.serving.requests import caller_of
from planwright.records.history.run_pages import threads_with_state
from planwright.records.stores import Stores
from planwright.security.credentials import Credentials

GRAPH = "planwright"
NAMED = re.compile(r"/threads/([^/]+)(/|$)")
LISTS = ("/threads/search", "/threads/count")
MOST_AT_ONCE = 1_000
"""Threads that one list makes known, the newest first; older ones are known once they are named."""
PASSED_ON = (b"authorization", b"x-api-key", b"host")


@dataclass(frozen=True)
class KnownThread:
    """A thread of our store that the server can take: its id is a UUID."""

    row: int
    """Number of its newest run, as the store counts."""
    thread_id: str
    """Its id."""
    title: str
    """What it is about; "" while nobody knows."""


class ThreadsOfStore:
    """Pass requests on once the server knows the threads they are about."""

    def __init__(self, app: ASGIApp, *, stores: Stores, credentials: Credentials) -> None:
        self._app = app
        self._stores = stores
        self._credentials = credentials
        self._known: set[str] = set()
        self._newest_row: dict[str, int] = {}  # up to which run the threads of a tenant are known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection of ASGI."""
        caller = caller_of(scope, self._credentials) if scope["type"] == "http" else None
        if caller is not None and caller.may("request", "approve", "operate"):
            threads = await self._threads(scope["path"], caller.tenant)
            for thread in threads:
                if thread.thread_id not in self._known and await self._create(scope, thread):
                    self._known.add(thread.thread_id)
            if scope["path"] in LISTS and self._known.issuperset(thread.thread_id for thread in threads):
                newest = max((thread.row for thread in threads), default=0)
                self._newest_row[caller.tenant] = max(newest, self._newest_row.get(caller.tenant, 0))
        await self._app(scope, receive, send)

    async def _threads(self, path: str, tenant: str) -> list[KnownThread]:
        """List the threads of a tenant that a path is about, without those that all are known for sure."""
        if path in LISTS:
            after = self._newest_row.get(tenant, 0)
            return await self._stores.database.read(lambda c: threads_of(c, tenant, after=after))
        named = NAMED.match(path)
        if named is None or named[1] in self._known or not is_uuid(named[1]):
            return []
        thread_id = named[1]
        return await self._stores.database.read(lambda c: threads_of(c, tenant, thread_id=thread_id))

    async def _create(self, scope: Scope, thread: KnownThread) -> bool:
        """Create a thread at the server, where it is not there; says whether the server took it."""
        metadata = {"graph_id": GRAPH, **({"title": thread.title} if thread.title else {})}
        body = {"thread_id": thread.thread_id, "if_exists": "do_nothing", "metadata": metadata}
        text, statuses = json.dumps(body).encode(), list[int]()
        headers = [(name, value) for name, value in scope["headers"] if name in PASSED_ON]
        headers += [(b"content-type", b"application/json"), (b"content-length", str(len(text)).encode())]
        creation = {**scope, "method": "POST", "path": "/threads", "raw_path": b"/threads"}
        creation |= {"query_string": b"", "headers": headers, "state": dict(scope.get("state", {}))}

        async def receive() -> Message:
            return {"type": "http.request", "body": text, "more_body": False}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        await self._app(creation, receive, send)
        return statuses == [200]


def threads_of(
    connection: sqlite3.Connection, tenant: str, *, after: int = 0, thread_id: str = ""
) -> list[KnownThread]:
    """Read threads of a tenant whose conversation is still there: one, or those with runs after a row.

    One by its id is there, too, while a run of it waits for its turn.
    """
    rows = threads_with_state(connection, tenant, after, thread_id, MOST_AT_ONCE)
    return [KnownThread(number, id_, title) for number, id_, title in rows if is_uuid(id_)]


def is_uuid(text: str) -> bool:
    """Say whether a text is a UUID, as the server spells its threads."""
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False
