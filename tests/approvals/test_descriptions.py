"""Arguments are described by a function of the capability, as far as it can, and bounded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import JsonValue

from planwright.approvals.cards import card_steps
from planwright.approvals.descriptions import with_step_descriptions
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.capabilities.descriptions import ArgumentDescription, Deed
from planwright.capabilities.registry import Registry
from planwright.presentation.step_sentence import step_sentence
from tests.planning.plan_world import world


@pytest.fixture
def call_context() -> CallContext:
    """Make the context of a call in an empty workspace."""
    return world()


def odd(describes: Any) -> Capability:
    """Make a capability whose arguments are described by a function."""

    @capability("shop.order", mode="local_write", deed=Deed("order", "part"), describe=describes)
    def order(part_id: str, call: CallContext, note: str = "", tags: list[str] = []) -> str:  # noqa: B006
        """Order a part."""
        return part_id

    return order


async def broken(args: Mapping[str, JsonValue], call: CallContext) -> Mapping[str, ArgumentDescription]:
    """Fail to say what a part is."""
    raise ValueError("no catalogue")


async def long(args: Mapping[str, JsonValue], call: CallContext) -> Mapping[str, ArgumentDescription]:
    """Say too much of a part, and something of an argument that there is none of."""
    return {"part_id": ArgumentDescription("x" * 1_000), "colour": ArgumentDescription("red")}


async def card_of(function: Any, context: CallContext, **params: JsonValue) -> dict[str, Any]:
    """Describe the one step of a card."""
    step: dict[str, JsonValue] = {"id": "s1", "capability": "shop.order", "effect": "blind", "params": params}
    card = await with_step_descriptions({"steps": [step]}, Registry([odd(function)]), context)
    (described,) = card_steps(card)
    return described


async def test_what_cannot_be_described_is_shown_as_it_is(call_context: CallContext) -> None:
    step = await card_of(broken, call_context, part_id="p7")
    assert "described" not in step
    assert step_sentence(step).text == "Order a part: part_id p7"


async def test_a_description_is_short_and_of_arguments_alone(call_context: CallContext) -> None:
    step = await card_of(long, call_context, part_id="p7")
    assert list(step["described"]) == ["part_id"]
    assert len(step["described"]["part_id"]["text"]) == 200


async def test_empty_arguments_are_left_out_where_that_says_the_same(call_context: CallContext) -> None:
    step = await card_of(long, call_context, part_id="", note="", tags=[])
    assert step["idle"] == ["note", "tags"]
    assert "note" not in step_sentence(step).rest


async def test_a_reference_is_not_described(call_context: CallContext) -> None:
    step = await card_of(long, call_context, part_id="{{steps.s0.output.id}}")
    assert "described" not in step or "part_id" not in step["described"]
