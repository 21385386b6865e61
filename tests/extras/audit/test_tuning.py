"""What a candidate would have changed is what people said of the runs; a proposal is a setting that loads."""

from __future__ import annotations

import sqlite3
import tomllib
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from planwright.extras.audit.tuning import PastRun, Score, best_of, past_runs, score_of
from planwright.extras.audit.tuning_views import proposal, with_setting
from planwright.settings.settings import load
from planwright.store.blobs import Blobs
from tests.scenarios.conftest import scene as scene
from tests.scenarios.conftest import stage as stage

pytestmark = pytest.mark.sqlite  # its stores last longer than a test

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

RUBRIC = {"success_criteria": "it is polite"}


def played(scene: Scene, decision: str, **settings: Any) -> list[PastRun]:
    """Run a step that nobody can judge, answer what is asked, and read what is on record."""
    agent = scene.agent(scene.plan(scene.step("s", "work.send", **RUBRIC)), "the answer", **settings)
    output = scene.ask(agent)
    while output["status"] == "interrupted":
        (gate,) = agent.get_state(scene.config).interrupts
        output = scene.decide(agent, decision if gate.value["kind"] == "escalation" else "approve")
    return past(scene)


def past(scene: Scene) -> list[PastRun]:
    folder = scene.workspace / ".planwright"
    with closing(sqlite3.connect(folder / "planwright.db")) as connection:
        connection.row_factory = sqlite3.Row
        return list(past_runs(connection, Blobs(folder / "blobs")))


def test_a_person_who_approved_would_not_be_asked(scene: Scene) -> None:
    runs = played(scene, "approve")
    assert score_of(runs, "critic.strictness", "High") == Score(spared=1)
    assert score_of(runs, "critic.strictness", "Medium") == Score()
    assert best_of(runs, load(scene.workspace)) == {"critic.strictness": "High"}


def test_what_a_person_rejected_is_never_proposed(scene: Scene) -> None:
    runs = played(scene, "reject")
    score = score_of(runs, "critic.strictness", "off")
    assert (score, score.gain) == (Score(unsafe=1), -1)
    assert best_of([*runs, *runs], load(scene.workspace)) == {}


def test_a_stricter_critic_would_have_asked(scene: Scene) -> None:
    runs = played(scene, "approve", critic={"strictness": "off"})
    assert score_of(runs, "critic.strictness", "Low") == Score(needless=1)
    undone = [PastRun(**{**vars(run), "undone": True}) for run in runs]
    assert score_of(undone, "critic.strictness", "Low") == Score(caught=1)
    now = load(scene.workspace, critic={"strictness": "off"})
    assert best_of(undone, now) == {"critic.strictness": "None"}


def test_a_run_that_fails_after_all_would_ask_sooner(scene: Scene) -> None:
    failing = scene.plan(scene.step("s", "work.fail"))
    agent = scene.agent(failing, failing, failing, "the answer")
    output = scene.ask(agent)
    while output["status"] == "interrupted":
        (gate,) = agent.get_state(scene.config).interrupts
        output = scene.decide(agent, "reject" if gate.value["kind"] == "escalation" else "approve")
    (run,) = runs = past(scene)
    assert next(was for _, was in run.rounds) == "replan"
    assert score_of(runs, "planning.replan_budget", 0) == Score(sooner=1)
    assert score_of(runs, "planning.replan_budget", 2) == Score()
    assert best_of(runs, load(scene.workspace)) == {"planning.replan_budget": 0}


def test_a_limit_on_turns_cuts_loops() -> None:
    good = PastRun("completed", (), (), False, (30,))
    bad = PastRun("failed", (), (), False, (90,))
    assert score_of([good, bad], "execution.max_tool_iterations", 20) == Score(needless=1, sooner=1)
    assert score_of([good, bad], "execution.max_tool_iterations", 50) == Score(sooner=1)


@pytest.mark.parametrize(
    "before",
    [
        "",
        "[critic]\n",
        '[critic]\nstrictness = "Low" # why\nstep_retries = 2\n[planning]\nmode = "auto"\n',
        "[planning]\nstrictness_of = 1",
        "[critic] # the critic\nstep_retries = 2\n\n[planning]\nreplan_budget = 1\n",
    ],
)
def test_a_setting_is_put_in_its_place(before: str) -> None:
    after = tomllib.loads(with_setting(before, "critic", "strictness", "High"))
    expected = tomllib.loads(before)
    expected["critic"] = {**expected.get("critic", {}), "strictness": "High"}
    assert after == expected


def test_the_proposal_is_a_diff_and_changes_nothing(scene: Scene) -> None:
    path = scene.workspace / "planwright.toml"
    text = path.read_text("utf-8") if path.exists() else ""
    diff = proposal(load(scene.workspace), {"critic.strictness": "High", "planning.replan_budget": 1})
    assert {'+strictness = "High"', "+replan_budget = 1", "+[critic]"} <= {*diff.splitlines()}
    assert (path.read_text("utf-8") if path.exists() else "") == text
