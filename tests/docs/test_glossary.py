"""The glossary: few terms, one line each, and the symbols they name exist."""

from __future__ import annotations

import importlib
import re
from typing import Any

from tests.docs.pages import ROOT

ROW = re.compile(r"\| (?P<term>[^|`]+) \| (?P<meaning>[^|]+) \| `(?P<symbol>[\w.]+)` \|")
MOST_TERMS = 40


def test_every_term_is_one_line_and_its_symbol_exists() -> None:
    lines = (ROOT / "docs" / "glossary.md").read_text("utf-8").splitlines()
    table = [line for line in lines if line.startswith("|")][2:]
    rows = [ROW.fullmatch(line) for line in table]
    assert None not in rows
    terms = [row["term"] for row in rows if row]
    assert len(terms) == len(set(terms)) <= MOST_TERMS
    assert [row["symbol"] for row in rows if row and not _exists(row["symbol"])] == []


def _exists(symbol: str) -> bool:
    """Say whether a module has a name; of a name in a class, also by its fields."""
    parts = symbol.split(".")
    for length in range(len(parts), 0, -1):
        try:
            place: Any = importlib.import_module(".".join(["planwright", *parts[:length]]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            if name in getattr(place, "model_fields", {}):
                return True
            if not hasattr(place, name):
                return False
            place = getattr(place, name)
        return True
    return False
