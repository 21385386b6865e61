"""The embedded planner binds the arguments of capabilities that a user has declared, or asks."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.extras.offline.planner import compose


def card(capability: str, **kinds: str) -> dict[str, Any]:
    properties = {name: {"type": kind} for name, kind in kinds.items()}
    args = {"properties": properties, "required": [*kinds]}
    words = {"description": "Put a text into a report, or place an order for an item.", "tags": []}
    return {"name": capability, "args": args, **words, "mode": "local_write", "risk": "Low"}


PUT = card("reports.put", name="string", text="string")
ORDER = card("orders.place", item="string", count="integer", size="integer")


def bound(task: str, capability: dict[str, Any]) -> Any:
    plan = compose(task, [capability])
    return plan["steps"][0]["params"] if "steps" in plan else plan


@pytest.mark.parametrize(
    "task",
    [
        'Put text "hello" into report name "r.txt"',
        'Put the text "hello" into the report "r.txt"',
        'Put name "r.txt" text "hello" into reports',
        "Put text “hello” into the report “r.txt”",
    ],
)
def test_a_quotation_goes_to_the_argument_that_is_named_before_it(task: str) -> None:
    assert bound(task, PUT) == {"name": "r.txt", "text": "hello"}


@pytest.mark.parametrize("task", ['Put "hello" into the report "r.txt"', 'Put "hello" into the reports'])
def test_quotations_that_could_be_either_are_asked_for(task: str) -> None:
    assert bound(task, PUT) == {"clarify": ["Which name do you mean?"]}


def test_numbers_go_to_the_arguments_that_are_named_before_them() -> None:
    task = 'Place an order for item "bolts" with count 3 and size 8'
    assert bound(task, ORDER) == {"item": "bolts", "count": 3, "size": 8}


def test_a_number_goes_to_one_argument() -> None:
    priced = card("orders.place", item="string", price="number", count="integer")
    task = 'Place an order for item "bolts" of price 3'
    assert bound(task, priced) == {"clarify": ["Which count do you mean?"]}


def test_numbers_that_could_be_either_are_asked_for() -> None:
    assert bound('Place an order for 3 "bolts" of 8', ORDER) == {"clarify": ["Which count do you mean?"]}


def test_the_only_number_goes_to_the_only_argument_of_its_kind() -> None:
    stock = card("orders.place", item="string", count="integer")
    assert bound('Place an order for 3 "bolts"', stock) == {"item": "bolts", "count": 3}


NOTE = card("orders.note", text="string")
REFUND = card("payments.refund", order="string")


@pytest.mark.parametrize(
    ("task", "capability", "wanted"),
    [
        ("Remember that the note is on the fridge", NOTE, "memory.write"),
        ("Save hello to note.txt", NOTE, "files.write"),
        ('Write "hello" to note.txt', NOTE, "files.write"),
        ('Post "see the note" to the team channel', NOTE, "channel.post"),
        ('Write "hello" to refund.md', REFUND, "files.write"),
        ('Write "refund everything" to a.md', REFUND, "files.write"),
        ('Refund order "A-7"', REFUND, "payments.refund"),
        ('Create a refund for order "A-7"', REFUND, "payments.refund"),
        ('Look it up with payments.refund order "A-7"', REFUND, "payments.refund"),
    ],
)
def test_a_capability_of_ones_own_is_called_where_a_request_asks_for_it_and_nowhere_else(
    capabilities: list[dict[str, Any]], task: str, capability: dict[str, Any], wanted: str
) -> None:
    plan = compose(task, [*capabilities, capability])
    assert [step["capability"] for step in plan["steps"][:-1]] == [wanted]


def test_two_that_fit_alike_are_asked_about_and_one_that_fits_better_is_taken() -> None:
    shop, depot = (
        {**card(name, item="string"), "tags": ["orders"]} for name in ("shop.place", "depot.place")
    )
    asked = compose('Place an order for item "bolts"', [shop, depot])
    assert asked == {"clarify": ["Which one do you mean: shop.place or depot.place?"]}
    for task in ('Place an order at the depot for item "bolts"', 'Run depot.place with item "bolts"'):
        plan = compose(task, [{**shop, "tags": []}, depot])
        assert plan["steps"][0]["capability"] == "depot.place"
