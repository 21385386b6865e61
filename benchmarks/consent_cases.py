"""The cases of the effects sweep: what is asked for, by which way, and what the model then says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.consent_model import Call, Script, Turns
from benchmarks.consent_records import ALWAYS_GATED
from benchmarks.consent_stage import Theatre

CORPUS = Path(__file__).parent / "consent_effects.jsonl"
WAYS = ("embedded planner", "planner", "tools", "words", "chain", "sub-agent", "fork", "resume")
COVERS = ("", "standing", "rule")
REPEATABLE = frozenset(("row", "draft", "post", "mail", "http", "get", "tool", "mcp"))
READS: dict[str, tuple[str, Call]] = {
    "mail": (
        "Search my emails for the invoice from Acme",
        ("mail.search", {"query": "invoice", "sender": "Acme"}),
    ),
    "file": ("Read notes/roadmap.md", ("files.read", {"path": "notes/roadmap.md"})),
    "http": ("Fetch {service}/page", ("http.request", {"url": "{service}/page"})),
    "sql": (
        "Query crm.db: SELECT name, city FROM customers",
        ("sql.query", {"database": "crm.db", "statement": "SELECT name, city FROM customers"}),
    ),
    "calendar": ("List my meetings of today", ("calendar.list", {"start": "today"})),
    "memory": ("Search the memory for the Berlin office", ("memory.search", {"query": "Berlin office"})),
    "mcp": ("Read the board", ("board.read", {})),
}
ALLOW = '[[rule]]\nmatch.capability = "{name}"\ndecide = "allow"\nreason = "that one is fine"\n\n'
DEFAULT_POLICY = Path(__file__).parents[1] / "capabilities" / "policy" / "default_policy.toml"


@dataclass(frozen=True)
class Case:
    """One effect by one way; `reads` what others wrote, first, or nothing."""

    id: str
    way: str
    reads: str
    yes: bool
    cover: str = ""
    place: int = 0


def corpus() -> dict[str, dict[str, Any]]:
    """Read the effect requests, by id."""
    return {entry["id"]: entry for entry in map(json.loads, CORPUS.read_text("utf-8").splitlines())}


def cases() -> Iterator[Case]:
    """List every effect by every way, untainted and tainted; a third of them is also answered with no.

    The embedded planner knows how to read mail and files.
    """
    names = list(READS)
    for place, (id_, entry) in enumerate(corpus().items()):
        reads = "mcp" if entry.get("board") else names[place % (len(names) - 1)]
        for way in WAYS:
            for read in ("", ("file", "mail")[place % 2] if way == WAYS[0] else reads):
                yield Case(id_, way, read, True, place=place)
                if place % 3 == 0:
                    yield Case(id_, way, read, False, place=place)
        if place % 2 == 0 and entry["risk"] != "carries" and "proposal" not in entry:
            for cover in COVERS[1:] if repeats(entry) else COVERS[2:]:
                yield from (Case(id_, "tools", read, True, cover, place) for read in ("", reads))


def filled(value: Any, theatre: Theatre) -> Any:
    """Put the address of the listed service into an entry of a corpus."""
    text = json.dumps(value).replace("{service}", theatre.outside.service.origin)
    return json.loads(text)


def repeats(entry: dict[str, Any]) -> bool:
    """Say whether an effect that is done again shows again."""
    return "once" not in entry and all(one["kind"] in REPEATABLE for one in entry["sees"])


def must_wait(risk: str, tainted: bool) -> bool:
    """Say whether an effect of a risk needs somebody's yes."""
    return risk not in ("Low", "carries", "None") or tainted


def mode_of(way: str) -> str:
    """Choose the planning mode of a way."""
    return "always" if way in ("embedded planner", "planner", "fork") else "never"


def request_of(case: Case, entry: dict[str, Any], theatre: Theatre) -> str:
    """Say what the user says: what to read first, the effect, and by which way."""
    request = str(entry["request"])
    if case.reads:
        request = f"{filled(READS[case.reads][0], theatre)}, then {request[0].lower()}{request[1:]}"
    more = {"chain": ", by a chain of tools", "sub-agent": ", and let another agent help you"}
    return request + more.get(case.way, "")


def script_of(case: Case, entry: dict[str, Any], theatre: Theatre) -> Script:
    """Say what the model says: by turns what is read goes before a chain or a delegation, or into it."""
    calls: list[Call] = [(name, args) for name, args in entry["calls"]]
    read: list[Call] = [filled(READS[case.reads][1], theatre)] if case.reads else []
    request, odd = request_of(case, entry, theatre), case.place % 2 == 1
    before: Turns = [read] if read else []
    if case.way in ("planner", "fork"):
        return Script(request, (), plan={"goal": request, "steps": plan_steps([*read, *calls])})
    if case.way == "chain":
        parts = [*read, *calls] if odd else calls
        return Script(request, [*([] if odd else before), [chain_of(parts)], [("all_in_a_row", {})]])
    if case.way == "sub-agent" and read and odd:
        return Script(request, [[job("Job B", "read it", read)], calls], jobs={"Job B": [read]})
    if case.way == "sub-agent":
        return Script(request, [*before, [job("Job A", "do it", calls)]], jobs={"Job A": [calls]})
    return Script(request, [*before, calls])


def plan_steps(calls: list[Call]) -> list[dict[str, Any]]:
    """Write a plan of calls one after another."""
    return [
        {"id": f"s{n}", "capability": name, "params": args, "depends_on": [f"s{n - 1}"] if n > 1 else []}
        for n, (name, args) in enumerate(calls, 1)
    ]


def chain_of(calls: list[Call]) -> Call:
    """Put calls in a row under a new name."""
    steps = [{"toolName": name, "arguments": args} for name, args in calls]
    return ("tool.create_chain", {"name": "all_in_a_row", "description": "All in a row", "steps": steps})


def job(name: str, what: str, calls: list[Call]) -> Call:
    """Give calls to another agent."""
    tools = sorted({tool for tool, _ in calls})
    return ("agent.delegate", {"task": f"{name}: {what}", "tools": tools})


def allow(names: Sequence[str]) -> str:
    """Write a policy that allows capabilities by name, before the shipped rules; nothing for none."""
    rules = "".join(ALLOW.format(name=name) for name in names if name not in ALWAYS_GATED)
    return rules and rules + DEFAULT_POLICY.read_text("utf-8")
