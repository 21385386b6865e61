"""Which model does which kind of work, and what a role that cannot be served says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planwright.domain.errors import SetupError
from planwright.domain.model_hint import ModelHint
from planwright.models.providers.matching import step_route
from planwright.models.providers.router import EMBEDDED, Router
from planwright.models.roles import ROLES, can_read, check_roles, listed_roles, role_route, serving
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import Settings, load
from planwright.state.agent_state import ModelRoute

PROVIDERS: dict[str, Any] = {
    "big": {"model": "big-1", "priority": 1, "context": 200_000, "api_key": "k", "models": {"big-2": {}}},
    "small": {"model": "small-1", "priority": 2, "context": 8_000, "api_key": "k"},
}


@pytest.fixture(autouse=True)
def no_key_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def settings(folder: Path, **roles: str) -> Settings:
    return load(folder, providers=PROVIDERS, roles=roles)


def name(route: ModelRoute | None) -> str:
    return f"{route.provider}/{route.model}" if route else ""


def test_a_role_is_served_by_its_model_and_others_by_that_of_the_run(tmp_path: Path) -> None:
    chosen = settings(tmp_path, planner="big/big-2", fast="small")
    route = Router(chosen).route()
    served = {role: name(role_route(chosen, role, route)) for role in ROLES}
    assert served == {
        "planner": "big/big-2",
        "fast": "small/small-1",
        "agent": "",
        "respond": "",
        "critic": "",
    }
    assert name(serving(chosen, "critic", route)) == "big/big-1"


@pytest.mark.parametrize("request_names", ["big", "big/big-2", "embedded"])
def test_a_model_that_a_request_names_does_all_its_work(tmp_path: Path, request_names: str) -> None:
    chosen = settings(tmp_path, fast="small")
    assert role_route(chosen, "fast", Router(chosen).route(request_names)) is None


def test_a_model_given_in_code_and_the_embedded_planner_do_all_their_work(tmp_path: Path) -> None:
    chosen = settings(tmp_path, fast="small")
    assert role_route(chosen, "fast", Router(chosen, ScriptedModel(replies=["x"])).route()) is None
    assert role_route(chosen, "fast", EMBEDDED) is None


@pytest.mark.parametrize(
    ("named", "cause", "next_step"),
    [
        ("tiny", r"`roles\.fast`: there is no provider 'tiny' \(big, small\)", r"[providers.tiny]"),
        (
            "small/x",
            r"provider small lists no model 'x' \(it lists: small-1\)",
            r'[providers.small.models."x"]',
        ),
        ("small/", r"provider small lists no model ''", "name one of them"),
        ("embedded", r"there is no provider 'embedded'", "[providers.embedded]"),
    ],
)
def test_what_is_not_configured_is_refused(tmp_path: Path, named: str, cause: str, next_step: str) -> None:
    with pytest.raises(SetupError, match=cause) as refused:
        check_roles(settings(tmp_path, fast=named))
    assert next_step in refused.value.next_step


def test_the_roles_that_are_set_are_listed(tmp_path: Path) -> None:
    listed = list(listed_roles(settings(tmp_path, critic="big/big-2", fast="small")))
    assert listed == ["fast: small/small-1", "critic: big/big-2"]


def test_who_takes_the_place_of_a_role_that_fails(tmp_path: Path) -> None:
    chosen = settings(tmp_path, planner="big/big-2", fast="small")
    router = Router(chosen)
    run = router.route()
    assert [name(one) for one in router.successors(serving(chosen, "fast", run))] == [
        "small/small-1",
        "big/big-1",
    ]
    other = router.successors(serving(chosen, "planner", run))
    assert [name(one) for one in other] == ["big/big-2", "big/big-1", "small/small-1"]


def test_a_call_that_is_too_long_for_its_role_goes_to_the_model_of_the_run(tmp_path: Path) -> None:
    chosen = settings(tmp_path, fast="small", critic="big")
    run = Router(chosen).route()
    fast = serving(chosen, "fast", run)
    assert can_read(fast, run, 8_000)
    assert not can_read(fast, run, 8_001)
    assert can_read(run, fast, 1_000_000)  # the run's own holds no more


def test_the_role_agent_does_a_step_unless_the_hint_of_the_step_asks_for_another(tmp_path: Path) -> None:
    chosen = settings(tmp_path, agent="small")
    agent = serving(chosen, "agent", Router(chosen).route())
    fits, too_long = ModelHint(min_context=4_000), ModelHint(min_context=100_000)
    assert name(step_route(chosen.providers, agent, None)) == "small/small-1"
    assert name(step_route(chosen.providers, agent, fits)) == "small/small-1"
    assert step_route(chosen.providers, agent, fits).hint == fits
    assert name(step_route(chosen.providers, agent, too_long)) == "big/big-1"
