"""A conversation that outgrows its model, over real HTTP: summed up, cut off, and never lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.settings.settings import Settings
from tests.wire.asking import LISTING, QUESTION, ask, provider, settings_for
from tests.wire.conftest import Serve
from tests.wire.scripted_server import ScriptedServer, calls, refuses, resets, says

pytestmark = pytest.mark.enable_socket

LONG = "word " * 3600  # about 4,500 tokens
PLANNED = "First list them, then count them, and then stop."
TOO_LONG = refuses(400, "This model's maximum context length is 8192 tokens")


def settings_of(folder: Path, server: ScriptedServer, context: int = 27_000, **more: Any) -> Settings:
    local = provider(server, context=context)
    planning = more.pop("planning", {"mode": "auto"})
    return settings_for(
        folder,
        {"local": local},
        planning=planning,
        failover={"retries": 0},
        tools={"filter": "top_k"},
        **more,
    )


def talk(agent: Agent, times: int, text: str = LONG) -> dict[str, Any]:
    config: Any = {"configurable": {"thread_id": "t"}}
    out: dict[str, Any] = {}
    for number in range(times):
        out = agent.invoke({"messages": [("user", f"{number} {text}")]}, config)
    return out


def events(agent: Agent) -> list[dict[str, Any]]:
    rows = agent.loop.call(
        lambda: agent.stores.database.run(
            "read",
            lambda c: c.execute("SELECT data FROM journal WHERE type = 'context_compacted'").fetchall(),
        )
    )
    return [json.loads(row[0]) for row in rows]


def test_the_oldest_messages_are_summed_up_and_stay_on_the_thread(workspace: Path, serve: Serve) -> None:
    server = serve(*[says("ok")] * 4, says("They said word many times."), says("the answer"))
    agent = build_graph(settings_of(workspace, server))
    try:
        out = talk(agent, 5)
        assert out["answer"] == "the answer"
        assert len(out["messages"]) == 10
        asked = server.requests[-1].sent("user")
        assert "They said word many times." in asked
        assert "0 word" not in asked
        assert "4 word" in asked
        [told] = events(agent)
        assert told["by"] == "model"
        assert told["tokens_after"] < told["tokens_before"]
    finally:
        agent.close()


def test_when_nobody_sums_up_the_oldest_are_left_out(workspace: Path, serve: Serve) -> None:
    server = serve(*[says("ok")] * 4, resets(), says("the answer"))
    agent = build_graph(settings_of(workspace, server))
    try:
        assert talk(agent, 5)["answer"] == "the answer"
        assert "earlier messages are left out" in server.requests[-1].sent("user")
        [told] = events(agent)
        assert (told["by"], told["tokens_after"] <= 0.7 * 27_000) == ("truncation", True)
    finally:
        agent.close()


def test_a_model_that_says_it_is_too_much_is_asked_once_more_with_less(workspace: Path, serve: Serve) -> None:
    server = serve(says("ok"), says("ok"), TOO_LONG, says("a summary"), says("the answer"))
    agent = build_graph(settings_of(workspace, server, context=100_000))
    try:
        assert talk(agent, 3)["answer"] == "the answer"
        before, after = server.requests[2], server.requests[4]
        assert len(after.sent("user")) < len(before.sent("user"))
    finally:
        agent.close()


def test_a_model_that_goes_on_saying_so_ends_the_run(workspace: Path, serve: Serve) -> None:
    server = serve(says("ok"), says("ok"), TOO_LONG)
    agent = build_graph(settings_of(workspace, server, context=100_000))
    try:
        out = talk(agent, 3)
        assert out["status"] == "failed"
        assert "the conversation is too long for provider local" in out["answer"]
        assert len(server.requests) == 5
    finally:
        agent.close()


def test_a_planner_that_says_it_is_too_much_is_asked_once_more_with_less(
    workspace: Path, serve: Serve
) -> None:
    task = says('{"task": "List the open tickets", "depends_on_chat_history": true}')
    server = serve(
        says("ok"), says("ok"), says("ok"), task, TOO_LONG, says("a summary"), says(LISTING), says("Done.")
    )
    agent = build_graph(settings_of(workspace, server, context=100_000))
    try:
        talk(agent, 3)
        config: Any = {"configurable": {"thread_id": "t"}}
        out = agent.invoke({"messages": [("user", f"{QUESTION} {PLANNED}")]}, config)
        assert (out["status"], out["answer"]) == ("completed", "Done.")
        before, after = server.requests[4].sent("user"), server.requests[6].sent("user")
        assert "0 word" in before
        assert "0 word" not in after
        assert "a summary" in after
        assert [told["by"] for told in events(agent)] == ["model"]
    finally:
        agent.close()


def test_a_first_step_that_says_it_is_too_much_is_asked_once_more_with_less(
    workspace: Path, serve: Serve
) -> None:
    task = says('{"task": "List the open tickets", "depends_on_chat_history": true}')
    server = serve(says("ok"), says("ok"), TOO_LONG, says("a summary"), task, says(LISTING), says("Done."))
    agent = build_graph(settings_of(workspace, server, context=100_000))
    try:
        talk(agent, 2)
        config: Any = {"configurable": {"thread_id": "t"}}
        out = agent.invoke({"messages": [("user", f"{QUESTION} {PLANNED}")]}, config)
        assert (out["status"], out["answer"]) == ("completed", "Done.")
        asked = [request.sent("user") for request in server.requests[4:6]]
        assert all("a summary" in text and "0 word" not in text for text in asked)
    finally:
        agent.close()


def test_results_that_are_too_much_to_tell_are_told_briefly(workspace: Path, serve: Serve) -> None:
    (workspace / "long.md").write_text("a line of text\n" * 200)
    reading = {"id": "s1", "capability": "files.read", "params": {"path": "long.md"}}
    plan = json.dumps({"goal": "Read it", "steps": [{**reading, "estimated_risk": "None"}]})
    server = serve(says(plan), TOO_LONG, says("It is long."))
    ended = ask(settings_of(workspace, server, planning={"mode": "always"}), "Read long.md")
    assert (ended.status, ended.answer) == ("completed", "It is long.")
    assert [call.get("error") is not None for call in ended.of("llm_call")] == [False, True, False]
    assert len(server.requests[2].sent("user")) < len(server.requests[1].sent("user")) / 2.9


def test_a_loop_that_grows_too_long_goes_on_with_its_task(workspace: Path, serve: Serve) -> None:
    read = calls("files__read", {"path": "long.md"})
    (workspace / "long.md").write_text("line of text\n" * 700)
    server = serve(read, read, says("I read it twice."), says("the answer"))
    agent = build_graph(settings_of(workspace, server, context=7000))
    try:
        out = talk(agent, 1, "read long.md")
        assert out["answer"] == "the answer"
        last = server.requests[-1].body["messages"]
        assert "0 read long.md" in server.requests[-1].sent("user")
        made = [call["id"] for message in last for call in message.get("tool_calls", ())]
        answered = [message["tool_call_id"] for message in last if message["role"] == "tool"]
        assert made == answered
        assert [told["by"] for told in events(agent)] == ["model"]
    finally:
        agent.close()
