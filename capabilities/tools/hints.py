"""What a tool claims about itself (MCP tool annotations), and the mode that follows from it.

A hint that is absent says what the protocol gives it (MCP 2025-11-25, `ToolAnnotations`): not read-only,
destructive, in an open world. So a tool is taken for harmless only where its server says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, get_args

from planwright.domain.risk import MODES, RISK_OF_MODE, Effect, Mode, Risk

_EFFECTS: tuple[Effect, ...] = get_args(Effect)
CLAIMS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
"""The fields of `Hints`, as they stand on the wire."""


class Hints(NamedTuple):
    """The claims of a tool; None where it makes none."""

    read_only: bool | None = None
    """Whether it changes nothing, as the server claims; None for no claim."""
    destructive: bool | None = None
    """Whether it may destroy something, as the server claims; None for no claim."""
    idempotent: bool | None = None
    """Whether doing it twice is as doing it once, as the server claims; None for no claim."""
    open_world: bool | None = None
    """Whether it reaches what is outside, as the server claims; None for no claim."""

    @property
    def mode(self) -> Mode | None:
        """The mode that is claimed; None when nothing says how grave a call is."""
        if self.destructive:
            return "destructive"
        if self.read_only is not True and self.destructive is None:
            return None
        if self.open_world is not False:
            return "network"
        return "read_only" if self.read_only else "local_write"

    def effect(self, mode: Mode) -> Effect:
        """Say what a crash in the middle of a call means, for the mode that is in force."""
        if mode == "read_only" or (mode == self.mode == "network" and self.read_only):
            return "pure"
        return "idempotent" if self.idempotent else "blind"

    def risk(self, mode: Mode) -> Risk:
        """Say how grave a call is: one that looks, and may carry data out, is as a GET of `http.request`."""
        return "Low" if mode == "network" and self.effect(mode) == "pure" else RISK_OF_MODE[mode]

    def looser_than(self, other: Hints) -> bool:
        """Say whether these claims let more happen unasked, or be done again, than others did."""
        return any(now < before for now, before in zip(self._gravity, other._gravity, strict=True))

    @property
    def _gravity(self) -> tuple[int, int]:
        mode = self.mode or "destructive"
        return MODES.index(mode), _EFFECTS.index(self.effect(mode))


def read_hints(fields: Mapping[str, object]) -> Hints:
    """Read hints beside the rest (`readOnlyHint`) or under `annotations`, in camelCase or snake_case.

    What is not true or false claims nothing.
    """
    nested = fields.get("annotations")
    places = [nested, fields] if isinstance(nested, Mapping) else [fields]

    def claim(camel: str, snake: str) -> bool | None:
        claims = [place.get(name) for place in places for name in (camel, snake)]
        return next((value for value in claims if isinstance(value, bool)), None)

    snake_case = ("read_only_hint", "destructive_hint", "idempotent_hint", "open_world_hint")
    return Hints(*map(claim, CLAIMS, snake_case))
