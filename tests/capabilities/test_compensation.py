"""A compensation is refused where it is declared wrongly, and filled in from the record and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from planwright.capabilities.compensation import filled_in
from planwright.capabilities.compensation_check import check_compensations
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.capabilities.registry import Registry
from planwright.domain.errors import CapabilityRejected, SetupError
from planwright.domain.plan import Compensation


class Order(BaseModel):
    """What was ordered."""

    id: int
    lines: list[str] = []


def order(what: str) -> Order:
    """Order something."""
    return Order(id=1)


def remove(id: int, note: str = "") -> bool:
    """Take an order back."""
    return True


def declared(params: dict[str, Any], by: str = "order.remove", **more: Any) -> Capability:
    given = {"mode": "local_write", **more}
    return capability("order.make", compensation=Compensation(capability=by, params=params), **given)(order)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"id": "{{output.number}}"}, "order.make returns no 'number'"),
        ({"id": "{{input.who}}"}, "order.make takes no 'who'"),
        ({"id": "{{steps.s1.output.id}}"}, "is neither {{input.…}} nor {{output.…}}"),
        ({"id": "{{ output id }}"}, "is neither {{input.…}} nor {{output.…}}"),
        ({"id": ["{{output.id}}", "{{output"]}, "is neither {{input.…}} nor {{output.…}}"),
    ],
    ids=["no such result", "no such argument", "a step", "malformed", "never closed"],
)
def test_a_template_that_nothing_could_fill_in_is_refused_at_import(
    params: dict[str, Any], said: str
) -> None:
    with pytest.raises(SetupError) as refused:
        declared(params)
    assert said in refused.value.cause


def test_what_changes_nothing_cannot_be_undone() -> None:
    with pytest.raises(SetupError, match="changes nothing: it cannot be undone"):
        declared({"id": "{{output.id}}"}, mode="read_only")


@pytest.mark.parametrize(
    ("params", "by", "said"),
    [
        ({"id": "{{output.id}}"}, "order.lose", "there is no capability 'order.lose'"),
        ({"id": "{{output.id}}"}, "order.look", "order.look changes nothing"),
        ({}, "order.remove", "order.remove: id: field required"),
        ({"id": "first"}, "order.remove", "order.remove: id: input should be a valid integer"),
        ({"id": "{{output.id}}", "who": "me"}, "order.remove", "who: extra inputs are not permitted"),
    ],
    ids=["not there", "pure", "missing", "wrong type", "too many"],
)
def test_a_call_that_could_not_be_made_is_refused_at_start(
    params: dict[str, Any], by: str, said: str
) -> None:
    removing = capability("order.remove", mode="local_write")(remove)
    looking = capability("order.look", mode="read_only")(remove)
    with pytest.raises(SetupError) as refused:
        check_compensations(Registry([declared(params, by), removing, looking]))
    assert said in refused.value.cause


def test_what_would_be_undone_by_something_prohibited_is_no_mistake() -> None:
    removing = capability("order.remove", mode="local_write")(remove)
    for prohibit in ("order.remove", "order.rem*"):
        check_compensations(
            Registry([declared({"id": "{{output.id}}"}, "order.remove"), removing], [prohibit])
        )


@pytest.mark.parametrize(
    ("params", "filled"),
    [
        ({"id": "{{output.id}}"}, {"id": 7}),
        ({"id": 1, "note": "{{input.what}} {{output.id}}"}, {"id": 1, "note": "tea 7"}),
        ({"all": "{{output.lines}}", "one": "{{output.lines[1]}}"}, {"all": ["a", "b"], "one": "b"}),
        ({"whole": "{{output}}", "asked": "{{input}}"}, {"whole": "…", "asked": {"what": "tea"}}),
        ({"plain": "tea"}, {"plain": "tea"}),
    ],
    ids=["a value and its type", "in a text", "a path", "whole", "none"],
)
def test_a_compensation_is_filled_in_from_the_record(params: dict[str, Any], filled: dict[str, Any]) -> None:
    output: Any = {"id": 7, "lines": ["a", "b"]}
    wanted = {name: output if value == "…" else value for name, value in filled.items()}
    given = Compensation(capability="x", params=params)
    assert filled_in(given, {"what": "tea"}, (output,)) == wanted


@pytest.mark.parametrize(
    ("params", "args", "output", "said"),
    [
        ({"id": "{{output.id}}"}, {}, None, "its result, which nobody knows"),
        ({"id": "{{output.id}}"}, {}, ({},), "leads nowhere"),
        ({"id": "{{input.what}}"}, {"what": "{{output.id}}"}, ({"id": 1},), "read as a reference"),
        ({"id": "{{output.id}}"}, {}, ({"id": "{{steps.a.output"},), "read as a reference"),
    ],
    ids=["in doubt", "not in the record", "an argument like a reference", "a result like one"],
)
def test_what_the_record_does_not_tell_is_not_made_up(
    params: dict[str, Any], args: dict[str, Any], output: Any, said: str
) -> None:
    with pytest.raises(CapabilityRejected, match=said):
        filled_in(Compensation(capability="x", params=params), args, output)


def test_an_effect_in_doubt_is_undone_by_its_arguments() -> None:
    given = Compensation(capability="x", params={"id": "{{input.id}}"})
    assert filled_in(given, {"id": 3}, None) == {"id": 3}


@pytest.mark.parametrize("spelling", ["capability", "tool", "toolName"])
def test_the_spellings_of_the_seeds_are_read(spelling: str) -> None:
    read: Callable[[object], Compensation] = Compensation.model_validate
    assert read({spelling: "order.remove", "arguments": {"id": 1}}).params == {"id": 1}
