"""Where the value of a setting comes from, as it is shown."""

from __future__ import annotations

from collections.abc import Mapping


def origin_of(name: str, named: Mapping[str, str], otherwise: str) -> str:
    """Name the origin of a setting: its own, or that of a value around it; else `otherwise`."""
    around = [origin for other, origin in named.items() if name == other or name.startswith(f"{other}.")]
    return (around or [otherwise])[0]
