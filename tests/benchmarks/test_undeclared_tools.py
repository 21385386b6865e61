"""Tasks over functions that say nothing of what they may do, a few of them; what goes wrong is seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.undeclared_clinic import clinic
from benchmarks.undeclared_clinic_tasks import TASKS, WANTED
from benchmarks.undeclared_library import library
from benchmarks.undeclared_library_tasks import TASKS as LIBRARY_TASKS
from benchmarks.undeclared_library_tasks import WANTED as LIBRARY_WANTED
from benchmarks.undeclared_model import Task, World, call, task
from benchmarks.undeclared_stage import WAYS, Office, Outcome, Person, figures, play

ALL = {**WANTED, **LIBRARY_WANTED, "see_in": "see somebody in"}


def played(
    folder: Path, *tasks: Task, opened: Callable[[], World] = clinic, person: Person | None = None
) -> list[Outcome]:
    office = Office(folder, WAYS[0], ALL, person=person or Person())
    return [play(each, opened, office) for each in tasks]


def test_a_read_is_asked_for_once_and_an_effect_each_time(tmp_path: Path) -> None:
    outcomes = played(tmp_path, TASKS[5], TASKS[0], TASKS[5])
    assert [each.cards for each in outcomes] == [2, 0, 1]
    assert figures(outcomes) == {
        "tasks": 3,
        "planned": 0,
        "searched": 0,
        "named": 0,
        "had": 3,
        "doubts": 0,
        "cards": 3,
        "read_again": 0,
        "right_end": 3,
    }


def test_a_plan_asks_once_for_what_it_reads(tmp_path: Path) -> None:
    (outcome,) = played(tmp_path, LIBRARY_TASKS[18], opened=library)
    assert (outcome.planned, outcome.ended, outcome.read_again) == (1, ["completed"], [])
    assert not outcome.wrong


@pytest.mark.parametrize(
    ("spoiled", "field"),
    [
        (replace(TASKS[5], end={}), "different"),
        (replace(TASKS[5], end={"appointments.A2.status": "Status.ARRIVED"}), "different"),
        (replace(TASKS[0], told=("a time that nobody has",)), "untold"),
        (task("Check Tom in", call("see_in", name="Tom")), "missed"),
    ],
)
def test_a_task_that_ends_otherwise_is_seen(tmp_path: Path, spoiled: Task, field: str) -> None:
    (outcome,) = played(tmp_path, spoiled)
    assert getattr(outcome, field)
    assert figures([outcome])["had" if field == "missed" else "right_end"] == 0


def test_a_read_that_is_asked_for_again_is_seen(tmp_path: Path) -> None:
    class Forgetful(Person):
        """Says nothing of a tool for good, and thinks it has."""

        def decide(self, card: Any, reads: frozenset[str], outcome: Outcome) -> dict[str, Any]:
            super().decide(card, reads, outcome)
            return {"type": "approve"}

    outcomes = played(tmp_path, TASKS[0], TASKS[0], person=Forgetful())
    assert [each.read_again for each in outcomes] == [[], ["appointments_on"]]
