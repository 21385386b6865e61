"""What forged checkpoints name: if it is ever called, a file tells of it."""

from __future__ import annotations

from pathlib import Path

CANARY = Path("CANARY")


def sing(name: str = "") -> str:
    """Leave a file behind in the current folder."""
    CANARY.write_text(name)
    return name
