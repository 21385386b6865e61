"""Risk levels and approval modes, from the mildest to the gravest."""

from __future__ import annotations

from typing import Literal, get_args

Risk = Literal["None", "Low", "Medium", "High", "Critical"]
Mode = Literal["read_only", "local_write", "network", "delegated", "destructive"]
Effect = Literal["pure", "idempotent", "queryable", "blind"]

RISKS: tuple[Risk, ...] = get_args(Risk)
MODES: tuple[Mode, ...] = get_args(Mode)
EFFECTS: tuple[Effect, ...] = get_args(Effect)  # from the safest to repeat to the gravest
RISK_OF_MODE: dict[Mode, Risk] = dict(zip(MODES, RISKS, strict=True))


def highest_risk(*risks: Risk) -> Risk:
    """Pick the gravest of some risks; `None` (the level) when there are none."""
    return max(risks, key=RISKS.index, default="None")


def at_least(risk: Risk, floor: Risk) -> bool:
    """Say whether a risk is as grave as a floor, or graver."""
    return RISKS.index(risk) >= RISKS.index(floor)


def looser(mode: Mode, than: Mode) -> bool:
    """Say whether a mode promises less care than another."""
    return MODES.index(mode) < MODES.index(than)
