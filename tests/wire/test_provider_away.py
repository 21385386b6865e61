"""A provider that goes away between any two calls of a run: it pauses, goes on, and does nothing twice."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from planwright.cli.session.provider_wait import waits
from planwright.domain.errors import GateError, SetupError
from planwright.extras.worker.worker import Worker
from planwright.graph.building import build_graph
from tests.wire.asking import provider, settings_for
from tests.wire.conftest import Serve
from tests.wire.scripted_server import Reply, calls, refuses, says

pytestmark = pytest.mark.enable_socket

POST = calls("work__post", {"name": "p"})
PLAN = says(
    json.dumps(
        {"goal": "Post p", "steps": [{"id": "s1", "capability": "work.post", "params": {"name": "p"}}]}
    )
)
STEP = says(
    json.dumps(
        {
            "goal": "Post p",
            "steps": [{"id": "s1", "description": "Post p", "tool_hints": ["work.post"], "params": {}}],
        }
    )
)
DELEGATE = calls("agent__delegate", {"task": "Post p", "tools": ["work.post"]})
WAYS: dict[str, tuple[str, list[Reply]]] = {
    "loop": ("never", [POST, says("Posted.")]),
    "plan": ("always", [PLAN, says("Posted.")]),
    "step of a model": ("always", [STEP, POST, says("Posted.")]),
    "sub-agent": ("never", [DELEGATE, POST, says("Posted p."), says("Posted.")]),
}
PLACES = [(way, place) for way, (_, replies) in WAYS.items() for place in range(len(replies))]
THREAD: Any = {"configurable": {"thread_id": "t"}}
REQUEST = {"messages": [("user", "Post p")]}


def _settings(
    workspace: Path, server: Any, mode: str, budgets: dict[str, Any] | None = None, **local: Any
) -> Any:
    able = provider(server, capabilities=["function_calling"], **local)
    return settings_for(
        workspace,
        {"local": able},
        failover={"retries": 0},
        planning={"mode": mode},
        capabilities={"modules": ["tests.scenarios.scenario_work"]},
        memory={"proposals": "off"},
        approval={"tool_risk": "Low"},
        budgets=budgets or {},
    )


@pytest.mark.parametrize(("way", "place"), PLACES, ids=lambda value: str(value))
def test_it_pauses_and_goes_on_from_the_call_that_was_not_answered(
    workspace: Path, serve: Serve, way: str, place: int
) -> None:
    mode, replies = WAYS[way]
    server = serve(*replies[:place], refuses(503), refuses(503), *replies[place:])
    gates = 0
    with build_graph(_settings(workspace, server, mode)) as agent:
        out, pauses = agent.invoke(REQUEST, THREAD), 0
        while out["status"] in ("paused", "interrupted"):
            if out["status"] == "paused":
                pauses += 1
                assert "provider local answered HTTP 503" in out["answer"]
                out = agent.invoke(None, THREAD)
            else:
                gates += len(out["__interrupt__"])
                out = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), THREAD)
        assert (out["status"], out["answer"], pauses) == ("completed", "Posted.", 2)
    assert (workspace / "done.log").read_text("utf-8").split() == ["p"]
    assert gates == (0 if way == "plan" else 1)  # a plan of one Low effect runs unasked
    assert len(server.requests) == len(replies) + 2


def test_who_answers_the_gate_once_more_goes_on_and_another_answer_is_refused(
    workspace: Path, serve: Serve
) -> None:
    """A page shows an interrupt until the node that waited at it has ended."""
    server = serve(POST, refuses(503), says("Posted."))
    answer: dict[str, Command[Any]] = {
        word: Command(resume={"decisions": [{"type": word}]}) for word in ("approve", "reject")
    }
    with build_graph(_settings(workspace, server, "never")) as agent:
        agent.invoke(REQUEST, THREAD)
        assert agent.invoke(answer["approve"], THREAD)["status"] == "paused"
        assert agent.get_state(THREAD).interrupts
        with pytest.raises(GateError, match="already approved"):
            agent.invoke(answer["reject"], THREAD)
        out = agent.invoke(answer["approve"], THREAD)
        assert (out["status"], out["answer"]) == ("completed", "Posted.")
    assert (workspace / "done.log").read_text("utf-8").split() == ["p"]


def test_a_new_message_ends_the_run_that_waits_for_its_provider(workspace: Path, serve: Serve) -> None:
    server = serve(POST, refuses(503), says("Good morning."))
    with build_graph(_settings(workspace, server, "never")) as agent:
        agent.invoke(REQUEST, THREAD)
        out = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), THREAD)
        assert out["status"] == "paused"
        out = agent.invoke({"messages": [("user", "Good morning")]}, THREAD)
        assert (out["status"], out["answer"]) == ("completed", "Good morning.")
        first, second = [message.text for message in out["messages"] if message.type == "ai" and message.text]
    assert first.startswith("Cancelled by a new message")
    assert second == "Good morning."
    assert (workspace / "done.log").read_text("utf-8").split() == ["p"]


@pytest.mark.parametrize("limit", [{"tool_calls": 1}, {"effects": 1}], ids=str)
def test_nobody_is_asked_about_a_call_that_a_limit_refuses(
    workspace: Path, serve: Serve, limit: dict[str, int]
) -> None:
    server = serve(POST, calls("work__post", {"name": "q"}), says("Both are posted."))
    settings = _settings(workspace, server, "never", budgets={"run": limit})
    with build_graph(settings) as agent:
        (gate,) = agent.invoke(REQUEST, THREAD)["__interrupt__"]
        out = agent.invoke(Command(resume={gate.id: {"decisions": [{"type": "approve"}]}}), THREAD)
        assert "__interrupt__" not in out
        assert (out["status"], len(server.requests)) == ("budget_exceeded", 2)
        assert (workspace / "done.log").read_text("utf-8").split() == ["p"]
        agent.extend("t", dict.fromkeys(limit, 1.0))  # type: ignore[arg-type]
        (gate,) = agent.invoke(None, THREAD)["__interrupt__"]
        assert gate.value["shown"]["args"]["name"] == "q"
        out = agent.invoke(Command(resume={gate.id: {"decisions": [{"type": "approve"}]}}), THREAD)
        assert (out["status"], out["answer"]) == ("completed", "Both are posted.")
    assert (workspace / "done.log").read_text("utf-8").split() == ["p", "q"]


def test_a_key_that_is_missing_is_refused_before_the_answer_is_taken(
    workspace: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(POST, says("Posted."))
    monkeypatch.setenv("KEY_OF_LOCAL", "k")
    settings = _settings(workspace, server, "never", api_key=None, api_key_env="KEY_OF_LOCAL")
    yes: Command[Any] = Command(resume={"decisions": [{"type": "approve"}]})
    with build_graph(settings) as agent:
        (gate,) = agent.invoke(REQUEST, THREAD)["__interrupt__"]
    monkeypatch.delenv("KEY_OF_LOCAL")
    with build_graph(settings) as agent:
        with pytest.raises(SetupError, match="provider local has no key"):
            agent.invoke(yes, THREAD)
        assert [each.id for each in agent.get_state(THREAD).interrupts] == [gate.id]
        monkeypatch.setenv("KEY_OF_LOCAL", "k")
        assert agent.invoke(yes, THREAD)["answer"] == "Posted."
    assert (workspace / "done.log").read_text("utf-8").split() == ["p"]


async def test_a_worker_goes_on_when_the_provider_is_back(workspace: Path, serve: Serve) -> None:
    server = serve(refuses(503), says("Good morning."))
    async with build_graph(_settings(workspace, server, "never")) as agent:
        await agent.aenqueue("Good morning", thread_id="t")
        worker = Worker(agent)
        await worker.run(until_idle=True)
        run = await agent.stores.runs.latest("t")
        assert run is not None
        assert (run.status, run.paused_for) == ("paused", "provider")
        assert run.paused_why is not None
        assert "HTTP 503" in run.paused_why
        assert [each.run_id for each in await agent.stores.queue.runnable()] == [run.run_id]
        await Worker(agent).run(until_idle=True)
        run = await agent.stores.runs.latest("t")
        assert run is not None
        assert (run.status, run.answer, run.paused_why) == ("completed", "Good morning.", None)


def test_a_terminal_waits_for_longer_each_time_up_to_a_minute() -> None:
    assert [*islice(waits(), 7)] == [2, 4, 8, 16, 32, 60, 60]
