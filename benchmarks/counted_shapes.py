"""The runs that are disturbed: what is asked, what the model says, and what has to happen once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from benchmarks.consent_cases import chain_of, job, plan_steps
from benchmarks.consent_model import Call, Script, Turns
from planwright.domain.run_context import PlanningMode

Then = Literal["", "undo", "fork", "remember"]
KINDS = ("book", "transfer", "stamp")
QUORUM = """
[[rule]]
match.capability = "bench.pay"
decide = "ask"
quorum = 2
"""
AGAIN = ("it did not happen", "call it again if it is still right")
SAID = "I prefer metric units"


class Persistent(Script):
    """A model that makes a call again when it hears that it did not happen, and what stood behind it."""

    def reply(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Write the message that a conversation gets; turns that repeat calls are none of the script's."""
        denied: set[str] = set()
        own: list[Mapping[str, Any]] = []
        calls: list[Mapping[str, Any]] = []
        for message in messages:
            if message["role"] == "tool" and any(no in str(message["content"]) for no in AGAIN):
                denied.add(message["tool_call_id"])
            elif message["role"] == "assistant":
                own += [] if denied else [message]
                calls, denied = message.get("tool_calls") or [], set()
            else:
                own.append(message)
        if not denied:
            return super().reply(own, tools)
        again = [{**one, "id": f"{one['id']}_again"} for one in calls if one["id"] in denied]
        return {"role": "assistant", "content": None, "tool_calls": again}


class Proposing(Persistent):
    """A model that would remember what the user said of themselves."""

    def reply(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Write the message that a conversation gets."""
        if not str(messages[0]["content"]).startswith("Role: consolidate"):
            return super().reply(messages, tools)
        memory = {"said": SAID, "text": SAID, "tags": ["units"], "why": "a preference"}
        return {"role": "assistant", "content": json.dumps({"memories": [memory]})}


@dataclass(frozen=True)
class Shape:
    """A run by its model's script; `effects` counts what has to have happened when all of it has ended.

    `then` is what follows the run: it is undone, forked with its last step run again, or what it proposes is
    remembered. What is in `may` happens so often or less.
    """

    name: str
    script: Script
    mode: PlanningMode
    effects: Mapping[str, int]
    then: Then = ""
    policy: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    ends: tuple[str, ...] = ("completed",)
    may: Mapping[str, int] = field(default_factory=dict)

    @property
    def request(self) -> str:
        """What the user asks for."""
        return self.script.request


def call(kind: str, name: str) -> Call:
    """Write a call of one of the counted capabilities."""
    return (f"bench.{kind}", {"name": name})


def _once(*names: str) -> dict[str, int]:
    return dict.fromkeys(names, 1)


def _planned(
    name: str,
    steps: Sequence[Mapping[str, Any]],
    effects: Mapping[str, int],
    jobs: Mapping[str, Turns] | None = None,
    **more: Any,
) -> Shape:
    request = f"Carry out {name}"
    script = Persistent(request, (), plan={"goal": name, "steps": list(steps)}, jobs=jobs or {})
    return Shape(name, script, "always", effects, **more)


def _looped(
    name: str, turns: Turns, effects: Mapping[str, int], jobs: Mapping[str, Turns] | None = None
) -> Shape:
    return Shape(name, Persistent(f"Carry out {name}", turns, jobs=jobs or {}), "never", effects)


def _at_once(calls: Sequence[Call]) -> list[dict[str, Any]]:
    return [{**step, "depends_on": []} for step in plan_steps(list(calls))]


_SIX = [call(kind, f"{kind} {n}") for n in (1, 2) for kind in KINDS]
_ROW = [call("book", "first"), call("transfer", "second"), call("stamp", "third"), call("book", "fourth")]
_ROW_ONCE = _once("first", "second", "third", "fourth")
_PAYS = [call("pay", f"payment {n}") for n in (1, 2, 3)]
_AGENTIC = {
    "id": "s1",
    "description": "Job S: send them",
    "tool_hints": ["bench.book", "bench.stamp"],
    "depends_on": [],
}

SHAPES: dict[str, Shape] = {
    shape.name: shape
    for shape in (
        _planned("a plan", _at_once(_SIX), _once(*(args["name"] for _, args in _SIX))),
        _planned("a sequence", plan_steps(_ROW), _ROW_ONCE),
        _looped("a chain", [[chain_of(_ROW)], [("all_in_a_row", {})]], _ROW_ONCE),
        _looped("a loop", [_ROW[:3], _ROW[3:]], _ROW_ONCE),
        _planned(
            "an agentic step",
            [
                _AGENTIC,
                {"id": "s2", "capability": "bench.book", "params": {"name": "b"}, "depends_on": ["s1"]},
            ],
            _once("a", "c", "b"),
            jobs={"Job S": [[call("book", "a"), call("stamp", "c")]]},
        ),
        _looped(
            "a sub-agent",
            [[job("Job A", "send it", [call("transfer", "part")])], [call("stamp", "rest")]],
            _once("part", "rest"),
            jobs={"Job A": [[call("transfer", "part")]]},
        ),
        _planned("three gates", _at_once(_PAYS), _once(*(args["name"] for _, args in _PAYS))),
        _planned("a quorum", _at_once(_PAYS[:1]), _once("payment 1"), policy=QUORUM),
        _planned(
            "an undo",
            plan_steps([call("book", "first"), call("book", "second")]),
            _once("first", "second", "not first", "not second"),
            then="undo",
            ends=("completed", "completed"),
        ),
        _planned(
            "a fork",
            plan_steps([call("book", "first"), call("transfer", "second")]),
            {"first": 1, "second": 2},
            then="fork",
            ends=("completed", "completed"),
        ),
        Shape(
            "a memory",
            Proposing(f"{SAID}. Book it", [[call("book", "first")]]),
            "never",
            _once("first"),
            then="remember",
            ends=("completed", "completed"),
        ),
    )
}
OWNED = ("a plan", "a sequence", "a chain", "a loop")  # with effects of every class
