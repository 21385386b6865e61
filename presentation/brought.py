"""What a call brought, in a few words."""

from __future__ import annotations

from collections.abc import Mapping

from planwright.domain.hashing import json_text
from planwright.presentation.printable import one_line

_TEXTS = ("value", "summary", "text")


def brought_text(output: object, used: Mapping[str, object]) -> str:
    """Say on one line what came of a call, beside what it `used`; it may be long."""
    if isinstance(output, list):
        return _count(output, "items")
    if not isinstance(output, Mapping):
        return "" if output is None else _format(output)
    for name, value in output.items():
        if isinstance(value, list) and "value" not in output:
            return _count(value, str(name))
    for name in _TEXTS:
        if isinstance(output.get(name), str) and output[name] != used.get(name):
            return _format(output[name])
    new = {name: value for name, value in output.items() if value != used.get(name)}
    facts = {name: value for name, value in new.items() if value not in (None, "", [], {})}
    return ", ".join(f"{one_line(n)} {_format(v)}" for n, v in facts.items())


def _count(items: list[object], name: str) -> str:
    singular = name[:-1] if name.endswith("s") else name
    return f"{len(items):,} {one_line(singular if len(items) == 1 else name)}"


def _format(value: object) -> str:
    text = value if isinstance(value, str) else json_text(value)
    return " ".join(one_line(text.replace("\n", " ")).split())
