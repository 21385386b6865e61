"""A short form of `corruptions`, and a judge that sees what must not come about."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import corruptions
from benchmarks.canary_class import CANARY
from benchmarks.corruptions import GOOD, UNAPPROVED, World
from benchmarks.damage import DAMAGES
from tests.sampling import examples

SEEDS = range(examples(4) * len(DAMAGES))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("corruptions")


@pytest.fixture(scope="module")
def world(place: Path) -> World:
    return corruptions.build_world(place)


def test_the_whole_store_is_healthy_and_its_run_waits(world: World) -> None:
    codes = {name: code for name, (code, _) in world.answers.items()}
    assert codes == {"check": 0, "ls": 0, "show": 0, "show waiting": 0, "resume": 3}


@pytest.mark.long
def test_each_damage_is_told_of_or_does_no_harm(world: World, place: Path) -> None:
    trials = corruptions.sweep(world, place, list(SEEDS))
    assert {trial.kind for trial in trials} == set(DAMAGES)
    assert [trial for trial in trials if trial.outcome not in (*GOOD, "unseen")] == []
    assert sum(trial.outcome == "detected" for trial in trials) > len(SEEDS) / 4


def test_the_judge_sees_code_that_was_run(world: World, tmp_path: Path) -> None:
    (tmp_path / CANARY).write_text("pickle")
    assert corruptions.judge(world, tmp_path, {})[0] == "code run"


def test_the_judge_sees_an_effect_that_nobody_approved(world: World, tmp_path: Path) -> None:
    (tmp_path / UNAPPROVED).write_text("hi")
    assert corruptions.judge(world, tmp_path, {})[0] == "unapproved effect"


def test_the_judge_sees_a_traceback_and_an_answer_that_nothing_tells_of(world: World, tmp_path: Path) -> None:
    same = {name: (code, out, "") for name, (code, out) in world.answers.items()}
    assert corruptions.judge(world, tmp_path, same)[0] == "harmless"
    assert corruptions.judge(world, tmp_path, {**same, "ls": (0, "[]", "")}) == ("unseen", "ls")
    assert corruptions.judge(world, tmp_path, {**same, "ls": (1, "", "Traceback\nboom")})[0] == "traceback"
