"""What `planwright doctor` prints, line by line, as rows. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

_LINE = re.compile(r"(?P<name>\S+)\s+(?P<mark>ok|!!)\s+(?P<text>.*)")


@dataclass(frozen=True)
class CheckRow:
    """One thing that was checked."""

    name: str
    """What was checked."""
    well: bool
    """Whether it is as it should be."""
    text: str
    """What there is, or what is wrong."""
    next_step: str = ""
    """What to do; "" for nothing."""


def check_rows(output: str) -> list[CheckRow]:
    """Read the lines of a check; a line without a name says what to do about the one before it."""
    rows: list[CheckRow] = []
    for line in output.splitlines():
        if match := _LINE.fullmatch(line.rstrip()):
            rows.append(CheckRow(match["name"], match["mark"] == "ok", match["text"]))
        elif rows and line.strip():
            rows[-1] = replace(rows[-1], next_step=f"{rows[-1].next_step} {line.strip()}".strip())
    return rows
