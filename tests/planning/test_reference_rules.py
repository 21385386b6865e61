"""A reference brings what its argument takes, or is found before anything runs."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel

from planwright.capabilities.declaration import capability
from planwright.capabilities.registry import Registry
from planwright.domain.plan import Plan
from planwright.planning.idle_fields import idle_fields
from planwright.planning.reference_rules import reference_flaws


class Line(BaseModel):
    """One line of an order."""

    sku: str
    count: int


class Order(BaseModel):
    """What looking an order up returns."""

    id: str
    total: float
    count: int
    paid: bool
    lines: list[Line]
    first: Line
    note: str | None
    either: int | str
    state: Literal["open", "closed"]
    extra: dict[str, int]
    anything: Any
    parent: Order | None = None


@capability("orders.lookup", mode="read_only")
def lookup(order: str) -> Order:
    """Look an order up."""
    raise NotImplementedError(order)


@capability("orders.count", mode="read_only")
def count() -> int:
    """Count the orders."""
    raise NotImplementedError


@capability("take.all", mode="local_write")
def take(
    text: str = "",
    number: int = 0,
    price: float = 0,
    flag: bool = False,
    line: Line | None = None,
    lines: list[Line] | None = None,
    texts: list[str] | None = None,
    table: dict[str, int] | None = None,
    maybe: int | None = None,
    anything: Any = None,
) -> str:
    """Take anything."""
    raise NotImplementedError(text, number, price, flag, line, lines, texts, table, maybe, anything)


REGISTRY = Registry([lookup, count, take])
FITTING = [
    ("text", "id"),
    ("text", "note"),
    ("text", "either"),
    ("text", "state"),
    ("text", "lines.0.sku"),
    ("text", "parent.parent.id"),
    ("text", "anything"),
    ("text", "anything.whatever.0"),
    ("number", "count"),
    ("number", "id"),
    ("number", "paid"),
    ("number", "either"),
    ("number", "extra.some"),
    ("number", "lines.3.count"),
    ("number", "lines[3].count"),
    ("price", "total"),
    ("price", "count"),
    ("flag", "paid"),
    ("line", "first"),
    ("line", "lines.0"),
    ("lines", "lines"),
    ("table", "extra"),
    ("maybe", "count"),
    ("anything", ""),
    ("anything", "lines"),
]
WRONG = [
    ("number", "lines"),
    ("number", "first"),
    ("number", "extra"),
    ("number", ""),
    ("number", "parent"),
    ("text", "count"),
    ("text", "total"),
    ("text", "paid"),
    ("text", "lines"),
    ("text", "first"),
    ("text", ""),
    ("price", "first"),
    ("flag", "lines"),
    ("line", "id"),
    ("line", "lines"),
    ("lines", "first"),
    ("lines", "id"),
    ("texts", "lines"),
    ("table", "lines"),
    ("maybe", "first"),
    ("line", "extra.some"),
    ("number", "lines.0"),
]
NOWHERE = [
    "nothing",
    "id.deeper",
    "lines.sku",
    "lines.0.nothing",
    "first.nothing",
    "count.0",
    "parent.nothing",
]


def flaws(params: dict[str, Any], *others: dict[str, Any]) -> list[str]:
    """Say what is wrong with the references of a step after an order was looked up."""
    first = {"id": "s1", "capability": "orders.lookup", "params": {"order": "o"}}
    last = {"id": "s2", "capability": "take.all", "params": params}
    plan = Plan.model_validate({"steps": [first, *others, last]})
    return [message for message, _ in reference_flaws(plan, plan.steps[-1], REGISTRY)]


def reference(path: str, step: str = "s1") -> str:
    return "{{" + f"steps.{step}.output" + (f".{path}" if path else "") + "}}"


@pytest.mark.parametrize(("argument", "path"), FITTING)
def test_a_reference_that_may_fit_passes(argument: str, path: str) -> None:
    assert flaws({argument: reference(path)}) == []


@pytest.mark.parametrize(("argument", "path"), WRONG)
def test_a_reference_of_a_wrong_type_is_found(argument: str, path: str) -> None:
    (flaw,) = flaws({argument: reference(path)})
    assert f"`{argument}` takes" in flaw


@pytest.mark.parametrize("path", NOWHERE)
def test_a_reference_that_leads_nowhere_is_found(path: str) -> None:
    (flaw,) = flaws({"anything": reference(path)})
    assert "leads nowhere" in flaw


@pytest.mark.parametrize("path", ["id", "count", "lines", "first"])
def test_a_reference_inside_a_text_becomes_text(path: str) -> None:
    assert flaws({"text": f"it is {reference(path)}"}) == []
    (flaw,) = flaws({"line": f"it is {reference(path)}"})
    assert "is a text with references, and takes" in flaw


def test_arguments_are_walked_to_the_depth_of_their_schema() -> None:
    assert flaws({"lines": [{"sku": reference("id"), "count": reference("count")}]}) == []
    (flaw,) = flaws({"lines": [{"sku": reference("id"), "count": reference("lines")}]})
    assert "`lines.0.count` takes integer" in flaw
    (flaw,) = flaws({"texts": ["x", reference("count")]})
    assert "`texts.1` takes string" in flaw


def test_what_an_agent_or_the_request_brings_is_known_and_a_plain_result_too() -> None:
    agent = {"id": "a", "tool_hints": ["orders.lookup"], "description": "Look"}
    assert flaws({"text": reference("text", "a")}, agent) == []
    assert len(flaws({"text": reference("summary", "a")}, agent)) == 1
    assert flaws({"text": "{{input.request}}"}) == []
    assert len(flaws({"text": "{{input.topic}}"})) == 1
    counted = {"id": "n", "capability": "orders.count"}
    assert flaws({"number": reference("", "n")}, counted) == []
    assert len(flaws({"number": reference("value", "n")}, counted)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "${steps.s1.output.id}",
        "$s1.output.id",
        "{steps.s1.output.id}",
        "<s1.output>",
        "it is steps.s1.output.id",
        "${s1.result}",
        "{s1.output.id}",
        "[s1.output]",
    ],
)
def test_what_only_looks_like_a_reference_is_found(text: str) -> None:
    assert any("is no reference" in flaw for flaw in flaws({"text": text}))


@pytest.mark.parametrize(
    "text", ["the output of s1", "steps 1 to 3", "$12.50", "{name}", "<b>x</b>", "${HOME}", "s1.outputs it"]
)
def test_plain_text_is_plain_text(text: str) -> None:
    assert flaws({"text": text}) == []


AGENT = {"id": "a", "description": "Look", "tool_hints": ["orders.lookup"]}


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ([{"id": "a", "capability": "orders.count", "model_hint": "reasoning"}], "asks no model"),
        ([{"id": "a", "capability": "orders.count", "tool_hints": ["take.all"]}], "uses no other tools"),
        ([{**AGENT, "params": {"x": 1}}], "takes no params"),
        ([{**AGENT, "timeout_s": 3}], "no time limit of its own"),
        ([{**AGENT, "approval_mode": "destructive"}], "its tools are read_only"),
        ([{"id": "a", "context_key": "k"}, {"id": "b", "context_key": "k"}], "and so does a"),
        ([{"id": "a"}, {"id": "b", "context_key": "a"}], "and so does a"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_field_that_would_count_for_nothing_is_found(steps: list[dict[str, Any]], says: str) -> None:
    (finding,) = idle_fields(Plan.model_validate({"steps": steps}), REGISTRY)
    assert says in finding.message


def test_fields_that_count_are_no_finding() -> None:
    call = {"id": "b", "capability": "orders.count", "tool_hints": ["orders.count"], "timeout_s": 3}
    steps = [{**AGENT, "approval_mode": "read_only", "model_hint": "reasoning"}, call]
    assert list(idle_fields(Plan.model_validate({"steps": steps}), REGISTRY)) == []
