"""What models answer when asked for a plan: read exactly, asked again or found, never run wrongly."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from planwright.domain.errors import ModelOutputInvalid, PlanInvalid
from planwright.domain.plan import Plan
from planwright.planning.plan_proposal import proposal_of
from tests.planning.plan_world import judged

TABLE = tomllib.loads(Path(__file__).with_name("planner_replies.toml").read_text("utf-8"))
REPLIES: list[dict[str, Any]] = TABLE["reply"]


def named(then: str) -> list[Any]:
    return [pytest.param(reply, id=reply["name"]) for reply in REPLIES if then in reply]


def test_there_are_enough_of_them_and_each_says_what_follows() -> None:
    assert len(REPLIES) >= 120
    assert len({reply["name"] for reply in REPLIES}) == len(REPLIES)
    assert all(len(reply.keys() & {"plan", "asked", "found"}) == 1 for reply in REPLIES)


@pytest.mark.parametrize("reply", named("plan"))
def test_what_can_be_read_is_read_as_exactly_this_plan(reply: dict[str, Any]) -> None:
    meant = Plan.model_validate(json.loads(TABLE["plans"][reply["plan"]]["json"]))
    plan = proposal_of(reply["text"]).plan
    assert plan == meant
    assert judged(plan) == []


@pytest.mark.parametrize("reply", named("asked"))
def test_what_cannot_be_read_is_asked_for_again(reply: dict[str, Any]) -> None:
    with pytest.raises((ModelOutputInvalid, PlanInvalid)) as refused:
        proposal_of(reply["text"])
    assert reply["asked"] in refused.value.cause


@pytest.mark.parametrize("reply", named("found"))
def test_what_can_be_read_and_not_be_done_is_found(reply: dict[str, Any]) -> None:
    plan = proposal_of(reply["text"]).plan
    assert plan is not None
    assert reply["found"] in judged(plan)


def test_the_reason_for_no_plan_ends_a_sentence_of_ours_with_one_full_stop() -> None:
    assert (
        proposal_of('{"cannot": "There is no printer. It was sold. "}').cannot
        == "There is no printer. It was sold"
    )
    assert proposal_of('{"cannot": ["no printer", "no paper."]}').cannot == "no printer; no paper"
