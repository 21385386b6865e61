"""Reading an edited plan as the next revision, and telling what it changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planwright.approvals.edit import MAX_EDIT, read_edit
from planwright.domain.errors import GateError
from planwright.domain.plan import Plan
from planwright.domain.plan_diff import changes, needs_of
from tests.sampling import examples

RICH: dict[str, Any] = {
    "context_key": "found",
    "expected_output": "messages",
    "success_criteria": {"cel": "output.count > 0"},
    "estimated_risk": "Medium",
    "approval_mode": "network",
    "on_failed_dependency": "skip",
    "timeout_s": 5.0,
}


def step(id_: str, *after: str, capability: str = "a.b", **more: Any) -> dict[str, Any]:
    return {"id": id_, "capability": capability, "params": {"name": id_}, "depends_on": list(after), **more}


def plan(*steps: dict[str, Any], **more: Any) -> Plan:
    closing = {"id": "end", "capability": "respond", "depends_on": [entry["id"] for entry in steps]}
    return Plan.model_validate({"plan_id": "plan_1", "goal": "g", "steps": [*steps, closing], **more})


def shown(base: Plan) -> dict[str, Any]:
    """Show a plan as its gate would, as far as reading an edit goes."""
    needs = needs_of(base)
    steps = [
        {"id": s.id, "capability": s.capability, "description": s.description}
        | {"params": dict(s.params), "after": list(needs[s.id]), "risk": "Low", "mode": "network"}
        for s in base.work
    ]
    return json.loads(json.dumps({"goal": base.goal, "plan_id": "plan_1", "revision": 1, "steps": steps}))  # type: ignore[no-any-return]


CRITERION = '{"cel": "output.count > 0", "rubric": null}'
BASE = plan(step("a", **RICH), step("b", "a"), step("c", inputs=["found"]))


def edit(change: Any) -> Plan:
    card = shown(BASE)
    change(card)
    return read_edit(card, BASE, shown(BASE))


def test_what_is_sent_back_as_it_was_is_the_same_plan_as_the_next_revision() -> None:
    same = edit(lambda card: None)
    assert (same.plan_hash, same.plan_id, same.revision) == (BASE.plan_hash, "plan_1", 2)
    assert changes(BASE, same) == []


def test_a_changed_step_keeps_what_is_not_shown() -> None:
    found = edit(lambda card: card["steps"][0].update(params={"name": "x"}))
    assert found.steps[0].model_dump(mode="json") == {
        **BASE.steps[0].model_dump(mode="json"),
        "params": {"name": "x"},
    }
    assert changes(BASE, found) == ['changed a params.name: "a" → "x"']


@pytest.mark.parametrize(
    ("field", "value", "line"),
    [
        ("capability", "c.d", "changed a capability: a.b → c.d"),
        ("tool", "c.d", "changed a capability: a.b → c.d"),
        ("description", "why", 'changed a description: "" → "why"'),
        ("params", {}, 'changed a params.name: "a" → nothing'),
        ("params", {"name": {"x": 1}}, 'changed a params.name: "a" → {"x": 1}'),
        ("success_criteria", None, f"changed a success_criteria: {CRITERION} → null"),
        ("success_criteria", {"cel": "true"}, 'changed a success_criteria.cel: "output.count > 0" → "true"'),
        ("estimated_risk", "Low", 'changed a estimated_risk: "Medium" → "Low"'),
        ("approval_mode", None, 'changed a approval_mode: "network" → null'),
        ("on_failed_dependency", "partial", 'changed a on_failed_dependency: "skip" → "partial"'),
        ("timeout_s", 6, "changed a timeout_s: 5.0 → 6.0"),
        ("expected_output", "", 'changed a expected_output: "messages" → ""'),
    ],
)  # fmt: skip
def test_every_field_of_a_step_can_be_changed_and_is_told(field: str, value: Any, line: str) -> None:
    def change(card: dict[str, Any]) -> None:
        if field == "tool":
            del card["steps"][0]["capability"]
        card["steps"][0][field] = value

    assert changes(BASE, edit(change)) == [line]


def test_a_decision_that_is_added_or_left_out_is_a_change() -> None:
    checkpoint = {"decision_id": "may it be copied", "after_step": "a"}
    more = edit(lambda card: card.update(decision_checkpoints=[checkpoint]))
    assert changes(BASE, more) == ['added decision "may it be copied" after a']
    assert changes(more, BASE) == ['removed decision "may it be copied" after a']
    assert changes(more, more) == []


def test_waits_are_told_however_they_are_declared() -> None:
    assert needs_of(BASE)["c"] == ("a",)
    found = edit(lambda card: card["steps"][2].update(after=["a", "b"]))
    assert changes(BASE, found) == ["changed c after: a → a, b"]
    found = edit(lambda card: card["steps"][1].update(params={"name": "{{steps.c.output.text}}"}))
    assert changes(BASE, found)[:2] == [
        'changed b params.name: "b" → "{{steps.c.output.text}}"',
        "changed b after: a → a, c",
    ]


def test_another_call_does_not_inherit_what_was_said_of_the_first() -> None:
    base = plan(step("a", description="Save it"))
    card = shown(base)
    card["steps"][0] = {"id": "a", "capability": "c.d", "params": {}}
    assert read_edit(card, base, shown(base)).steps[0].description == ""


def test_a_wait_that_was_only_a_reference_is_kept_when_the_reference_goes() -> None:
    base = plan(step("a"), step("b", params={"name": "{{steps.a.output.text}}"}))
    card = shown(base)
    card["steps"][1]["params"] = {"name": "plain"}
    found = read_edit(card, base, shown(base))
    assert needs_of(found)["b"] == ("a",)


def test_a_removed_step_is_gone_from_the_closing_words_too() -> None:
    base = plan(step("a"), step("b"))
    closing = {"id": "end", "capability": "respond", "depends_on": ["a", "b"]}
    base = Plan.model_validate(
        {
            **base.model_dump(),
            "steps": [step("a"), step("b"), {**closing, "params": {"t": "{{steps.b.output.x}}"}}],
        }
    )
    card = shown(base)
    del card["steps"][1]
    found = read_edit(card, base, shown(base))
    assert (found.steps[-1].depends_on, found.steps[-1].params) == (("a",), {})


def test_moved_steps_are_named_once() -> None:
    base = plan(*(step(name) for name in "abcde"))
    card = shown(base)
    card["steps"].insert(1, card["steps"].pop())
    assert changes(base, read_edit(card, base, shown(base))) == ["moved e behind a"]


AGENTIC = {"id": "x", "description": "find it", "tool_hints": ["a.b"], "depends_on": []}


def agentic_edit(**fields: Any) -> tuple[Plan, list[str]]:
    """Edit a step that a model does with a tool, as the gate shows it."""
    base = plan(AGENTIC)
    card = shown(base)
    card["steps"][0] |= {"capability": "agent", "params": {"tools": ["a.b"]}} | fields
    found = read_edit(card, base, shown(base))
    return found, changes(base, found)


def test_a_step_shown_as_an_agent_is_read_as_one() -> None:
    assert agentic_edit()[1] == []
    found, told = agentic_edit(params={"tools": ["a.b", "c.d"]})
    assert told == ['changed x tool_hints: ["a.b"] → ["a.b", "c.d"]']
    assert (found.steps[0].capability, found.steps[0].params) == (None, {})


def test_an_agent_can_be_edited_into_one_call() -> None:
    found, told = agentic_edit(capability="a.b", params={"name": "x"})
    assert not found.steps[0].agentic
    assert told[:2] == ["changed x capability: agent → a.b", 'changed x params.name: nothing → "x"']


def test_one_call_can_be_edited_into_an_agent() -> None:
    found = edit(lambda card: card["steps"][1].update(capability="agent", params={"tools": ["a.b"]}))
    assert (found.steps[1].agentic, found.steps[1].tool_hints) == (True, ("a.b",))


def test_tools_given_twice_are_refused() -> None:
    with pytest.raises(GateError, match="its tools twice"):
        agentic_edit(tool_hints=["c.d"])


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        (None, "the plan is no object"),
        ([], "the plan is no object"),
        ({}, "no list `steps`"),
        ({"steps": None}, "no list `steps`"),
        ({"steps": [{}]}, "id: field required"),
        ({"steps": [{"id": ""}]}, "at least 1 character"),
        ({"steps": [{"id": "a", 1: 2}]}, "no field 1"),
        ({"steps": [{"id": "a", "depends_on": [], "after": []}]}, "both `after` and `depends_on`"),
        ({"steps": [{"id": "a", "after": [["b"]]}]}, "`after` is a list of step ids"),
        ({"steps": [{"id": "a", "timeout_s": -1}]}, "greater than 0"),
        ({"steps": [{"id": "new", "capability": "a.b", "risk": "None"}]}, "`risk` follows from the rest"),
        ({"steps": [{"id": "end", "capability": "respond"}]}, "no step that does anything"),
        ({"steps": [{"id": "a", "params": {"name": "x" * MAX_EDIT}}]}, "bytes long"),
        ({"steps": [{"id": "a"}], "goal": None}, "goal: input should be a valid string"),
    ],
    ids=lambda value: ascii(value)[:60],
)
def test_what_is_no_edit_says_why(given: Any, cause: str) -> None:
    with pytest.raises(GateError) as refused:
        read_edit(given, BASE, shown(BASE))
    assert cause in refused.value.cause
    assert refused.value.next_step
    assert len(refused.value.cause) < 300


def test_a_value_nested_without_end_is_refused() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(GateError):
        read_edit({"steps": [{"id": "a", "params": {"name": deep}}]}, BASE, shown(BASE))


FIELDS = st.sampled_from(
    ["id", "capability", "params", "after", "depends_on", "steps", "goal", "inputs", "risk", "plan_id"]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["a", "b", "a.b"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | FIELDS, inner, max_size=5),
    max_leaves=10,
)


@settings(max_examples=examples(400), deadline=None)
@given(
    st.dictionaries(FIELDS, ANYTHING)
    | st.fixed_dictionaries({"steps": st.lists(st.dictionaries(FIELDS, ANYTHING))})
)
def test_whatever_is_sent_is_a_revision_or_refused(given_: Any) -> None:
    try:
        found = read_edit(given_, BASE, shown(BASE))
    except GateError:
        return
    assert (found.plan_id, found.revision) == (BASE.plan_id, 2)
