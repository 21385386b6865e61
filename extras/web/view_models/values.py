"""Arguments of a call side by side: as planned, with references, and the values that they stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planwright.domain.hashing import same
from planwright.extras.web import words
from planwright.presentation.rows import Card
from planwright.presentation.step_sentence import argument_text, described_value, shown_arguments


@dataclass(frozen=True)
class ValueRow:
    """One argument."""

    name: str
    """Name of it."""
    planned: str
    """Value as planned, with references in words; "" where it was not planned."""
    value: str
    """Value as it is; "" where it is not known yet, or no other than planned."""
    long: bool
    """Whether it needs a block of its own."""


def value_rows(
    planned: Mapping[str, object],
    values: Mapping[str, object] | None,
    card: Card | None = None,
    *,
    whole: bool = False,
) -> Sequence[ValueRow]:
    """Set arguments as planned beside what they are; `values` is None while that is not known. Pure.

    What a person decides over is shown `whole`, with what its `card` says of it; elsewhere only the beginning
    of a long value is.
    """
    planned = shown_arguments(planned, card or {})
    real = shown_arguments(values or {}, card or {})
    known = {name: value for name, value in real.items() if value is not None or name in planned}
    rows = []
    for name in dict.fromkeys((*planned, *known)):
        template = argument_text(planned[name]) if name in planned else ""
        is_other = name in known and not same(known[name], planned.get(name))
        text = described_value(name, known.get(name, planned.get(name)), card or {})
        text = text or (words.format_value(known[name]) if is_other else "")
        rows.append(_row(name, template, text, whole))
    return rows


def real_rows(
    args: Mapping[str, object], card: Card | None = None, *, whole: bool = False
) -> Sequence[ValueRow]:
    """Lay out the real arguments of a call: no text in them is taken for a reference. Pure."""
    return [
        _row(name, "", described_value(name, value, card or {}) or words.format_value(value), whole)
        for name, value in shown_arguments(args, card or {}).items()
    ]


def _row(name: str, planned: str, value: str, whole: bool) -> ValueRow:
    if not whole:
        planned, value = words.clipped(planned), words.clipped(value)
    both = planned + value
    return ValueRow(str(name), planned, value, "\n" in both or len(both) > 120)
