"""A short form of `templates`: hostile templates, and a sweep that sees what is wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import template_oracle, templates, watched


@pytest.fixture
def workshop(tmp_path: Path) -> templates.Workshop:
    return templates.workshop_in(tmp_path)


def row(name: str) -> templates.Row:
    return next(row for row in templates.written_rows() if row.name == name)


@pytest.mark.long
def test_no_written_template_becomes_what_it_should_not(workshop: templates.Workshop) -> None:
    count, failures = templates.check_written(workshop)
    assert count >= 150
    assert failures == []


def test_no_random_template_becomes_what_it_should_not(workshop: templates.Workshop) -> None:
    assert templates.fuzz(1000, 7, workshop) == []
    assert workshop.made > 20


@pytest.mark.parametrize(
    "wrong",
    [
        replace(row("type 1"), becomes="3"),
        replace(row("type 1"), refused=True),
        replace(row("second pass 1"), becomes=watched.CANARY),
        replace(row("root 6"), refused=False),
        replace(row("jinja 4"), made=True),
    ],
    ids=["another type", "not refused", "a second pass", "leads nowhere", "not for a chain"],
)
def test_what_differs_from_what_is_written_is_a_failure(
    wrong: templates.Row, workshop: templates.Workshop
) -> None:
    assert templates.wrong_with_row(wrong, workshop)


def test_a_look_at_an_attribute_is_told() -> None:
    _, scope = watched.scope()
    with pytest.raises(watched.Looked):
        _ = scope["input"].items
    with pytest.raises(watched.Looked):
        _ = scope["input"]["thing"].secret
    assert scope["input"]["text"] == "hello"


def test_the_oracle_refuses_what_leads_nowhere() -> None:
    plain, _ = watched.scope()
    with pytest.raises(template_oracle.Refused):
        template_oracle.expected("{{input.nothing}}", plain)
