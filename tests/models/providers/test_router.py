"""The router: the provider asked for, else the first that can; the embedded one only without any."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from planwright.domain.errors import SetupError
from planwright.domain.model_hint import ModelHint
from planwright.extras.offline.model import OfflineModel
from planwright.models.providers.router import EMBEDDED, Router
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import load

FAST = {"model": "fast-1", "priority": 20, "capabilities": ["function_calling", "json_mode"], "api_key": "k"}
DEEP = {"model": "deep-1", "priority": 10, "capabilities": ["reasoning", "json_mode"], "api_key": "k"}
SEES = ModelHint(requires_vision="required")
EYES = {"model": "eyes-1", "priority": 20, "capabilities": ["vision"], "api_key": "k"}


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("PLANWRIGHT_", "OPENAI_")):
            monkeypatch.delenv(name)


def router(folder: Path, model: Any = None, **providers: dict[str, Any]) -> Router:
    return Router(load(folder, providers=providers), model)


def test_without_a_provider_the_embedded_planner_serves_and_says_so(tmp_path: Path) -> None:
    route = router(tmp_path).route()
    assert route == EMBEDDED
    assert (route.embedded, route.model) == (True, "planwright-offline")
    assert isinstance(router(tmp_path).chat_model(route), OfflineModel)


def test_a_configured_provider_is_never_replaced_by_the_embedded_one(tmp_path: Path) -> None:
    route = router(tmp_path, fast=FAST).route()
    assert (route.provider, route.model, route.embedded) == ("fast", "fast-1", False)
    with pytest.raises(SetupError, match="no configured model offers vision"):
        router(tmp_path, fast=FAST).route(hint=SEES)


async def test_a_provider_without_a_key_is_an_error_and_no_reason_to_fall_back(tmp_path: Path) -> None:
    keyless = router(tmp_path, fast={"model": "fast-1"})
    route = keyless.route()
    assert route.provider == "fast"
    with pytest.raises(SetupError, match="provider fast has no key") as refused:
        keyless.chat_model(route)
    assert "OPENAI_API_KEY" in refused.value.next_step


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (None, "deep"),
        (ModelHint(requires_reasoning="required"), "deep"),
        (ModelHint(requires_function_calling="required"), "fast"),
        (SEES, "eyes"),
    ],
)
def test_the_first_by_priority_that_can_serves(tmp_path: Path, hint: ModelHint | None, expected: str) -> None:
    assert router(tmp_path, eyes=EYES, fast=FAST, deep=DEEP).route(hint=hint).provider == expected


def test_of_equal_priority_the_name_decides(tmp_path: Path) -> None:
    assert router(tmp_path, b={**FAST}, a={**FAST}).route().provider == "a"


def test_what_nobody_can_is_an_error_that_names_it(tmp_path: Path) -> None:
    both = ModelHint(requires_vision="required", requires_reasoning="required")
    with pytest.raises(SetupError, match="no configured model offers reasoning and vision"):
        router(tmp_path, eyes=EYES, deep=DEEP).route(hint=both)


def test_those_that_serve_in_the_place_of_another_have_what_its_step_requires(tmp_path: Path) -> None:
    chosen = router(tmp_path, eyes=EYES, deep=DEEP, fast=FAST, spare={**DEEP, "priority": 90})
    deep, thinks = chosen.route(), ModelHint(requires_reasoning="required")
    assert [route.provider for route in chosen.successors(deep)] == ["deep", "eyes", "fast", "spare"]
    step = chosen.for_step(deep, thinks)
    assert [route.provider for route in chosen.successors(step)] == ["deep", "spare"]


def test_a_route_whose_model_has_lost_what_is_required_serves_no_more(tmp_path: Path) -> None:
    thinks = ModelHint(requires_reasoning="required")
    before = router(tmp_path, deep=DEEP, spare={**DEEP, "priority": 90}).route(hint=thinks)
    after = router(tmp_path, deep=FAST, spare=DEEP)
    assert [route.provider for route in after.successors(before)] == ["spare"]
    with pytest.raises(SetupError, match="no configured model offers reasoning"):
        router(tmp_path, deep=FAST).successors(before)


async def test_a_route_whose_provider_is_gone_is_an_error_that_says_so(tmp_path: Path) -> None:
    gone = router(tmp_path, deep=DEEP).route("deep")
    with pytest.raises(SetupError, match="there is no provider 'deep' any more"):
        router(tmp_path, fast=FAST).chat_model(gone)


@pytest.mark.parametrize(("name", "expected"), [("fast", "fast"), ("eyes", "eyes"), ("embedded", "embedded")])
def test_the_choice_of_a_request_wins(tmp_path: Path, name: str, expected: str) -> None:
    assert router(tmp_path, eyes=EYES, fast=FAST, deep=DEEP).route(name).provider == expected


async def test_another_model_of_a_provider_is_named_behind_it(tmp_path: Path) -> None:
    chosen = router(tmp_path, fast=FAST, deep=DEEP)
    route, usual = chosen.route("fast/org/big-2"), chosen.route("fast")
    assert (route.provider, route.model, route.can_call) == ("fast", "org/big-2", True)
    models = [getattr(chosen.chat_model(r), "model_name", "") for r in (route, usual)]
    assert models == ["org/big-2", "fast-1"]


@pytest.mark.parametrize("name", ["nobody/fast-1", "fast/", "embedded/big", "/fast-1"])
def test_a_model_of_no_provider_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(SetupError, match=f"there is no provider '{name}'"):
        router(tmp_path, fast=FAST).route(name)


@pytest.mark.parametrize(
    ("providers", "known"), [({}, "none is configured"), ({"fast": FAST, "deep": DEEP}, "fast, deep")]
)
def test_an_unknown_provider_is_an_error_that_names_the_known(
    tmp_path: Path, providers: dict[str, Any], known: str
) -> None:
    with pytest.raises(SetupError, match=rf"there is no provider 'nobody' \({known}\)"):
        router(tmp_path, **providers).route("nobody")


def test_a_given_model_serves_every_run(tmp_path: Path) -> None:
    given = ScriptedModel(replies=["x"], model_name="mine")
    chosen = router(tmp_path, given, fast=FAST)
    route = chosen.route()
    assert (route.provider, route.model, route.embedded) == ("given", "mine", False)
    serving = chosen.chat_model(route)
    assert isinstance(serving, ScriptedModel)
    assert serving.replies is given.replies
    assert chosen.provider(route) is None


async def test_a_model_is_made_once_from_its_settings(tmp_path: Path) -> None:
    chosen = router(tmp_path, fast={**FAST, "base_url": "http://127.0.0.1:1/v1"})
    route = chosen.route()
    model = chosen.chat_model(route)
    assert chosen.chat_model(route) is model
    assert (getattr(model, "model_name", ""), getattr(model, "max_retries", None)) == ("fast-1", 0)
    assert getattr(model, "request_timeout", 7) is None  # whoever makes a call says how long it may take
    assert str(getattr(model, "openai_api_base", "")) == "http://127.0.0.1:1/v1"


async def test_a_local_endpoint_needs_no_key(tmp_path: Path) -> None:
    chosen = router(tmp_path, local={"model": "m", "base_url": "http://127.0.0.1:1/v1"})
    assert chosen.chat_model(chosen.route()) is not None
