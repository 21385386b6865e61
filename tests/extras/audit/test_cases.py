"""Cases: the outline of a plan does not depend on its planner's ids, and each kind of difference is seen."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from planwright.domain.errors import RunError, SetupError
from planwright.domain.plan import Plan
from planwright.domain.verified_step import VerifiedStep
from planwright.extras.audit.cases import (
    Case,
    OutlinedStep,
    case_of,
    compare_plan,
    load_cases,
    outline,
    save_case,
)

pytestmark = pytest.mark.sqlite  # its stores last longer than a test

Entry = tuple[str, str, dict[str, Any], list[str]]
READ: Entry = ("a", "files.read", {"path": "x"}, [])
POST: Entry = ("b", "channel.post", {"text": "{{steps.a.output.text}}"}, ["a"])


def outlined(*entries: Entry, asks: bool = True) -> tuple[OutlinedStep, ...]:
    steps = [
        {"id": id_, "capability": name, "params": params, "depends_on": after, "description": id_}
        for id_, name, params, after in entries
    ]
    plan = Plan.model_validate({"plan_id": "p", "goal": "g", "steps": steps})
    checked = [
        VerifiedStep(
            step=step,
            uid=step.id,
            needs=(),
            effect="idempotent",
            mode="local_write",
            risk="Medium",
            gated=False,
            asks=asks,
        )
        for step in plan.steps
    ]
    return outline(plan, checked)


def case(*entries: Entry, **options: Any) -> Case:
    return Case(request="Do it", plan=outlined(*entries, **options))


def renamed(*entries: Entry) -> list[Entry]:
    """Give steps other ids, and list them in another order."""
    new = [
        (
            f"x{id_}",
            name,
            {key: value.replace("steps.", "steps.x") for key, value in params.items()},
            [f"x{n}" for n in after],
        )
        for id_, name, params, after in entries
    ]
    return new[::-1]


def test_ids_and_order_of_a_plan_do_not_count() -> None:
    twin: Entry = ("c", "files.read", {"path": "y"}, [])
    both: Entry = ("d", "files.write", {"path": "z", "text": "{{steps.b.output}}"}, ["b", "c", "a"])
    entries = [READ, POST, twin, both]
    assert compare_plan(case(*entries), outlined(*renamed(*entries))) == ("same", "")
    names = [step.name for step in outlined(*entries)]
    assert names == ["s1", "s2", "s3", "s4"]


def test_an_edge_that_follows_from_others_does_not_count() -> None:
    last: Entry = ("c", "files.write", {"path": "z"}, ["b"])
    more: Entry = ("c", "files.write", {"path": "z"}, ["b", "a"])
    assert compare_plan(case(READ, POST, last), outlined(READ, POST, more)) == ("same", "")


@pytest.mark.parametrize(
    ("entries", "options", "outcome", "why"),
    [
        ([READ], {}, "other plan", "files.read, not files.read → channel.post"),
        ([READ, ("b", "channel.post", {"text": "hi"}, [])], {}, "other plan", "channel.post → files.read"),
        ([READ, ("b", "mail.send", POST[2], ["a"])], {}, "other plan", "mail.send"),
        ([("a", "files.read", {"path": "y"}, []), POST], {}, "other arguments", "path is 'y', not 'x'"),
        ([READ, POST], {"asks": False}, "asks less", "nobody is asked about s1 files.read any more"),
        ([], {}, "other plan", "nothing is called"),
    ],
)
def test_what_differs_is_named(entries: list[Entry], options: Any, outcome: str, why: str) -> None:
    now = outlined(*entries, **options) if entries else ()
    seen, where = compare_plan(case(READ, POST), now)
    assert seen == outcome
    assert why in where


def test_what_a_step_takes_by_its_key_is_waited_for() -> None:
    search = {"id": "a", "capability": "mail.search", "context_key": "mails"}
    read: dict[str, Any] = {"id": "b", "description": "sum up", "tool_hints": ["text.summarize"]}
    plans = [Plan.model_validate({"steps": [search, read | more]}) for more in ({"inputs": ["mails"]}, {})]
    by_key, apart = (outline(plan, []) for plan in plans)
    assert [len(step.after) for step in by_key] == [0, 1]
    assert compare_plan(Case(request="x", plan=by_key), apart)[0] == "other plan"


def test_a_condition_counts_whatever_its_step_is_called() -> None:
    def plan(id_: str, when: str) -> tuple[OutlinedStep, ...]:
        read = {"id": id_, "capability": "files.read", "params": {"path": "x"}}
        post = {"id": "b", "capability": "channel.post", "params": {"text": "x"}, "depends_on": [id_]}
        return outline(Plan.model_validate({"steps": [read, {**post, "when": when}]}), [])

    before = Case(request="Do it", plan=plan("a", "steps.a.output.size > 1"))
    assert compare_plan(before, plan("z", "steps.z.output.size > 1")) == ("same", "")
    for other in ("", "steps.z.output.size > 2"):
        assert compare_plan(before, plan("z", other))[0] == "other arguments"


def test_a_value_of_another_type_is_another_argument() -> None:
    now = outlined(("a", "files.read", {"line": True}, []))
    assert compare_plan(case(("a", "files.read", {"line": 1}, [])), now)[0] == "other arguments"


def test_who_asks_more_has_the_same_plan() -> None:
    assert compare_plan(case(READ, asks=False), outlined(READ)) == ("same", "")


def test_a_case_is_made_of_the_plan_that_was_approved(
    store: sqlite3.Connection, run_id: str, tmp_path: Path
) -> None:
    case = case_of(store, run_id)
    assert case.run_id == run_id
    assert case.plan
    save_case(tmp_path, "first", case)
    assert load_cases(tmp_path) == {"first": case}
    with pytest.raises(SetupError, match="there is a case first already"):
        save_case(tmp_path, "first", case)
    with pytest.raises(SetupError, match="there is no case other"):
        load_cases(tmp_path, ["other"])
    (tmp_path / "evals" / "bad.json").write_text("{}")
    with pytest.raises(SetupError, match="is no case"):
        load_cases(tmp_path)


def test_a_plan_that_nobody_approved_is_no_case(store: sqlite3.Connection, run_id: str) -> None:
    store.execute("UPDATE gates SET status = 'rejected'")
    with pytest.raises(RunError, match="nobody has approved a plan"):
        case_of(store, run_id)
