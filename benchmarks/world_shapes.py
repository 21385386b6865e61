"""The runs whose world changes between a death and the resume: the ways in which a call stands in a run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from benchmarks.consent_cases import chain_of, job, plan_steps
from benchmarks.consent_model import Call, Turns
from benchmarks.counted_shapes import Persistent

Then = Literal["", "fork", "edit"]
SEND, PAY, SPARE = "desk.send", "desk.pay", "desk.spare"
BROKEN, FLAKY = "desk.broken", "desk.flaky"
NO_ACCOUNT = "there is no account"
DRAFT = "draft"


@dataclass
class Planning(Persistent):
    """A model that plans otherwise, or names another call, once it has heard that there is no account."""

    other_plan: Mapping[str, Any] | None = None
    instead: Call | None = None

    def reply(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Write the message that a conversation gets."""
        role, heard = str(messages[0]["content"]).partition("\n")[0], NO_ACCOUNT in json.dumps(messages)
        if role == "Role: alternative" and self.instead:
            name, args = self.instead
            content = json.dumps({"capability": name, "params": args})
            return {"role": "assistant", "content": content}
        if role == "Role: approach":
            return {"role": "assistant", "content": "Send them one by one."}
        if role == "Role: planner" and heard and self.other_plan:
            return {"role": "assistant", "content": json.dumps(self.other_plan)}
        return super().reply(messages, tools)


@dataclass(frozen=True)
class Shape:
    """A run by its model's script; `effects` counts what has to have happened when all of it has ended.

    `then` says how a person goes on with it: they fork the run that has ended, or edit its plan first.
    """

    name: str
    script: Planning
    planned: bool
    effects: Mapping[str, int]
    then: Then = ""
    tools: tuple[str, ...] = field(default=(SEND,))


def send(name: str, tool: str = SEND) -> Call:
    """Write a call of one of the counted capabilities."""
    return (tool, {"name": name})


def _once(*names: str) -> dict[str, int]:
    return dict.fromkeys(names, 1)


def _plan(name: str, steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"goal": f"Carry out {name}", "steps": list(steps)}


def _planned(name: str, steps: Sequence[Mapping[str, Any]], effects: Mapping[str, int], **more: Any) -> Shape:
    words = {key: more.pop(key) for key in ("jobs", "other_plan", "instead") if key in more}
    script = Planning(f"Carry out {name}", (), plan=_plan(name, steps), **words)
    return Shape(name, script, True, effects, **more)


def _looped(
    name: str, turns: Turns, effects: Mapping[str, int], jobs: Mapping[str, Turns] | None = None
) -> Shape:
    return Shape(name, Planning(f"Carry out {name}", turns, jobs=jobs or {}), False, effects)


def _steps(*calls: Call) -> list[dict[str, Any]]:
    return plan_steps(list(calls))


def _at_once(*calls: Call) -> list[dict[str, Any]]:
    return [{**step, "depends_on": []} for step in _steps(*calls)]


_TWO = (send("first"), send("second"))
_MADE: Call = chain_of(list(_TWO))
_CALLED: Call = ("all_in_a_row", {})
_AGENTIC = {"id": "s1", "description": "Job S: send them", "tool_hints": [SEND], "depends_on": []}

SHAPES: dict[str, Shape] = {
    shape.name: shape
    for shape in (
        _planned("a plain step", _steps(*_TWO), _once("first", "second")),
        _planned(
            "a step gate",
            _steps(send("first", PAY), send("second", PAY)),
            _once("first", "second"),
            tools=(PAY,),
        ),
        _planned(
            "an agentic step",
            [
                _AGENTIC,
                {"id": "s2", "capability": SEND, "params": {"name": "third"}, "depends_on": ["s1"]},
            ],
            _once("first", "second", "third"),
            jobs={"Job S": [[send("first")], [send("second")]]},
        ),
        _planned("a chain step", _steps(_MADE, _CALLED), _once("first", "second")),
        _looped("a loop", [[*_TWO], [send("third")]], _once("first", "second", "third")),
        _looped("a chain in a loop", [[_MADE], [_CALLED]], _once("first", "second")),
        _looped(
            "a sub-agent",
            [[job("Job A", "send it", [send("part")])], [send("rest")]],
            _once("part", "rest"),
            jobs={"Job A": [[send("part")]]},
        ),
        _planned(
            "an alternative",
            _at_once(send("first"), send("second", BROKEN)),
            _once("first", "second"),
            instead=send("second", SPARE),
            tools=(SEND, SPARE),
        ),
        _planned(
            "a retry",
            _steps(send("first", FLAKY), send("second", FLAKY)),
            _once("first", "second"),
            tools=(FLAKY,),
        ),
        _planned(
            "another plan",
            _at_once(send("first"), send("second", BROKEN)),
            _once("first", "second"),
            other_plan=_plan("another plan", _steps(*_TWO)),
        ),
        _planned(
            "steps at once",
            _at_once(*_TWO, send("third")),
            _once("first", "second", "third"),
        ),
        _planned(
            "a step beside a gate",
            _at_once(send("first"), send("second", PAY)),
            _once("first", "second"),
            tools=(SEND, PAY),
        ),
        _planned("a fork", _steps(*_TWO), {"first": 1, "second": 2}, then="fork"),
        _planned("an edit", _steps(send(DRAFT), send("second")), _once("first", "second"), then="edit"),
    )
}
