"""Where the sweep over asking plays: the demo's workspace, receivers on loopback, what is on record."""

from __future__ import annotations

import json
import sqlite3
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from benchmarks.seams_receivers import Office, taking_mail
from planwright.extras.demo.workspace import write_workspace
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import load

MOST_CARDS = 20
FREE: tuple[object, ...] = ("", None, [], {}, False)


class _Web(BaseHTTPRequestHandler):
    """A page to read, and a webhook."""

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        content = b'{"message_id": "m1"}' if self.command == "POST" else b"All lines are up."
        self.send_response(200)
        self.send_header("content-type", "application/json" if self.command == "POST" else "text/plain")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = _answer

    def log_message(self, format: str, *args: Any) -> None:
        """Keep stderr clean."""


@dataclass(frozen=True)
class World:
    """Who can be reached."""

    url: str
    """Address of the web server."""
    office: Office
    """Who takes mail."""

    def agent(self, folder: Path, *replies: str | dict[str, Any], **options: Any) -> Agent:
        """Make an agent in a demo workspace: of the embedded planner, or of a scripted model."""
        write_workspace(folder)
        place = self.url.removeprefix("http://")
        settings = load(
            folder,
            egress={"allow": [place, f"127.0.0.1:{self.office.port}"]},
            channels={"team": {"url": f"{self.url}/hook"}},
            mail={"host": "127.0.0.1", "port": self.office.port, "security": "none", "from": "sam@a.example"},
            tools={"top_k": 200},
            **options,
        )
        return build_graph(settings, model=ScriptedModel(replies=[*replies]) if replies else None)


@contextmanager
def world() -> Iterator[World]:
    """Let somebody be reached."""
    server, office = ThreadingHTTPServer(("127.0.0.1", 0), _Web), Office()
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        with taking_mail(office):
            yield World(f"http://127.0.0.1:{server.server_address[1]}", office)
    finally:
        server.shutdown()
        server.server_close()


@dataclass
class Talk:
    """One conversation, and the cards that a person said yes to in it."""

    agent: Agent
    remember: str = ""
    """How widely each yes holds; "" for this once."""
    thread: str = field(default_factory=lambda: str(uuid.uuid4()))
    cards: list[Mapping[str, Any]] = field(default_factory=list)

    def say(self, request: str) -> str:
        """Send a message, say yes to all that is asked, and return how the run ended."""
        config: RunnableConfig = {"configurable": {"thread_id": self.thread}}
        output = self.agent.invoke({"messages": [("user", request)]}, config)
        for _ in range(MOST_CARDS):
            if not (gates := output.get("__interrupt__")):
                break
            self.cards += [gate.value["shown"] for gate in gates]
            answers = {gate.id: self._yes(gate.value) for gate in gates}
            output = self.agent.invoke(Command(resume=answers), config)
        return str(output.get("status"))

    def _yes(self, prompt: Mapping[str, Any]) -> dict[str, Any]:
        remember = {"remember": self.remember} if self.remember and prompt.get("remember") else {}
        return {"type": "approve", **remember}


def rows(folder: Path, query: str) -> list[dict[str, Any]]:
    """Read from the store of a workspace that no agent has open."""
    with closing(sqlite3.connect(folder / ".planwright/planwright.db")) as store:
        store.row_factory = sqlite3.Row
        return [dict(row) for row in store.execute(query)]


def unseen(effects: Sequence[tuple[str, Mapping[str, Any]]], cards: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name the values of effects that no card showed as what that call would be given.

    What stands for an argument that was left out may be named in the first line of a plan's card instead.
    """
    calls = [call for card in cards for call in _calls(card)]
    first_lines = " ".join(line for card in cards for line in card.get("outside", ()))
    missing = []
    for capability, args in effects:
        own = [arguments for name, arguments in calls if name == capability]
        for name, value in args.items():
            on_card = [arguments[name] for arguments in own if name in arguments]
            left_out = bool(own) and not on_card and f" {value}" in first_lines
            if value not in FREE and value not in on_card and not left_out:
                missing.append(f"{capability}.{name} = {json.dumps(value, ensure_ascii=False)[:80]}")
    return missing


def _calls(card: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Walk the calls on a card, each with all the arguments that it shows."""
    if isinstance(card, Mapping):
        if isinstance(name := card.get("capability"), str):
            parts = (card.get(key) for key in ("params", "args", "values"))
            yield (
                name,
                {key: value for part in parts if isinstance(part, Mapping) for key, value in part.items()},
            )
        for value in card.values():
            yield from _calls(value)
    elif isinstance(card, list):
        for value in card:
            yield from _calls(value)
