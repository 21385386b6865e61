"""The surface of a lane: what it may do at most, by the gravest of its tools, whatever their effect class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from planwright.capabilities.contract import Capability
from planwright.domain.risk import MODES, Effect, Mode, Risk, highest_risk


class Surface(NamedTuple):
    """The effect class, mode and risk of a call, or of all that a lane may call."""

    effect: Effect
    """`pure` where all only read, else `idempotent`: what a lane does is judged call by call."""
    mode: Mode
    """Gravest mode."""
    risk: Risk
    """Gravest risk."""


def surface_of(tools: Iterable[Capability]) -> Surface:
    """Find the gravest mode and risk of some tools, and whether all only read; those of reading for none."""
    capabilities = list(tools)
    pure = all(tool.effect == "pure" for tool in capabilities)
    modes: list[Mode] = [tool.mode for tool in capabilities] or ["read_only"]
    mode = max(modes, key=MODES.index)
    return Surface(
        "pure" if pure else "idempotent", mode, highest_risk(*(tool.risk for tool in capabilities))
    )
