"""Arguments of a call side by side: as planned, with references, and the values that they stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planwright.presentation.step_sentence import argument_text
from planwright.web import words


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


def value_rows(planned: Mapping[str, object], values: Mapping[str, object] | None) -> Sequence[ValueRow]:
    """Set arguments as planned beside what they are; `values` is None while that is not known. Pure."""
    known = {name: value for name, value in (values or {}).items() if value is not None or name in planned}
    return [_row(name, planned, known) for name in dict.fromkeys((*planned, *known))]


def _row(name: str, planned: Mapping[str, object], known: Mapping[str, object]) -> ValueRow:
    template = argument_text(planned[name]) if name in planned else ""
    value = words.spelled_value(known[name]) if name in known and known[name] != planned.get(name) else ""
    shown_template, shown_value = words.clipped(template), words.clipped(value)
    both = shown_template + shown_value
    return ValueRow(str(name), shown_template, shown_value, "\n" in both or len(both) > 120)
