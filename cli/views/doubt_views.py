"""Effects in doubt at a terminal: one line each, why nobody knows, how to find out, and how to say so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from planwright.cli.views.rendering import argument, label
from planwright.domain.doubt import Doubt
from planwright.presentation.doubt_lines import finding_out_lines, not_whole, question_lines, reason_lines
from planwright.presentation.rows import Card, Report

if TYPE_CHECKING:
    from rich.console import RenderableType


def doubts_on(card: Card) -> list[Doubt]:
    """List the effects in doubt that a card shows."""
    return [Doubt.model_validate(effect) for effect in card.get("effects", ())]


def doubt_rows(doubts: Sequence[Doubt], *, whole: bool = False) -> Iterator[RenderableType]:
    """Show effects in doubt, one line each, why nobody knows, and how to find out.

    `whole`: also the arguments that its line leaves out, or cuts.
    """
    for number, (doubt, line) in enumerate(zip(doubts, question_lines(doubts), strict=True), 1):
        yield label("in doubt" if number == 1 else "", f"{number}  {line}", "yellow")
        if whole:
            yield from (argument(name, doubt.args[name], 14) for name in not_whole(doubt, doubts))
    yield from (label("why", line) for line in reason_lines(doubts))
    yield from (label("find out", line) for line in finding_out_lines(doubts))


def doubt_gate_rows(card: Card, doubts: Sequence[Doubt], *, whole: bool) -> Iterator[RenderableType]:
    """Show a gate that asks about effects in doubt, and what else of its run was not accepted."""
    yield label("gate", f"{card.get('goal') or card['description']}: a person says whether this happened")
    yield from doubt_rows(doubts, whole=whole)
    yield from (argument(name, value, 11) for name, value in card["args"].items())


def doubts_beside(run: Report, cards: Sequence[Card]) -> Iterator[RenderableType]:
    """Show what is in doubt in a run and on none of its open cards; a later gate of the run asks about it."""
    shown_keys = {doubt.key for card in cards for doubt in doubts_on(card)}
    if doubts := [Doubt.model_validate(doubt) for doubt in run["in_doubt"] if doubt["key"] not in shown_keys]:
        yield from doubt_rows(doubts)
        yield label("", "you are asked about it when the run comes to it")


def left_in_doubt(run: Report, where: str = "", *, whole: bool = False) -> Iterator[RenderableType]:
    """Show what a run that has ended left in doubt, and how a person decides over it."""
    if run["ended_at"] and (doubts := [Doubt.model_validate(doubt) for doubt in run["in_doubt"]]):
        yield from doubt_rows(doubts, whole=whole)
        yield label("decide", decide_command(f"{run['run_id']}{where}"))


def decide_command(name: str) -> str:
    """Spell the command that says of effects in doubt whether they happened; which did is for a person."""
    return f"planwright respond {name} --happened KEY[=RESULT] --not-happened KEY   (each key above, once)"
