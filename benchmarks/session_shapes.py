"""Sessions whose workers are killed: those of `counted_shapes`, and what only sessions know of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.consent_cases import plan_steps
from benchmarks.counted_shapes import KINDS, SHAPES, Persistent, Shape, call

Request = Literal["", "pause", "cancel", "extend"]
FREE: dict[str, Any] = {
    "approval": {"plan": "never", "risk": "Critical"},
    "budgets": {"run": {"effects_per_minute": "unlimited"}},
}
HELD = "first"  # the effect that has arrived, and is not answered, when something is asked of its session


@dataclass(frozen=True)
class SessionShape(Shape):
    """A session. `asks` is asked of it while a worker waits for the answer to its first effect.

    One that is `scheduled` is queued by a worker. A gate of one that `expires` is answered by nobody.
    """

    asks: Request = ""
    scheduled: bool = False
    expires: bool = False


def _session(
    name: str, steps: Sequence[Mapping[str, Any]], effects: Sequence[str], **more: Any
) -> SessionShape:
    script = Persistent(f"Carry out {name}", (), plan={"goal": name, "steps": list(steps)})
    settings = {**FREE, **more.pop("settings", {})}
    return SessionShape(name, script, "always", dict.fromkeys(effects, 1), settings=settings, **more)


def _in_background(shape: Shape) -> SessionShape:
    """Let a run be a session; its plan is asked about where what follows it is asked about, too."""
    return SessionShape(**{**vars(shape), "settings": shape.settings if shape.then else FREE})


def _row(*calls: tuple[str, str]) -> list[dict[str, Any]]:
    return plan_steps([call(kind, name) for kind, name in calls])


def _linked(kinds: Sequence[str], needs: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Write steps named after letters, each with the ones that it needs."""
    return [
        {
            "id": letter,
            "capability": f"bench.{kind}",
            "params": {"name": letter},
            "depends_on": list(needs.get(letter, ())),
        }
        for letter, kind in zip("abcdefghijklmnopqrstuvwxyz", kinds, strict=False)
    ]


_TWO = _row(("book", HELD), ("transfer", "second"))
_EVERY_MINUTE = {"cron": "* * * * *", "request": "Carry out a schedule", "planning": "always"}

SESSIONS: dict[str, SessionShape] = {
    shape.name: shape
    for shape in (
        *map(_in_background, SHAPES.values()),
        _session("one step", _row(("transfer", "only")), ["only"]),
        _session("twelve at once", _linked(KINDS * 4, {}), list("abcdefghijkl")),
        _session(
            "a diamond",
            _linked(
                ("book", "stamp", "transfer", "book", "transfer"),
                {"b": "a", "c": "a", "d": "a", "e": "bcd"},
            ),
            list("abcde"),
        ),
        _session(
            "a gate within",
            _row(("book", "before"), ("pay", "payment"), ("transfer", "after")),
            ["before", "payment", "after"],
        ),
        _session("a pause", _TWO, [HELD, "second"], asks="pause"),
        _session(
            "an end",
            _row(("transfer", HELD), ("book", "second")),  # what became of the first can be asked
            [HELD],
            asks="cancel",
            may={"second": 1},
            ends=("cancelled",),
        ),
        SessionShape(
            "a longer budget",
            Persistent("Carry out a longer budget", [[call("book", HELD)], [call("transfer", "second")]]),
            "never",
            {HELD: 1, "second": 1},
            asks="extend",
            settings={**FREE, "budgets": {"run": {"tool_calls": 1}}},
        ),
        _session(
            "a schedule",
            _TWO,
            [HELD, "second"],
            scheduled=True,
            settings={"schedules": {"often": _EVERY_MINUTE}},
        ),
        _session("a late gate", _row(("pay", "payment")), [], expires=True, ends=("expired",)),
    )
}
