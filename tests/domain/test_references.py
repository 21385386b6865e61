"""References: typed, one pass, dicts and lists only."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from planwright.domain.errors import CapabilityRejected
from planwright.domain.references import (
    NothingFound,
    has_reference,
    malformed_references,
    resolve,
    resolve_params,
    step_references,
)

OUTPUT: dict[str, Any] = {
    "text": "hello",
    "count": 3,
    "ratio": 0.5,
    "yes": True,
    "nothing": None,
    "list": [{"id": 7}, [1, 2]],
    "map": {"a-b": {"c": "deep"}, "0": "zero as a key"},
    "trap": "{{steps.s1.output.text}} and {{input.request}}",
    "ümlaut": "ok",
}
SCOPE: dict[str, JsonValue] = {"steps": {"s1": {"output": OUTPUT}}, "input": {"request": "do it"}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{steps.s1.output.text}}", "hello"),
        ("{{ steps.s1.output.text }}", "hello"),
        ("  {{steps.s1.output.count}}\n", 3),
        ("{{steps.s1.output.ratio}}", 0.5),
        ("{{steps.s1.output.yes}}", True),
        ("{{steps.s1.output.nothing}}", None),
        ("{{steps.s1.output.list}}", [{"id": 7}, [1, 2]]),
        ("{{steps.s1.output.list.0.id}}", 7),
        ("{{steps.s1.output.list[0].id}}", 7),
        ("{{steps.s1.output.list[1][1]}}", 2),
        ("{{steps.s1.output.map.a-b}}", {"c": "deep"}),
        ("{{steps.s1.output.map.0}}", "zero as a key"),
        ("{{steps.s1.output.ümlaut}}", "ok"),
        ("{{steps.s1.output}}", OUTPUT),
        ("{{input.request}}", "do it"),
    ],
)
def test_a_string_that_is_one_reference_keeps_the_type(text: str, expected: JsonValue) -> None:
    found = resolve(text, SCOPE)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Say {{steps.s1.output.text}}!", "Say hello!"),
        ("{{steps.s1.output.count}}/{{steps.s1.output.ratio}}", "3/0.5"),
        ("n: {{steps.s1.output.nothing}}", "n: null"),
        ("l: {{steps.s1.output.list}}", 'l: [{"id":7},[1,2]]'),
        ("no reference {here} or {{ }} there", "no reference {here} or {{ }} there"),
    ],
)
def test_references_inside_a_text_become_text(text: str, expected: str) -> None:
    assert resolve(text, SCOPE) == expected


def test_references_are_found_at_any_depth_and_never_in_keys() -> None:
    value: JsonValue = {
        "a": [{"b": "{{steps.s1.output.count}}"}],
        "{{input.request}}": 1,
        "n": None,
        "t": True,
    }
    assert resolve(value, SCOPE) == {"a": [{"b": 3}], "{{input.request}}": 1, "n": None, "t": True}


def test_what_a_reference_brings_in_is_not_read_for_references() -> None:
    trap = "{{steps.s1.output.text}} and {{input.request}}"
    assert resolve("{{steps.s1.output.trap}}", SCOPE) == trap
    assert resolve("<{{steps.s1.output.trap}}>", SCOPE) == f"<{trap}>"


def test_a_reference_cannot_be_put_together_from_pieces() -> None:
    scope: dict[str, JsonValue] = {
        "input": {"open": "{{", "middle": "input.request", "close": "}}", "request": "x"}
    }
    assert resolve("{{input.open}}{{input.middle}}{{input.close}}", scope) == "{{input.request}}"


@pytest.mark.parametrize(
    "reference",
    [
        "steps.s2.output",
        "steps.s1.output.missing",
        "steps.s1.output.list.2",
        "steps.s1.output.list.-1",
        "steps.s1.output.list.first",
        "steps.s1.output.list.²",
        "steps.s1.output.list.٣",
        "steps.s1.output.list.0.id.real",
        "steps.s1.output.text.0",
        "steps.s1.output.text.upper",
        "steps.s1.output.text.__class__",
        "steps.s1.output.__class__",
        "steps.s1.output.map.__len__",
        "steps.s1.output.count.real",
        "steps.s1.output.map.items",
        "steps.__class__.__mro__",
        "input.__init__.__globals__",
        "__builtins__",
        "steps..s1",
        "steps.s1.output.",
    ],
)
@pytest.mark.parametrize("form", ["{{{{{0}}}}}", "text {{{{{0}}}}}"], ids=["alone", "in a text"])
def test_a_reference_that_leads_nowhere_is_rejected(reference: str, form: str) -> None:
    with pytest.raises(CapabilityRejected, match="leads nowhere"):
        resolve(form.format(reference), SCOPE)


def test_resolving_leaves_the_arguments_as_they_were() -> None:
    params: dict[str, JsonValue] = {"a": ["{{steps.s1.output.count}}"]}
    resolve(params, SCOPE)
    assert params == {"a": ["{{steps.s1.output.count}}"]}


def test_the_steps_that_arguments_refer_to_are_listed_once_in_order() -> None:
    params: dict[str, JsonValue] = {
        "x": "{{steps.b.output.v}} {{steps.a.output}}",
        "y": [{"z": "{{ steps.b.output.w }}"}, "{{input.request}}", "{{steps}}"],
    }
    assert step_references(params) == ("b", "a")


@pytest.mark.parametrize(
    ("text", "malformed"),
    [
        ("{{steps.s1.output.a}}", ()),
        ("{{steps.s1.output}}", ()),
        ("{{input.request}}", ()),
        ("plain {text}", ()),
        ("{{steps.s1}}", ("{{steps.s1}}",)),
        ("{{steps.s1.result.a}}", ("{{steps.s1.result.a}}",)),
        ("{{s1.output}}", ("{{s1.output}}",)),
        ("a {{ 1 + 1 }} b {{input.x}}", ("{{ 1 + 1 }}",)),
        ("{{\n}}", ("{{\n}}",)),
        ("{{steps.s1.output | upper}}", ("{{steps.s1.output | upper}}",)),
    ],
)
def test_double_braces_that_are_no_reference_are_listed(text: str, malformed: tuple[str, ...]) -> None:
    assert malformed_references({"a": [text]}) == malformed


def test_a_value_knows_whether_it_refers_to_anything() -> None:
    assert has_reference({"a": [{"b": "x {{steps.s1.output}}"}]})
    assert not has_reference({"a": [{"b": "{{ }}"}], "{{steps.s1.output}}": 1})


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=100, database=None, deadline=None)
@given(value=_JSON, path=st.text(max_size=12))
def test_resolving_returns_or_rejects_and_nothing_else(value: Any, path: str) -> None:
    scope: dict[str, JsonValue] = {"input": value}
    params: dict[str, JsonValue] = {"a": f"{{{{input.{path}}}}}", "b": value, "c": "{{input}}"}
    with suppress(CapabilityRejected):
        assert set(resolve(params, scope)) == {"a", "b", "c"}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reference", "scope", "says"),
    [
        (
            "{{steps.s1.output.found[0].text}}",
            {"steps": {"s1": {"output": {"found": []}}}},
            "nothing was found by s1",
        ),
        ("{{previous_result.0}}", {"previous_result": []}, "nothing was found ("),
    ],
)
def test_an_item_of_an_empty_list_is_nothing_found(
    reference: str, scope: dict[str, JsonValue], says: str
) -> None:
    with pytest.raises(NothingFound, match=re.escape(says)):
        resolve(reference, scope)
    args: dict[str, JsonValue] = {"whole": reference, "within": f"It is {reference}."}
    assert resolve_params(args, scope, empty=True) == {"whole": None, "within": "It is ."}


@pytest.mark.parametrize(
    "reference", ["{{found.1}}", "{{none.first}}", "{{text.0}}", "{{object.0}}", "{{no.0}}"]
)
def test_no_other_reference_that_leads_nowhere_is(reference: str) -> None:
    scope: dict[str, JsonValue] = {"found": ["a"], "none": [], "text": "", "object": {}}
    with pytest.raises(CapabilityRejected, match="leads nowhere") as refused:
        resolve(reference, scope)
    assert not isinstance(refused.value, NothingFound)
    with pytest.raises(CapabilityRejected, match="leads nowhere"):
        resolve_params({"a": reference}, scope, empty=True)
