"""What a gate shows at a terminal: a plan, a call, questions, or a run that the critic did not accept."""

from __future__ import annotations

from rich.console import Group, RenderableType

from planwright.cli.views.plan_card import plan_view
from planwright.cli.views.printable import one_line
from planwright.cli.views.rendering import argument, call_view, label
from planwright.cli.views.rows import Card


def gate_view(kind: str, card: Card, *, whole: bool = False, models: bool = True) -> RenderableType:
    """Show what a gate asks; of a plan `whole` values, and its references as they are written."""
    if kind == "plan":
        return plan_view(card, whole=whole, models=models)
    if kind == "info":
        questions = enumerate(card["args"]["questions"], 1)
        rows = [argument(str(number), question, 11) for number, question in questions]
        return Group(label("question", f"{card['description']}"), *rows)
    return Group(call_view(card), *_came_of(card)) if kind == "escalation" else call_view(card)


def _came_of(card: Card) -> list[RenderableType]:
    """Show what came of each step, what nobody judged, and what could be undone."""
    rows: list[RenderableType] = []
    for step in card.get("steps", ()):
        rows.append(label("step", one_line(f"{step['id']} {step['capability']} {step['status']}")))
        if "output" in step:
            rows.append(argument("output", step["output"], 15))
        rows += [argument("noticed", finding, 15) for finding in step.get("findings", ())]
    if not_judged := card.get("not_judged"):
        rows.append(label("not judged", f"criteria in words of {', '.join(not_judged)}", "yellow"))
    if undo := card.get("undo"):
        rows.append(label("undo", f"possible after the end: {', '.join(undo)}"))
    return rows
