"""The live view of a run, built up from its events. What it looks like is in `frame.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from planwright.domain.results import format_end
from planwright.domain.risk import Risk, at_least
from planwright.presentation.printable import one_line
from planwright.presentation.rows import Card, EventData, RunEvent
from planwright.presentation.step_sentence import arguments_line, step_sentence

State = Literal["pending", "running", "waiting", "done", "failed", "rejected", "skipped"]
GRAVE_MODES = ("delegated", "destructive")


@dataclass(frozen=True)
class RunLine:
    """One step of a plan, or one call of a model's; `since` and `seconds` say how long it takes."""

    id: str
    """Id of the step; "" for a call of a model."""
    capability: str
    """Name of what is called; `agent` for a step that a model does."""
    args: str = ""
    """Arguments on one line, with nothing that could act on a terminal."""
    risk: Risk = "None"
    """Risk of the call."""
    grave: bool = False
    """Whether its mode is grave or it has a gate of its own."""
    state: State = "pending"
    """How it stands."""
    since: float = 0
    """When it began, in seconds of the clock of the screen; 0 while it has not."""
    seconds: float | None = None
    """How long it took; None while it has not ended."""
    tries: int = 1
    """How often it was tried."""
    note: str = ""
    """Note about it, such as an error; "" for none."""
    brought: str = ""
    """What came of it, on one line; "" while that is nothing."""
    uid: str = ""
    """Uid of the step or call; "" until it begins."""
    calls: tuple[RunLine, ...] = ()
    """Calls that were made within it."""
    planned: str = ""
    """Arguments as they were planned, on one line."""
    sentence: str = ""
    """What the step is to do, as the card of its plan says it, on one line; "" for a call of a model."""

    @property
    def risky(self) -> bool:
        """Whether its row must never be cut."""
        return self.grave or at_least(self.risk, "Medium")

    @property
    def settled(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state in ("done", "failed", "rejected", "skipped")


@dataclass(frozen=True)
class RunView:
    """All that is known of a run so far: its lines, its open gates, and what it has used."""

    lines: tuple[RunLine, ...] = ()
    """Steps, or calls of a loop, in order."""
    phase: str = "starting"
    """What the run is doing, in words."""
    began: float = 0
    """When the screen began with the run, in seconds of its clock."""
    gates: Mapping[str, str] = field(default_factory=dict)
    """What open gates ask about, in words, by the id of the gate."""
    model_calls: int = 0
    """Number of model calls so far."""
    tokens: int = 0
    """Tokens of those calls, sent and returned together."""
    wording_calls: int = 0
    """How many of the model calls only put results into words."""
    embedded_calls: int = 0
    """How many of the model calls were answered by the embedded planner, which has no tokens."""
    cost: int = 0
    """Cost of those that have a price, in micro-cents."""
    unpriced: int = 0
    """Number of those without a price."""
    tool_calls: int = 0
    """Number of calls of capabilities so far."""
    thinking: Mapping[str, float] = field(default_factory=dict)
    """Since when models think that have not said a word, in seconds of the events' clock, by call."""
    answer: str = ""
    """Answer as far as it has come in; "" when it stands in the transcript."""
    answer_value: JsonValue = None
    """The typed answer; None where there is none."""
    answer_id: str = ""
    """Id of the message that brings the answer."""

    @property
    def planned(self) -> bool:
        """Whether a model was asked for more than to put results into words."""
        return self.model_calls > self.wording_calls

    @property
    def only_embedded(self) -> bool:
        """Whether no language model was called."""
        return self.model_calls == self.embedded_calls

    @property
    def embedded(self) -> bool:
        """Whether the embedded planner serves, and no language model."""
        return bool(self.model_calls) and self.only_embedded

    @property
    def usage(self) -> dict[str, int]:
        """What was used so far, as `budget_update` will tell it at the end."""
        names = ("model_calls", "tokens", "cost", "unpriced")
        return {name: getattr(self, name) for name in names}


def fold(view: RunView, event: RunEvent) -> RunView:
    """Apply one event to the view of its run."""
    data, at = event["data"], datetime.fromisoformat(event["ts"]).timestamp()
    if not view.began:
        view = replace(view, began=at)
    match event["type"]:
        case "planning_decision":
            return replace(view, phase="planning" if data["planned"] else "asking the model")
        case "plan_created":
            return replace(view, phase="verifying")
        case "plan_verified":
            return _planned(view, data)
        case "plan_start":
            return replace(view, phase="running")
        case "plan_complete" | "plan_failed" | "plan_cancelled":
            return replace(view, phase="answering")
        case "approval_requested" | "approval_resolved":
            return _gate(view, event["type"] == "approval_requested", data, at)
        case "plan_step_start" | "plan_step_complete" | "plan_step_failed" | "plan_step_skipped":
            return _step(view, event["type"], data, at)
        case "plan_step_retry" | "tool_call_start" | "tool_call_end":
            return _call(view, event["type"], data, at)
        case "thinking":
            return replace(view, thinking={**view.thinking, data["call"]: at - data["seconds"]})
        case "llm_call":
            return _spent(view, data)
        case "agent_message":
            return replace(view, answer="", thinking={}, phase="answered")
        case "answer_value":
            return replace(view, answer_value=data["value"])
    return view


def with_answer_piece(view: RunView, piece: str, message_id: str) -> RunView:
    """Add a piece of the answer; a new message takes the place of one that came to nothing."""
    before = view.answer if message_id == view.answer_id else ""
    return replace(view, answer=before + piece, answer_id=message_id, phase="answering", thinking={})


def resumed_view(view: RunView, now: float) -> RunView:
    """Go on with a run that another process began: its clocks begin now."""
    lines = tuple(replace(line, since=now) if line.since else line for line in view.lines)
    return replace(view, lines=lines, began=now, thinking={})


def plan_line(step: Card) -> RunLine:
    """Make the line of a step from the card of its plan."""
    grave = step["mode"] in GRAVE_MODES or step["own_gate"]
    args = (
        step["params"] if step["capability"] != "agent" else {"task": step["description"], **step["params"]}
    )
    line, sentence = arguments_line(args), step_sentence(step)
    return RunLine(
        str(step["id"]),
        str(step["capability"]),
        line,
        step["risk"],
        bool(grave),
        planned=line,
        sentence="; ".join(filter(None, (sentence.text, arguments_line(sentence.rest, sentence.known)))),
    )


def _planned(view: RunView, data: EventData) -> RunView:
    if data["outcome"] != "ok":
        return replace(view, phase="planning again")
    before = {line.id: line for line in view.lines if line.state == "done"}
    lines = tuple(plan_line(step) for step in data["plan"]["steps"])
    merged = tuple(before[line.id] if _same(line, before.get(line.id)) else line for line in lines)
    return replace(view, lines=merged, phase="planned")


def _same(line: RunLine, other: RunLine | None) -> bool:
    return other is not None and (line.capability, line.planned) == (other.capability, other.planned)


def _gate(view: RunView, opens: bool, data: EventData, at: float) -> RunView:
    gates = dict(view.gates)
    if not opens:
        gates.pop(data["gate_id"], None)
    elif data["kind"] == "plan":
        gates[data["gate_id"]] = "the plan"
    else:
        owner = _owner(view, str(data["step_id"]).rsplit(".", 2)[0])
        known = {line.id for line in view.lines if line.id}
        plain = str(data["step_id"]) if str(data["step_id"]) in known else "a call"
        gates[data["gate_id"]] = f"a call of {owner.id}" if owner and owner.id else plain
    asking = set(gates.values())
    lines = tuple(_with_gate(line, asking, at) for line in view.lines)
    return replace(view, gates=gates, lines=lines)


def _with_gate(line: RunLine, asking: set[str], at: float) -> RunLine:
    """Stop or start a line by whether its gate, or that of a call of its own, is open."""
    if asking & {line.id, f"a call of {line.id}"}:
        return line if line.settled else replace(line, state="waiting")
    return replace(line, state="running", since=at) if line.state == "waiting" else line


def _step(view: RunView, kind: str, data: EventData, at: float) -> RunView:
    def change(line: RunLine) -> RunLine:
        if kind == "plan_step_start":
            return replace(line, state="running", since=at, uid=str(data.get("uid", "")))
        tries, took = int(data["attempts"]), data.get("seconds") or (at - line.since if line.since else None)
        if kind == "plan_step_complete":
            used, brought = data.get("used"), str(data.get("brought") or "")
            args = line.args if used is None else arguments_line(used)
            return replace(line, state="done", tries=tries, seconds=took, note="", args=args, brought=brought)
        ended: State = "rejected" if data["status"] == "rejected" else "skipped"
        state: State = "failed" if kind == "plan_step_failed" else ended
        note = one_line(format_end(data["status"], data["error"], data.get("code", "")))
        return replace(line, state=state, tries=tries, seconds=took, note=note)

    started = kind == "plan_step_start" and data["capability"] != "agent"
    calls = view.tool_calls + started
    lines = tuple(change(line) if line.id == str(data["step_id"]) else line for line in view.lines)
    return replace(view, lines=lines, tool_calls=calls)


def _call(view: RunView, kind: str, data: EventData, at: float) -> RunView:
    """Put what happens to a call under what it belongs to; one without a step is a line itself."""
    uid = str(data.get("uid", data["step_id"]))
    if kind == "tool_call_start":
        risk, capability, lane = data.get("risk", "None"), str(data["capability"]), str(data["lane"])
        call = RunLine("", capability, arguments_line(data["args"]), risk, state="running", since=at, uid=uid)
        view = replace(view, tool_calls=view.tool_calls + 1, answer="")
        if _owner(view, lane) is None:
            return replace(view, lines=(*view.lines, call))
        return replace(view, lines=tuple(_under(line, lane, call) for line in view.lines))

    def change(line: RunLine) -> RunLine:
        if uid != line.uid and str(data["step_id"]) != line.id:
            return replace(line, calls=tuple(map(change, line.calls)))
        if (other := data.get("alternative")) and "capability" in other:
            capability, args = str(other["capability"]), arguments_line(other["params"])
            note = one_line(f"instead of {line.capability}: {data['error']}")
            return replace(line, capability=capability, args=args, tries=int(data["attempt"]) + 1, note=note)
        if kind == "plan_step_retry":
            note = one_line(f"{data['error']}; again {'in another way' if other else 'under the same key'}")
            return replace(line, tries=int(data["attempt"]) + 1, note=note)
        done = data["status"] == "completed"
        note = "" if done else one_line(format_end(data["status"], data["error"], data.get("code", "")))
        return replace(line, state="done" if done else "failed", seconds=data["seconds"], note=note)

    return replace(view, lines=tuple(map(change, view.lines)))


def _under(line: RunLine, lane: str, call: RunLine) -> RunLine:
    if line.uid == lane:
        return replace(line, calls=(*line.calls, call))
    return replace(line, calls=tuple(_under(other, lane, call) for other in line.calls))


def _owner(view: RunView, lane: str) -> RunLine | None:
    """Find the line that a lane belongs to, or that holds the call which opened it."""
    return next((line for line in view.lines if _holds(line, lane)), None)


def _holds(line: RunLine, lane: str) -> bool:
    return bool(line.uid) and (line.uid == lane or any(_holds(call, lane) for call in line.calls))


def _spent(view: RunView, data: EventData) -> RunView:
    """Count a model call; one that failed brings no words, so what came in of it goes."""
    failed, cost = "error" in data, data.get("cost")
    return replace(
        view,
        model_calls=view.model_calls + 1,
        wording_calls=view.wording_calls + (not failed and data.get("role") == "respond"),
        embedded_calls=view.embedded_calls + (not failed and data.get("provider") == "embedded"),
        tokens=view.tokens + data.get("input_tokens", 0) + data.get("output_tokens", 0),
        cost=view.cost + (cost or 0),
        unpriced=view.unpriced + (cost is None),
        thinking={call: since for call, since in view.thinking.items() if call != data.get("call")},
        answer="" if failed else view.answer,
    )
