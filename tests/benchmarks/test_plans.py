"""Plans that are spoiled at random: what we accept, the other judge accepts, and nothing of it is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.plan_validator import lost, why_wrong
from benchmarks.plans import play
from planwright.domain.errors import ModelOutputInvalid, PlanInvalid
from planwright.domain.plan import Plan
from planwright.planning.plan_proposal import proposal_of
from tests.planning.plan_world import judged

HOSTILE = Path(__file__).with_name("hostile_plans.jsonl").read_text("utf-8").splitlines()
READ: dict[str, Any] = {"id": "s1", "capability": "notes.read", "params": {"name": "a"}}


def test_no_spoiled_plan_is_wrongly_accepted_and_none_breaks_the_reading() -> None:
    report = play(600, seed=7)
    assert report.good, report
    assert report.accepted > 100
    assert len(report.found) > 5


def test_there_are_enough_written_ones() -> None:
    assert len(HOSTILE) >= 300
    assert len(set(HOSTILE)) == len(HOSTILE)


@pytest.mark.sampled(60)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_written_malformed_or_hostile_plan_may_run(text: str) -> None:
    try:
        plan = proposal_of(text).plan
    except (PlanInvalid, ModelOutputInvalid):
        return
    assert judged(plan) != []


def test_the_other_judge_sees_what_is_wrong() -> None:
    good = Plan.model_validate({"steps": [READ]}).model_dump(mode="json")
    assert why_wrong(good) == ""
    spoils: tuple[dict[str, Any], ...] = (
        {"params": {}},
        {"depends_on": ["s1"]},
        {"depends_on": ["s9"]},
        {"timeout_s": -1},
        {"when": "steps.s1.output.size > 1"},
    )
    for spoiled in spoils:
        assert why_wrong({**good, "steps": [{**good["steps"][0], **spoiled}]}) != ""
    assert lost({"steps": [{**READ, "needs": ["s0"]}]}, good) == ["s0"]
    assert lost(json.loads(json.dumps({"steps": [READ]})), good) == []
