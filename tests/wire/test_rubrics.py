"""Criteria in words, judged by the model of the role critic over real HTTP; what it says is data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.wire.asking import Ended, ask, provider, settings_for
from tests.wire.conftest import Serve
from tests.wire.scripted_server import Reply, ScriptedServer, says

pytestmark = pytest.mark.enable_socket

STEP = {
    "id": "s1",
    "capability": "tickets.list",
    "params": {},
    "success_criteria": "every ticket has a title",
}
PLAN = says(json.dumps({"goal": "List the open tickets", "steps": [STEP]}))
UNMET = json.dumps({"holds": False, "reason": "one has none"})


def run(workspace: Path, server: ScriptedServer, **sections: Any) -> Ended:
    house = provider(server, model="house-1", models={"judge-1": {}})
    roles = {"roles": {"critic": "house/judge-1"}, "planning": {"replan_budget": 0}}
    return ask(settings_for(workspace, {"house": house}, **{**roles, **sections}), "What tickets are open?")


def play(workspace: Path, serve: Serve, *replies: Reply, **sections: Any) -> tuple[Ended, list[str]]:
    server = serve(*replies)
    return run(workspace, server, **sections), [request.body["model"] for request in server.requests]


def test_the_critics_model_judges_and_its_answer_is_on_record(workspace: Path, serve: Serve) -> None:
    met = says(json.dumps({"holds": True, "reason": "each has one"}))
    ended, models = play(workspace, serve, PLAN, met, says("Four tickets."))
    assert (ended.status, models) == ("completed", ["house-1", "judge-1", "house-1"])
    (verdict,) = ended.record["verdicts"]
    (score,) = verdict["step_scores"]
    assert (verdict["verdict"], score["not_judged"]) == ("accept", "")
    assert score["rubric"] == {"holds": True, "reason": "each has one"}


def test_a_criterion_that_is_not_met_has_the_step_run_again_and_a_person_accepts_it(
    workspace: Path, serve: Serve
) -> None:
    ended, models = play(workspace, serve, PLAN, says(UNMET), says(UNMET), says("Four tickets."))
    verdicts = ended.record["verdicts"]
    assert [verdict["verdict"] for verdict in verdicts] == ["retry", "escalate", "accept"]
    assert "one has none" in verdicts[1]["reason"]
    assert [(gate["kind"], gate["status"]) for gate in ended.record["gates"]] == [("escalation", "approved")]
    assert models == ["house-1", "judge-1", "judge-1", "house-1"]


@pytest.mark.parametrize(
    "reply", [says("I think so."), says('{"holds": "yes"}')], ids=["words", "no boolean"]
)
def test_an_answer_that_says_neither_leaves_it_not_judged(
    workspace: Path, serve: Serve, reply: Reply
) -> None:
    ended, _ = play(workspace, serve, PLAN, reply, says("Four tickets."))
    assert ended.status == "completed"
    (verdict,) = ended.record["verdicts"]
    assert verdict["reason"] == "not judged: s1"


def test_without_the_role_no_model_is_asked(workspace: Path, serve: Serve) -> None:
    ended, models = play(workspace, serve, PLAN, says("Four tickets."), roles={})
    assert (ended.status, models) == ("completed", ["house-1", "house-1"])
