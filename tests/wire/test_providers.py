"""Which provider serves, from which event loop, and what it costs."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import Any

import pytest

from planwright.domain.run_context import RunContext
from planwright.graph.building import build_graph
from tests.wire.asking import LISTING, QUESTION, ask, provider, settings_for
from tests.wire.conftest import Serve
from tests.wire.scripted_server import says

pytestmark = pytest.mark.enable_socket

SCRIPT = (says(LISTING), says("Four tickets."))


def test_the_provider_with_the_lowest_priority_number_serves(workspace: Path, serve: Serve) -> None:
    first, second = serve(*SCRIPT), serve(*SCRIPT)
    providers = {"a": provider(second, priority=20), "b": provider(first, priority=3)}
    assert ask(settings_for(workspace, providers)).status == "completed"
    assert (len(first.requests), len(second.requests)) == (2, 0)


def test_a_request_may_name_its_provider(workspace: Path, serve: Serve) -> None:
    first, second = serve(*SCRIPT), serve(*SCRIPT)
    providers = {"a": provider(first, priority=1), "b": provider(second, priority=2)}
    ended = ask(settings_for(workspace, providers), context=RunContext(provider="b"))
    assert ended.status == "completed"
    assert (len(first.requests), len(second.requests)) == (0, 2)


def test_a_request_that_names_the_embedded_planner_sends_nothing(workspace: Path, serve: Serve) -> None:
    server = serve(*SCRIPT)
    settings = settings_for(workspace, {"local": provider(server)})
    ended = ask(settings, context=RunContext(provider="embedded"))
    assert ended.status == "completed"
    assert server.requests == []


def test_the_model_of_an_agent_is_asked_at_its_provider(workspace: Path, serve: Serve) -> None:
    first, second = serve(*SCRIPT), serve(*SCRIPT)
    providers = {"a": provider(first, priority=1), "b": provider(second, priority=2)}
    settings = settings_for(workspace, providers, agents={"reader": {"model": "b/org/big-2"}})
    ended = ask(settings, context=RunContext(agent="reader"))
    assert {call["model"] for call in ended.of("llm_call")} == {"org/big-2"}
    assert first.requests == []
    assert [request.body["model"] for request in second.requests] == ["org/big-2"] * 2


async def test_one_process_may_ask_from_any_number_of_event_loops(workspace: Path, serve: Serve) -> None:
    server = serve(says(LISTING), says("one"), says(LISTING), says("two"), says(LISTING), says("three"))
    settings = settings_for(workspace, {"local": provider(server)})
    agents = build_graph(settings), build_graph(settings)
    question = {"messages": [("user", QUESTION)]}

    def config() -> Any:
        return {"configurable": {"thread_id": str(uuid.uuid4())}}

    answers = [(await asyncio.to_thread(agent.invoke, question, config()))["answer"] for agent in agents]
    answers.append((await agents[0].ainvoke(question, config()))["answer"])
    for agent in agents:
        await agent.aclose()
    assert answers == ["one", "two", "three"]


@pytest.mark.parametrize("model", ["gpt-4o-mini", "gpt-5-mini"])
def test_a_model_with_a_public_price_costs_something(workspace: Path, serve: Serve, model: str) -> None:
    ended = ask(settings_for(workspace, {"local": provider(serve(*SCRIPT), model=model)}))
    costs = [call["cost"] for call in ended.of("llm_call")]
    assert len(costs) == 2
    assert all(cost > 0 for cost in costs)
    assert ended.record["usage"]["cost"] == sum(costs)
    assert ended.record["usage"]["unpriced"] == 0


def test_a_model_nobody_knows_the_price_of_is_unpriced_and_not_free(workspace: Path, serve: Serve) -> None:
    ended = ask(settings_for(workspace, {"local": provider(serve(*SCRIPT), model="my-own-7b")}))
    assert [call["cost"] for call in ended.of("llm_call")] == [None, None]
    assert ended.record["usage"]["unpriced"] == 2


def test_tokens_are_estimated_when_the_server_does_not_count(workspace: Path, serve: Serve) -> None:
    server = serve(says(LISTING, tokens=None), says("Four tickets.", tokens=None))
    ended = ask(settings_for(workspace, {"local": provider(server)}))
    assert ended.status == "completed"
    assert ended.record["usage"]["tokens"] > 500


def test_a_run_without_budget_for_the_call_sends_nothing(workspace: Path, serve: Serve) -> None:
    server = serve(*SCRIPT)
    providers = {"local": provider(server, model="gpt-4o-mini")}
    ended = ask(settings_for(workspace, providers, budgets={"run": {"cost": "0.000001"}}))
    assert ended.status == "budget_exceeded"
    assert "budgets.run.cost" in ended.answer
    assert server.requests == []


def test_calls_go_through_the_proxy_of_a_provider(workspace: Path, serve: Serve) -> None:
    server = serve(says(LISTING), says("Four."))
    far: dict[str, Any] = {
        "base_url": "http://models.invalid/v1",
        "proxy": server.base_url.removesuffix("/v1"),
    }
    ended = ask(settings_for(workspace, {"far": provider(**far)}))
    assert (ended.status, ended.answer) == ("completed", "Four.")
    assert {request.path for request in server.requests} == {"http://models.invalid/v1/chat/completions"}
