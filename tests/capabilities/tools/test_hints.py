"""What a tool's hints come to: the gravest claim counts, and what is not said is as the protocol has it."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.capabilities.tools.hints import read_hints
from planwright.domain.risk import Effect, Mode

CASES: list[tuple[dict[str, Any], Mode | None, Effect]] = [
    ({}, None, "blind"),
    ({"title": "harmless"}, None, "blind"),
    ({"readOnlyHint": True}, "network", "pure"),
    ({"readOnlyHint": True, "openWorldHint": False}, "read_only", "pure"),
    ({"readOnlyHint": False}, None, "blind"),
    ({"idempotentHint": True}, None, "idempotent"),
    ({"openWorldHint": False}, None, "blind"),
    ({"openWorldHint": True}, None, "blind"),
    ({"openWorldHint": True, "idempotentHint": True}, None, "idempotent"),
    ({"readOnlyHint": True, "openWorldHint": True}, "network", "pure"),
    ({"destructiveHint": True}, "destructive", "blind"),
    ({"destructiveHint": True, "idempotentHint": True}, "destructive", "idempotent"),
    ({"destructiveHint": False}, "network", "blind"),
    ({"destructiveHint": False, "openWorldHint": False}, "local_write", "blind"),
    ({"destructiveHint": False, "idempotentHint": True}, "network", "idempotent"),
    ({"destructiveHint": False, "openWorldHint": True}, "network", "blind"),
    ({"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False}, "read_only", "pure"),
    ({"readOnlyHint": True, "destructiveHint": True}, "destructive", "blind"),
    ({"readOnlyHint": "true"}, None, "blind"),
    ({"readOnlyHint": 1, "destructiveHint": None}, None, "blind"),
]
SNAKE = {
    "readOnlyHint": "read_only_hint",
    "destructiveHint": "destructive_hint",
    "idempotentHint": "idempotent_hint",
    "openWorldHint": "open_world_hint",
}


@pytest.mark.parametrize(("hints", "mode", "effect"), CASES, ids=lambda case: str(case))
def test_hints_are_read_in_every_shape(hints: dict[str, Any], mode: Mode | None, effect: Effect) -> None:
    snake = {SNAKE.get(name, name): value for name, value in hints.items()}
    for told in ({"annotations": hints}, hints, {"annotations": snake}, snake):
        found = read_hints(told)
        assert found.mode == mode
        assert found.effect(mode or "destructive") == effect


def test_a_tool_that_the_user_says_is_graver_is_not_taken_to_be_pure() -> None:
    hints = read_hints({"readOnlyHint": True, "openWorldHint": False})
    assert hints.effect("network") == "blind"
    assert (hints.risk("network"), hints.risk("read_only")) == ("Medium", "None")
    assert read_hints({"readOnlyHint": True}).risk("network") == "Low"
    assert hints.effect("destructive") == "blind"
    assert read_hints({}).effect("read_only") == "pure"
