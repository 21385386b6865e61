"""What a gate shows at a terminal: a plan, a call, questions, or a run that the critic did not accept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType

from planwright.cli.views.call_card import call_view
from planwright.cli.views.doubt_views import doubt_gate_rows, doubts_on
from planwright.cli.views.plan_card import plan_view
from planwright.cli.views.printable import one_line
from planwright.cli.views.rendering import RISK_STYLE, argument, label, risk_text
from planwright.domain.errors import EffectInDoubt
from planwright.presentation.rows import Card

if TYPE_CHECKING:
    from planwright.approvals.pending import PendingGate


def gate_view(kind: str, card: Card, *, whole: bool = False, models: bool = True) -> RenderableType:
    """Show what a gate asks; of a plan `whole` values, and its references as they are written."""
    if kind == "plan":
        return plan_view(card, whole=whole, models=models)
    if kind == "info":
        questions = enumerate(card["args"]["questions"], 1)
        rows = [argument(str(number), question, 11) for number, question in questions]
        return Group(label("question", f"{card['description']}"), *rows)
    if doubts := doubts_on(card):
        return Group(*doubt_gate_rows(card, doubts, whole=whole), *_came_of(card))
    return Group(call_view(card), *_came_of(card)) if kind == "escalation" else call_view(card)


def _came_of(card: Card) -> list[RenderableType]:
    """Show what came of each step, what nobody judged, and what could be undone."""
    rows: list[RenderableType] = []
    for step in (step for step in card.get("steps", ()) if step["status"] != EffectInDoubt.code):
        rows.append(label("step", one_line(f"{step['id']} {step['capability']} {step['status']}")))
        if "output" in step:
            rows.append(argument("output", step["output"], 15))
        rows += [argument("noticed", finding, 15) for finding in step.get("findings", ())]
    if not_judged := card.get("not_judged"):
        rows.append(label("not judged", f"criteria in words of {', '.join(not_judged)}", "yellow"))
    if undo := card.get("undo"):
        rows.append(label("undo", f"possible after the end: {', '.join(undo)}"))
    return rows


def pending_rows(gate: PendingGate) -> Iterator[RenderableType]:
    """Show one gate that would be approved: thread, run, and each call with all of its values."""
    tenant = f", tenant {gate.tenant}" if gate.tenant != "default" else ""
    text = f"{gate.gate_id}, {risk_text(gate.risk)}: thread {gate.thread_id}, {gate.run_id}{tenant}"
    yield label("gate", one_line(text), RISK_STYLE.get(gate.risk, ""))
    for call in gate.calls:
        yield label("", one_line(f"{call.step_id} {call.capability}".strip()))
        yield from (argument(name, value, 15) for name, value in call.args.items() if value not in (None, []))
        yield from (argument("look", note, 15, "dim") for note in call.notes)


def left_row(gate: PendingGate) -> RenderableType:
    """Show one gate that is left, and why."""
    return label("left", one_line(f"{gate.gate_id}: {gate.problem}"), "yellow")
