"""What the page of a run shows: its state after some events, and what is on record of its steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from planwright.domain.results import TERMINAL
from planwright.extras.web import words
from planwright.extras.web.drawing.plan_picture import DrawnStep, draw_plan
from planwright.extras.web.view_models.run_state import RunState
from planwright.extras.web.view_models.values import ValueRow, value_rows
from planwright.presentation.figures import dollars
from planwright.presentation.rows import Card
from planwright.presentation.run_view import RunLine, State
from planwright.presentation.step_sentence import step_sentence
from planwright.records.history.rows import Row
from planwright.records.history.run_records import RunRecord

WORDS: dict[State, str] = {"pending": "not begun", "running": "running", "waiting": "waits for a person"}


@dataclass(frozen=True)
class StepRow:
    """One step as the page lists it, or one call within a step."""

    id: str
    """Id of the step; "" for a call of a model."""
    name: str
    """Name of what is called."""
    state: State
    """How it stands."""
    word: str
    """How it stands, in words."""
    sentence: str
    """What it is to do."""
    facts: Sequence[str]
    """Mode, risk and effect, in words."""
    values: Sequence[ValueRow]
    """Arguments: as planned, and as called."""
    output: str
    """What it brought; "" while that is nothing."""
    note: str
    """Why it failed or was left out; "" for neither."""
    noticed: Sequence[str]
    """What the critic noticed."""
    seconds: float | None
    """How long it took; None while it has not ended."""
    tries: int
    """How often it was tried."""
    key: str
    """Idempotency key of its effect; "" for none."""
    used: str
    """What the model that does it has used, in words; "" where no model does."""
    after: Sequence[str]
    """Ids of the steps that it needs."""
    calls: Sequence[StepRow]
    """Calls within it."""


@dataclass(frozen=True)
class RunPageView:
    """All that the page of a run shows of one moment."""

    state: RunState
    """How it stands by its events."""
    status: str
    """Its status at that moment."""
    busy: bool
    """Whether more will happen."""
    picture: str
    """Its plan as an SVG; "" where there is none."""
    steps: Sequence[StepRow]
    """Its steps, or the calls of its loop."""
    effects: Sequence[Row]
    """Its effects, in the order they began."""
    facts: Sequence[tuple[str, str]]
    """What it has used, in words, by name."""
    past: bool = False
    """Whether it is a moment before the newest."""

    @property
    def thinks_since(self) -> str:
        """Since when a model thinks that has not said a word, in ISO 8601; "" where none does."""
        since = min(self.state.view.thinking.values(), default=None)
        return "" if since is None else datetime.fromtimestamp(since, UTC).isoformat(timespec="milliseconds")


def run_page(state: RunState, records: RunRecord, status: str, *, past: bool = False) -> RunPageView:
    """Make what is shown of a run; `past` for a moment that is not its newest. Pure."""
    cards = {str(card["id"]): card for card in state.plan.get("steps", ())}
    effects = {row["step_uid"]: row for row in records.effects}
    steps = [_step(line, cards.get(line.id, {}), state, records, effects) for line in state.view.lines]
    drawn = [_drawn(line, cards[line.id]) for line in state.view.lines if line.id in cards]
    now = (state.status or ("waiting" if state.open_gates else "running")) if past else status
    seen = [row for row in records.effects if not past or row["intended_at"] <= state.at]
    busy = not past and now not in TERMINAL
    return RunPageView(state, now, busy, draw_plan(drawn), steps, seen, _facts(state), past)


def _drawn(line: RunLine, card: Card) -> DrawnStep:
    tries = f" · try {line.tries}" if line.tries > 1 else ""
    took = words.duration(line.seconds) if line.settled and line.seconds else ""
    follows = [str(edge["after"]) for edge in card.get("follows", ())]
    return DrawnStep(
        id=line.id,
        name=line.capability,
        state=line.state,
        detail=f"{WORDS.get(line.state, line.state)}{' · ' + took if took else ''}{tries}",
        after=[str(id_) for id_ in card["after"]],
        follows=follows,
        gated=bool(card["own_gate"]),
        risk=str(card["risk"]),
        only_if=str(card.get("only_if", "")),
        calls=[call.state for call in line.calls],
    )


def _step(
    line: RunLine,
    card: Card,
    state: RunState,
    records: RunRecord,
    effects: Mapping[str, Row],
) -> StepRow:
    """Lay out a step or a call; what is on record of it shows once its end has been told."""
    record = records.steps.get(line.uid, {}) if line.settled else {}
    effect = effects.get(line.uid) if line.state != "pending" else None
    used = effect["args"] if effect else record.get("args")
    planned = card.get("params", {})
    return StepRow(
        id=line.id,
        name=line.capability,
        state=line.state,
        word=WORDS.get(line.state, line.state),
        sentence=step_sentence(card).text if card else line.args,
        facts=_step_facts(card, line),
        values=value_rows(planned, used),
        output=_output(record),
        note=line.note,
        noticed=state.notes.get(line.id, ()) if line.id else (),
        seconds=line.seconds if line.settled else None,
        tries=line.tries,
        key=effect["key"] if effect else "",
        used=_used(records.spent.get(line.uid)) if line.settled else "",
        after=[str(id_) for id_ in card.get("after", ())],
        calls=[_step(call, {}, state, records, effects) for call in line.calls],
    )


def _step_facts(card: Card, line: RunLine) -> list[str]:
    if not card:
        return [f"{line.risk} risk"] if line.risk != "None" else []
    risk = "no risk" if card["risk"] == "None" else f"{card['risk']} risk"
    gate = ["asks a person"] if card["own_gate"] else []
    return [words.word(card["mode"]), risk, *gate]


def _used(spent: Row | None) -> str:
    """Say what a model has used for a step; a price that nobody knows is left out."""
    if spent is None:
        return ""
    cost = dollars(spent["cost"])
    calls = f"{spent['calls']} model call{'s' * (spent['calls'] != 1)}"
    return ", ".join(filter(None, (calls, f"{spent['tokens'] or 0:,} tokens", cost)))


def _output(record: Card) -> str:
    if record.get("blob"):
        return f"a large result, on record as {record['blob'][:16]}…"
    return "" if record.get("output") is None else words.clipped(record["output"])


def _facts(state: RunState) -> list[tuple[str, str]]:
    """Say what a run has used so far."""
    view = state.view
    facts = [("calls", str(view.tool_calls))]
    if view.only_embedded:
        return facts
    facts += [("model calls", str(view.model_calls)), ("tokens", f"{view.tokens:,}")]
    if view.cost or not view.unpriced:
        facts.append(("cost", dollars(view.cost)))
    return facts
