"""loop_guard: notice a model that goes round in circles, steer it, and stop it in the end.

`generic_repeat`: the same call often in the window; `poll_no_progress`: the same call again and
again; `ping_pong`: two calls in turn. A trip is never silent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from langchain_core.runnables import RunnableConfig

from planwright.settings.execution import LoopGuardSettings
from planwright.state.invocation import invocation_of
from planwright.state.loop_state import LoopOutcome, LoopState, LoopUpdate
from planwright.state.node import Node

Pattern = Literal["generic_repeat", "poll_no_progress", "ping_pong"]
Severity = Literal["warning", "critical", "break"]


@dataclass(frozen=True)
class Trip:
    """One pattern that was found: how grave it is, and the call it is about."""

    pattern: Pattern
    """Which pattern was found."""
    severity: Severity
    """Whether the model is warned, the call refused, or the loop ended."""
    signature: str
    """Tool and arguments of the call that it is about."""
    times: int
    """How often the call was made; 2 for a change between two calls."""

    @property
    def key(self) -> str:
        """Name the trip within its lane, so that each steers once."""
        return f"{self.pattern}:{self.severity}:{self.signature}"

    @property
    def words(self) -> str:
        """Tell the model what it is doing and what to do instead."""
        call = self.signature[:300]
        match self.severity:
            case "warning":
                return (
                    f"You repeat yourself ({self.pattern}, {self.times} times): {call}. Try something else."
                )
            case "critical":
                return (
                    f"{call} is refused from now on ({self.pattern}, {self.times} times). Find another way."
                )
            case "break":
                return f"stopped: {self.pattern}, {self.times} times: {call}"


def loop_guard(settings: LoopGuardSettings) -> Node[LoopState, LoopUpdate]:
    """Steer at a warning, refuse a call at a critical trip, end the loop when the breaker opens."""

    async def loop_guard(state: LoopState, config: RunnableConfig) -> LoopUpdate:
        trips = new_trips(state, settings)
        lane, turn = state["loop"].lane, state["turn"]
        for trip in trips:
            data = {"lane": lane, "pattern": trip.pattern, "severity": trip.severity, "times": trip.times}
            event = {**data, "call": trip.signature[:300]}
            invocation_of(config).emit("loop_guard", event, f"{lane}:{turn}:{trip.key}")
        for trip in trips:
            if trip.severity == "break":
                return {"outcome": LoopOutcome(status="failed", code="loop_guard", text=trip.words)}
        refused = [*state.get("refused", []), *(t.signature for t in trips if t.severity == "critical")]
        return {
            "calls": [
                call.model_copy(update={"error": "loop_guard: this call is refused, it led nowhere"})
                if call.signature in refused
                else call
                for call in state["calls"]
            ],
            "refused": refused,
            "tripped": [*state.get("tripped", []), *(trip.key for trip in trips)],
            "steering": "\n".join(trip.words for trip in trips),
        }

    return loop_guard


def trips_now(state: LoopState, settings: LoopGuardSettings) -> bool:
    """Say whether the newest calls need the guard at all."""
    refused = set(state.get("refused", []))
    return any(call.signature in refused for call in state["calls"]) or bool(new_trips(state, settings))


def new_trips(state: LoopState, settings: LoopGuardSettings) -> list[Trip]:
    """Find what has not steered this lane yet; the breaker always counts."""
    window = state["made"][-settings.window :]
    known = set(state.get("tripped", []))
    reply = [call.signature for call in state["calls"]]
    trips = find_trips(window, settings, reply)
    return [trip for trip in trips if trip.severity == "break" or trip.key not in known]


def find_trips(window: Sequence[str], settings: LoopGuardSettings, reply: Sequence[str] = ()) -> list[Trip]:
    """Find the patterns at the end of a window of calls, oldest first.

    Each call of the newest reply counts for `generic_repeat`, in whatever place it stands there.
    """
    if not window:
        return []
    newest, times = window[-1], Counter(window)
    calls = dict.fromkeys([*reply, newest])
    trips = [trip for call in calls for trip in _repeats(call, times[call], settings)]
    row = next((n for n, call in enumerate(reversed(window)) if call != newest), len(window))
    if row >= settings.poll[0]:
        severity: Severity = "critical" if row >= settings.poll[1] else "warning"
        trips.append(Trip("poll_no_progress", severity, newest, row))
    if _alternates(window[-settings.ping_pong :]):
        trips.append(Trip("ping_pong", "warning", newest, 2))
    return trips


def _repeats(call: str, times: int, settings: LoopGuardSettings) -> list[Trip]:
    warning, critical, breaker = settings.repeat
    if times < warning:
        return []
    severity: Severity = "break" if times >= breaker else "critical" if times >= critical else "warning"
    return [Trip("generic_repeat", severity, call, times)]


def _alternates(calls: Sequence[str]) -> bool:
    """Say whether two calls were made in turn, A B A B, and the newest is one of them."""
    fours = zip(calls, calls[1:], calls[2:], calls[3:], strict=False)
    return any(a == c and b == d and a != b and calls[-1] in (a, b) for a, b, c, d in fours)
