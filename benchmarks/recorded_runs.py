"""Runs to be cut: what a model says in each, turn by turn, and how its gates are answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

END = "the end"


def call(name: str, **args: Any) -> dict[str, Any]:
    """Write one tool call; its id is one that other turns use, too."""
    return {"name": name, "args": args, "id": "c0"}


def reply(*calls: dict[str, Any], text: str = "", invalid: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """Write a reply that calls tools."""
    return {"content": text, "tool_calls": list(calls), "invalid_tool_calls": list(invalid)}


def direct(id_: str, name: str = "notes.add", *after: str) -> dict[str, Any]:
    """Write a step of one call."""
    return {"id": id_, "capability": name, "params": {"text": id_}, "depends_on": list(after)}


def agentic(id_: str, *after: str) -> dict[str, Any]:
    """Write a step that an agent does."""
    tools = ["notes.add", "notes.wipe"]
    return {"id": id_, "description": f"Do {id_}", "tool_hints": tools, "depends_on": list(after)}


ADD, WIPE = call("notes__add", text="a"), call("notes__wipe", text="w")
BAD = {"name": "notes__add", "args": '{"text": ', "id": None, "error": None, "type": "invalid_tool_call"}


@dataclass(frozen=True)
class Recorded:
    """A run to be cut: what its model says, by turn, and how its gates are answered."""

    turns: Sequence[str | dict[str, Any]] = (END,)
    plans: Sequence[Sequence[dict[str, Any]]] = ()
    answer: Any = "approve"
    requests: Sequence[str] = ("Do it",)
    settings: dict[str, Any] = field(default_factory=dict)


RUNS: dict[str, Recorded] = {
    "words only": Recorded(),
    "one call": Recorded([reply(ADD), END]),
    "parallel calls": Recorded([reply(ADD, call("notes__add", text="b")), END]),
    "five calls with one id": Recorded([reply(*[call("notes__add", text=n) for n in "abcde"]), END]),
    "three turns": Recorded([reply(ADD), reply(call("notes__add", text="b")), reply(ADD), END]),
    "words beside calls": Recorded([reply(ADD, text="Let me see."), END]),
    "a gated call approved": Recorded([reply(WIPE), END]),
    "a gated call rejected": Recorded([reply(WIPE), END], answer={"type": "reject", "message": "no"}),
    "gated and free calls": Recorded([reply(ADD, WIPE, ADD), reply(WIPE), END]),
    "a failing tool": Recorded([reply(call("notes__fail", text="f"), ADD), END]),
    "a malformed call": Recorded([reply(ADD, invalid=[BAD]), reply(invalid=[BAD]), END]),
    "an unknown tool": Recorded([reply(call("notes.add !", text="x"), ADD), END]),
    "wrong arguments": Recorded([reply(call("notes__add", words=1), ADD), END]),
    "a guard that trips": Recorded([*[reply(ADD)] * 6, END]),
    "too many turns": Recorded([reply(ADD)], settings={"execution": {"max_tool_iterations": 3}}),
    "a large result": Recorded([reply(call("notes__long", text="l")), END]),
    "a budget of calls": Recorded([reply(ADD, ADD), END], settings={"budgets": {"run": {"tool_calls": 1}}}),
    "a plan of calls": Recorded(plans=[[direct("s1"), direct("s2", "notes.add", "s1")]]),
    "an agent in a plan": Recorded([reply(ADD), END], [[agentic("s1"), direct("s2", "notes.add", "s1")]]),
    "two agents at once": Recorded([reply(ADD, ADD), reply(ADD), END], [[agentic("s1"), agentic("s2")]]),
    "a gated call of an agent": Recorded([reply(ADD, WIPE), END], [[agentic("s1"), direct("s2")]]),
    "a plan after a failed one": Recorded(
        [reply(ADD), END], [[agentic("s1"), direct("s2", "notes.fail")], [agentic("s1"), direct("s3")]]
    ),
    "a second request": Recorded([reply(ADD), END], requests=("Do it", "Do it again")),
    "a plan, then a request": Recorded(
        [reply(ADD), END], [[agentic("s1")], [direct("s2")]], requests=("Do it", "Do it again")
    ),
}
