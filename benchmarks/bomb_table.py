"""The bombs, by the room they go off in: what comes from outside, and the door it comes in by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks import bomb_doors as doors
from benchmarks.bomb_server import ANSWERS, DEEP, TEXTS, WITHIN
from benchmarks.bomb_texts import CALENDARS, CHANGES, CONDITIONS, CRITERIA, HOSTILE, MAILS, MB, QUERIES
from planwright.capabilities.builtin import calendar, documents, files, http, sql, text
from planwright.capabilities.builtin.mail import mail, smtp
from planwright.capabilities.contract import Capability
from planwright.language.first_person import exact_words, says, speaks_of_user
from planwright.models.json_reply import LONGEST_REPLY, read_json
from planwright.models.replies.bridge_stream import visible_part
from planwright.models.replies.tool_bridge import blocks, escaped
from planwright.prompts.fence import neutral

Play = Callable[[Path, int], str]


@dataclass(frozen=True)
class Bomb:
    """One bomb; `play` is given a folder and the port of `benchmarks.bomb_server`, and says how it ended."""

    room: str
    name: str
    play: Play


def every_bomb() -> list[Bomb]:
    """List all bombs, room by room."""
    return [
        *_plain(),
        *_cel(),
        *_sql(),
        *_calendars(),
        *_mails(),
        *_texts(),
        *_json(),
        *_templates(),
        *_models(),
    ]


def bomb(room: str, name: str, play: Callable[..., str], *args: Any) -> Bomb:
    """Name a bomb that needs no server: `play` is given the folder and these arguments."""
    return Bomb(room, name, lambda folder, _: play(folder, *args))


def _plain() -> list[Bomb]:
    """What does no harm: by it the others are measured."""
    return [bomb("none", "a plain run", doors.planned, ("memory.search", {"query": "a"}))]


def _cel() -> list[Bomb]:
    bombs = []
    for name, (when, args) in CONDITIONS.items():
        found: Capability = smtp.send
        if "rows" in when:
            found, args = (
                documents.create,
                {**args, "path": "a.md", "rows": [[str(n)] for n in range(20_000)]},
            )
        bombs.append(bomb("policy", name, _decided, when, found, args))
    return bombs + [bomb("success_criteria", name, _criterion, text) for name, text in CRITERIA.items()]


def _decided(folder: Path, when: str, found: Capability, args: dict[str, Any]) -> str:
    return doors.decided(when, found, args, folder)


def _criterion(folder: Path, criterion: str) -> str:
    listing = {f"notes/{n}.md": "x" for n in range(1000)}
    return doors.planned(folder, ("files.list", {"path": "."}), criterion=criterion, files=listing)


def _sql() -> list[Bomb]:
    asked = [bomb("sql.query", name, _stated, sql.query, text) for name, text in QUERIES.items()]
    return asked + [bomb("sql.execute", name, _stated, sql.execute, text) for name, text in CHANGES.items()]


def _stated(folder: Path, found: Capability, statement: str) -> str:
    doors.database(folder)
    return doors.called(found, {"statement": statement, "database": "crm.db"}, folder)


def _calendars() -> list[Bomb]:
    return [bomb("calendar", name, _listed, content) for name, content in CALENDARS.items()]


def _listed(folder: Path, content: str) -> str:
    doors.put(folder, {"calendar/a.ics": content})
    return doors.called(calendar.list_events, {"start": "2026-01-01", "end": "2026-12-01"}, folder)


def _mails() -> list[Bomb]:
    return [bomb("mail.search", name, _delivered, content) for name, content in MAILS.items()]


def _delivered(folder: Path, content: bytes) -> str:
    doors.mailbox(folder, content, b"From: b@example.com\nSubject: good\n\nfine")
    return doors.called(mail.search, {}, folder)


Reader = Callable[[str], object]
SHORT = 100_000  # of what a person sends: longer requests are refused at the door
READERS: dict[str, tuple[int, Reader]] = {
    "what a prompt is told": (MB, neutral),
    "a reply with calls in words": (MB, lambda text: [*blocks(text, "n")]),
    "a reply shown": (MB, lambda text: visible_part(text, ended=False)),
    "a conversation in words": (MB, escaped),
    "a reply that is JSON": (LONGEST_REPLY, lambda text: read_json(text)),
    "a request that speaks of its user": (SHORT, speaks_of_user),
    "a request that says something": (SHORT, lambda text: says(text, "I like tea")),
    "exact words": (SHORT, exact_words),
}


def _texts() -> list[Bomb]:
    """Every text through everything that reads texts."""
    bombs = []
    for name, content in HOSTILE.items():
        for reader, (longest, read) in READERS.items():
            bombs.append(bomb(reader, name, _read, read, content[:longest]))
        for kind in ("amount", "date", "email", "url", "number", "phone"):
            args = {"text": content[: text.LONGEST], "kind": kind}
            bombs.append(bomb(f"text.extract {kind}", name, _called, text.extract, args))
        bombs.append(bomb("text.summarize", name, _called, text.summarize, {"text": content[: text.LONGEST]}))
        bombs.append(bomb("a request to the embedded planner", name, _asked, content[:SHORT]))
    words = ("memory.search", {"query": "ab " * 50_000})
    dotted = "a." * (MB // 2)
    return [
        *bombs,
        bomb("files.search", "5 MB of matches", _searched, "a\n" * 2_400_000),
        bomb("documents.create", "a formula of 1 MB", _document, " " * MB + "="),
        bomb("mail.send", "an address of 1 MB", _addressed, "a" * MB + "@example.com"),
        bomb("mail.send", "an address of dots", _addressed, f"{dotted}@{dotted}"),
        bomb("memory.search", "50,000 words", doors.planned, words),
    ]


def _called(folder: Path, found: Capability, args: dict[str, Any]) -> str:
    return doors.called(found, args, folder)


def _read(_: Path, read: Reader, content: str) -> str:
    try:
        return doors.spelled(read(content))
    except RuntimeError as error:
        return f"{type(error).__name__}: {error}"


def _asked(folder: Path, content: str) -> str:
    return doors.run(folder, request=f"Summarize this: {content}", providers={}) if content.strip() else ""


def _searched(folder: Path, content: str) -> str:
    doors.put(folder, {"a.txt": content})
    return doors.called(files.search, {"query": "a"}, folder)


def _document(folder: Path, cell: str) -> str:
    return doors.called(documents.create, {"path": "a.csv", "rows": [[cell]]}, folder)


def _addressed(folder: Path, address: str) -> str:
    doors.put(folder, {"planwright.toml": '[mail]\nhost = "127.0.0.1"\nport = 1\nfrom = "a@example.com"\n'})
    return doors.called(smtp.send, {"to": [address], "text": "x"}, folder)


def _json() -> list[Bomb]:
    bombs = [Bomb("http.request", name, partial(_fetched, name.replace(" ", "%20"))) for name in TEXTS]
    for name in (*TEXTS, *WITHIN, *ANSWERS):
        bombs.append(bomb("an MCP result", name, _tool, name))
        bombs.append(Bomb("an MCP result over HTTP", name, partial(_tool_over_http, name)))
        bombs.append(Bomb("an MCP result in events", name, partial(_tool_over_http, f"events {name}")))
    bombs.append(bomb("an MCP schema", "an evil pattern", _tool, "pattern", {"word": "a" * 40 + "!"}))
    within = {
        "wide, in 180 kB": f"[{'[],' * 60_000}[]]",
        "wide, 9,000 lists": f"[{'[],' * 9000}[]]",
        "40,000 levels": DEEP[60_000:-60_000],
        "9,000 levels": DEEP[91_000:-91_000],
    }
    for name, content in {**TEXTS, **within, "digits, in 190 kB": "9" * 190_000}.items():
        step = '[{"id": "s1", "capability": "memory.search", "params": {"query": ' + content + "}}]"
        bombs.append(bomb("a plan", name, _planned, content))
        bombs.append(bomb("the params of a plan", name, _planned, step))
        bombs.append(bomb("a file that is read", name, _file, content))
    unread = '{"mcpServers": {"a": {"command": 1, "x": "' + "[" * MB + '"}}}'
    return [
        *bombs,
        bomb(".mcp.json", "100,000 levels", _opened, ".mcp.json", DEEP),
        bomb(".mcp.json", "no JSON of 1 MB", _opened, ".mcp.json", unread),
        bomb("policy.toml", "100,000 levels", _opened, "policy.toml", "a = " + DEEP),
        bomb("planwright.toml", "100,000 levels", _opened, "planwright.toml", "a = " + DEEP),
    ]


def _fetched(name: str, folder: Path, port: int) -> str:
    doors.put(folder, {"planwright.toml": f'[egress]\nallow = ["127.0.0.1:{port}"]\n'})
    return doors.called(http.request, {"url": f"http://127.0.0.1:{port}/{name}"}, folder)


def _tool_over_http(name: str, folder: Path, port: int) -> str:
    return _tool(folder, name, url=f"http://127.0.0.1:{port}/mcp/{quote(name)}")


def _tool(folder: Path, name: str, args: dict[str, Any] | None = None, url: str = "") -> str:
    doors.mcp_server(folder, name, url)
    call = {"name": "bomb__look", "args": args or {}, "id": "c1"}
    return doors.run(folder, turns=[{"content": "", "tool_calls": [call]}])


def _planned(folder: Path, steps: str) -> str:
    return doors.run(folder, plan='{"goal": "g", "steps": ' + steps + "}")


def _file(folder: Path, content: str) -> str:
    return doors.planned(folder, ("files.read", {"path": "a.json"}), files={"a.json": content})


def _opened(folder: Path, name: str, content: str) -> str:
    try:
        return doors.run(folder, files={name: content})
    except RuntimeError as error:
        return f"{type(error).__name__}: {error}"


def _templates() -> list[Bomb]:
    braces = {
        "100,000 {{": "{{" * 100_000,
        "100,000 references": "{{steps.s1.output.text}} " * 100_000,
        "100,000 that are none": "{{ x y }} " * 100_000,
        "references that double": "{{steps.s1.output.text}}" * 2000,
        "90,000 {{": "{{" * 90_000,
        "7,000 references": "{{steps.s1.output.text}} " * 7000,
        "20,000 that are none": "{{ x y }}" * 20_000,
    }
    return [bomb("references", name, _referred, content) for name, content in braces.items()]


def _referred(folder: Path, content: str) -> str:
    steps = ("files.read", {"path": "a.txt"}), ("text.summarize", {"text": content})
    return doors.planned(folder, *steps, files={"a.txt": "x" * 100_000})


def _models() -> list[Bomb]:
    """Replies over the wire, whole and in 2,000 pieces."""
    bombs = []
    for way, what, texts in (
        ("plan", "a plan", TEXTS),
        ("args", "tool arguments", TEXTS | WITHIN),
    ):
        for name in texts:
            for pieces in (False, True):
                room = f"{what} over the wire{', in pieces' if pieces else ''}"
                bombs.append(Bomb(room, name, partial(_replied, f"{way} {name}", pieces)))
    return bombs


def _replied(kind: str, pieces: bool, folder: Path, port: int) -> str:
    mode = "always" if kind.startswith("plan") else "never"
    flags = {**doors.provider(port, kind, stream=pieces), "planning": {"mode": mode}}
    return doors.run(folder, **flags, failover={"retries": 0})
