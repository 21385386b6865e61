"""Roles as the provider sees them: which model each call of a run names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planwright.cli.views.run_list import recorded_runs
from planwright.domain.errors import SetupError
from planwright.domain.run_context import RunContext
from planwright.graph.building import build_graph
from planwright.settings.settings import load
from tests.wire.asking import LISTING, Ended, ask, provider, settings_for
from tests.wire.conftest import Serve
from tests.wire.scripted_server import Reply, ScriptedServer, calls, refuses, says

pytestmark = pytest.mark.enable_socket

GREY = "Look at the tickets and then at the clock"  # two points: a vote decides
MODELS: dict[str, Any] = {f"{role}-1": {} for role in ("planner", "fast", "agent", "respond")}
ROLES = {role: f"house/{role}-1" for role in ("planner", "fast", "agent", "respond")}
CHOSEN = says(json.dumps({"capabilities": ["tickets.list"]}))
AGENTIC = says(
    json.dumps(
        {
            "goal": "See what is open",
            "steps": [
                {"id": "s1", "description": "List the tickets", "tool_hints": ["tickets.list"]},
                {"id": "s2", "capability": "datetime.now", "depends_on": ["s1"]},
            ],
        }
    )
)
SCRIPT = (
    says("yes"),
    CHOSEN,
    AGENTIC,
    calls("tickets__list", {}),
    says("There are four."),
    says("Four tickets."),
    says("Open tickets"),
)


def run(workspace: Path, server: ScriptedServer, roles: dict[str, str], **context: Any) -> Ended:
    house = provider(server, model="house-1", models=MODELS)
    settings = settings_for(workspace, {"house": house}, roles=roles, planning={"mode": "auto"})
    return ask(settings, GREY, RunContext(**context))


def title_of(workspace: Path) -> str:
    return str(recorded_runs(load(workspace), waiting=False).rows[0]["title"])


def named(server: ScriptedServer) -> list[str]:
    return [request.body["model"] for request in server.requests]


def test_each_call_names_the_model_of_its_role(workspace: Path, serve: Serve) -> None:
    server = serve(*SCRIPT)
    ended = run(workspace, server, ROLES)
    assert ended.status == "completed"
    assert named(server) == ["fast-1", "fast-1", "planner-1", "agent-1", "agent-1", "respond-1", "fast-1"]
    asked = [(call["role"], call["model"]) for call in ended.of("llm_call")]
    assert asked == [
        ("planning", "fast-1"),
        ("classification", "fast-1"),
        ("planner", "planner-1"),
        ("agent", "agent-1"),
        ("agent", "agent-1"),
        ("respond", "respond-1"),
        ("title", "fast-1"),
    ]
    vote = server.requests[0].body
    assert (vote["temperature"], vote.get("max_tokens", vote.get("max_completion_tokens"))) == (0, 3)
    assert title_of(workspace) == "Open tickets"


def test_the_planner_is_told_of_what_the_fast_model_chose(workspace: Path, serve: Serve) -> None:
    server = serve(*SCRIPT)
    run(workspace, server, ROLES)
    asked, told = server.requests[1].sent("user"), server.requests[2].sent("user")
    assert '"tickets.create"' in asked
    assert '"tickets.list"' in told
    assert '"tickets.create"' not in told


def test_without_a_fast_role_nobody_votes_chooses_or_names(workspace: Path, serve: Serve) -> None:
    server = serve(calls("tickets__list", {}), says("Four tickets."))
    ended = run(workspace, server, {"planner": "house/planner-1"})
    assert ended.status == "completed"
    assert named(server) == ["house-1", "house-1"]


def test_a_request_that_names_a_model_has_all_its_work_done_by_it(workspace: Path, serve: Serve) -> None:
    server = serve(calls("tickets__list", {}), says("Four tickets."))
    ended = run(workspace, server, ROLES, provider="house")
    assert ended.status == "completed"
    assert named(server) == ["house-1", "house-1"]


@pytest.mark.parametrize("vote", [refuses(400), says("perhaps"), says("")])
def test_a_vote_that_fails_leaves_it_to_the_score(workspace: Path, serve: Serve, vote: Reply) -> None:
    server = serve(vote, calls("tickets__list", {}), says("Four tickets."), says("Open tickets"))
    ended = run(workspace, server, ROLES)
    assert ended.status == "completed"
    (decision,) = ended.of("planning_decision")
    assert (decision["score"], decision["planned"]) == (2, False)
    assert named(server) == ["fast-1", "agent-1", "agent-1", "fast-1"]


def test_a_shortlist_and_a_title_that_fail_are_made_by_rule(workspace: Path, serve: Serve) -> None:
    server = serve(says("yes"), refuses(400), says(LISTING), says("Four tickets."), refuses(400))
    ended = run(workspace, server, ROLES)
    assert ended.status == "completed"
    assert '"tickets.create"' in server.requests[2].sent("user")
    assert title_of(workspace) == GREY


def test_the_model_of_a_role_that_is_down_is_replaced_by_the_next(workspace: Path, serve: Serve) -> None:
    down, up = serve(refuses(503)), serve(says(LISTING), says("Four tickets."))
    providers = {"up": provider(up, priority=1), "down": provider(down, priority=2)}
    settings = settings_for(workspace, providers, roles={"planner": "down"}, failover={"retries": 1})
    assert ask(settings, "What tickets are open?").status == "completed"
    assert len(down.requests) == 2
    assert named(up) == ["my-model", "my-model"]


def test_the_keys_of_a_role_go_in_turn_and_its_calls_count_for_its_provider(
    workspace: Path, serve: Serve
) -> None:
    small = serve(refuses(429), says(LISTING))
    big = serve(says("Four tickets."))
    keys = provider(small, priority=2, api_keys=["one", "two"], api_key=None)
    providers = {"big": provider(big, priority=1), "small": keys}
    ended = ask(settings_for(workspace, providers, roles={"planner": "small"}))
    assert ended.status == "completed"
    assert [request.key for request in small.requests] == ["one", "two"]
    assert [(call["role"], call["provider"]) for call in ended.of("llm_call") if "error" not in call] == [
        ("planner", "small"),
        ("respond", "big"),
    ]


def test_a_role_whose_provider_is_over_its_budget_is_done_by_the_next(workspace: Path, serve: Serve) -> None:
    small, big = serve(says(LISTING)), serve(says(LISTING), says("Four tickets."))
    providers = {"big": provider(big, priority=1), "small": provider(small, priority=2, daily_tokens=10)}
    ended = ask(settings_for(workspace, providers, roles={"planner": "small"}))
    assert ended.status == "completed"
    assert small.requests == []
    assert len(big.requests) == 2


def test_a_role_that_nobody_serves_is_an_error_when_the_agent_is_opened(workspace: Path) -> None:
    settings = settings_for(workspace, {"house": provider()}, roles={"critic": "moon"})
    with pytest.raises(SetupError, match=r"roles\.critic.*there is no provider 'moon'"):
        build_graph(settings)
