"""A plan as text: what is written is read back, and what would be misread is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planwright.domain.errors import GateError
from planwright.domain.plan import Plan
from planwright.presentation.plan_text import format_yaml, parse_plan, plan_for_editor
from tests.sampling import examples

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
    | st.sampled_from(["no", "12:30", "2026-11-21", "007", "1e3", "~", "True", "<<", "1_000", "- a", "a: b"])
)
VALUES = st.recursive(SCALARS, lambda v: st.lists(v) | st.dictionaries(TEXT, v), max_leaves=12)


@settings(max_examples=examples(300), deadline=None)
@given(VALUES)
def test_what_is_written_is_read_back(value: Any) -> None:
    found = parse_plan(f"# a comment\n{format_yaml({'value': value})}")
    assert repr(found) == repr({"value": value})


def test_what_yaml_makes_of_dates_times_and_norway_stays_text() -> None:
    assert parse_plan("a: 2026-11-21\nb: 12:30\nc: no\nd: 010\ne: 10\nf: 1.5\ng: true\nh:") == {
        "a": "2026-11-21", "b": "12:30", "c": "no", "d": "010", "e": 10, "f": 1.5, "g": True, "h": None,
    }  # fmt: skip


@pytest.mark.parametrize("hidden", ["\u202e", "\u2066", "\u200b", "\x1b[2K", "\x07", "\u2028"], ids=ascii)
def test_what_would_not_show_in_an_editor_is_written_as_an_escape(hidden: str) -> None:
    text = format_yaml({"path": f"a{hidden}b"})
    assert hidden not in text
    assert parse_plan(text) == {"path": f"a{hidden}b"}


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("steps: []\nsteps: []", "line 2: 'steps' stands there twice"),
        ('{"a": 1, "a": 2}', "'a' stands there twice"),
        ("a: &x [1]\nb: *x", "line 2: aliases are not read"),
        ("a: [1", "line 1"),
        ("{", "line 1"),
        ("a: !!python/object:os.system x", "could not determine a constructor"),
        ("a: \x00", "special characters are not allowed"),
        ("[" * 5000, "cannot be read"),
    ],
    ids=["key twice", "key twice in JSON", "alias", "open list", "open object", "tag", "control", "deep"],
)
def test_a_text_that_cannot_be_read_says_where(text: str, cause: str) -> None:
    with pytest.raises(GateError, match="the edited plan cannot be read") as refused:
        parse_plan(text)
    assert cause in refused.value.cause


def test_an_editor_shows_what_a_gate_shows_and_what_else_is_set() -> None:
    step = {"id": "s1", "capability": "a.b", "params": {"text": "x\ny\n"}, "timeout_s": 5}
    plan = Plan.model_validate({"steps": [step, {"id": "r", "capability": "respond"}]})
    seen = {"id": "s1", "capability": "a.b", "description": "", "params": {"text": "x\ny\n"}, "after": []}
    shown = {"goal": "g", "steps": [{**seen, "risk": "Low", "mode": "read_only"}]}
    text = plan_for_editor(plan.model_dump(mode="json"), shown, "gate_1")
    assert parse_plan(text) == {"goal": "g", "steps": [{**seen, "timeout_s": 5}]}
    assert "    text: |\n      x\n      y\n" in text


def test_an_editor_shows_what_a_step_asks_of_its_model() -> None:
    plan = Plan.model_validate(
        {
            "goal": "g",
            "steps": [{"id": "s1", "tool_hints": ["mail.search"], "modelHint": {"code": "preferred"}}],
        }
    )
    step = {"id": "s1", "capability": "agent", "description": "", "params": {}, "after": []}
    written = plan_for_editor(plan.model_dump(mode="json"), {"goal": "g", "steps": [step]}, "gate_1")
    edited: Any = parse_plan(written)
    assert edited["steps"][0]["model_hint"] == {"requires_code": "preferred"}
