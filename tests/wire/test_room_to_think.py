"""Models that think before they answer: thoughts have room of their own, whatever the answer may take."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

from benchmarks.contract_families import DeepSeek, Gemini, OpenAI, OpenRouter, Vllm
from benchmarks.contract_model import ANSWER
from benchmarks.contract_server import StrictServer
from planwright.cli.views.probing import probe
from planwright.graph.building import build_graph
from tests.wire.asking import ask, settings_for
from tests.wire.conftest import Serve
from tests.wire.scripted_server import says

pytestmark = pytest.mark.enable_socket
THOUGHT = 1_500
"""Tokens that the models of these tests think."""
KINDS = (OpenAI, DeepSeek, Vllm, Gemini, OpenRouter)


def thinker(server: StrictServer, name: str, **more: Any) -> dict[str, Any]:
    """Describe a model as a user does who knows only where it is."""
    return {"base_url": server.url(name), "api_key": "key-of-thinkers", "model": "a-thinker", **more}


def most_of(request: dict[str, Any]) -> int:
    """Read how many tokens a reply may have."""
    return int(request.get("max_completion_tokens") or request["max_tokens"])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("planning", ["never", "always"])
def test_a_run_goes_well_with_what_is_set_by_itself(
    workspace: Path, kind: type[OpenAI], planning: str
) -> None:
    family = kind()
    with StrictServer([family]) as server:
        server.thinks = THOUGHT
        settings = settings_for(
            workspace,
            {"local": thinker(server, family.name)},
            planning={"mode": planning},
            roles={"fast": "local"},
        )
        ended = ask(settings, "Remember that tickets matter to me, and count them. CASE:loop")
    assert (ended.status, ended.answer) == ("completed", ANSWER)
    newest = {event["role"]: event for event in ended.of("llm_call")}
    assert {"title", "consolidate"} <= newest.keys()
    assert not [role for role, event in newest.items() if "error" in event]


def test_a_reply_that_was_cut_is_asked_for_once_more_with_room_and_the_next_has_it_at_once(
    workspace: Path,
) -> None:
    family = DeepSeek()
    with StrictServer([family]) as server:
        server.thinks = THOUGHT
        settings = settings_for(
            workspace,
            {"local": thinker(server, family.name)},
            planning={"mode": "llm_decides"},
            roles={"fast": "local"},
        )
        ended = ask(settings, "Count the tickets. CASE:loop")
        vote, again, *later = server.served(family.name)
    assert ended.status == "completed"
    assert most_of(vote) == 3
    assert most_of(again) > THOUGHT
    assert vote["messages"] == again["messages"]
    assert all(most_of(request) > THOUGHT for request in later)
    first, second = [event for event in ended.of("llm_call") if event["role"] == "planning"]
    assert (first["output_tokens"], second["thought_tokens"] > 0) == (23, True)


def test_a_reply_whose_words_were_seen_is_not_asked_for_again(workspace: Path, serve: Serve) -> None:
    server = serve(says("Four tickets are", finish="length"))
    address = {"base_url": server.base_url, "api_key": "key-of-thinkers", "model": "m"}
    ended = ask(settings_for(workspace, {"local": address}, planning={"mode": "never"}))
    assert ended.status == "failed"
    assert "cut off at the token limit" in ended.answer
    assert len(server.requests) == 1


def test_a_plan_that_was_cut_is_asked_for_once_more_with_twice_the_room(
    workspace: Path, serve: Serve
) -> None:
    cut = says('{"goal": "List', finish="length")
    whole = says('{"goal": "List them", "steps": [{"id": "s1", "capability": "tickets.list"}]}')
    server = serve(cut, whole, says("Four tickets."))
    address = {"base_url": server.base_url, "api_key": "k-of-thinkers", "model": "m", "capabilities": []}
    ended = ask(settings_for(workspace, {"local": address}))
    assert (ended.status, ended.answer) == ("completed", "Four tickets.")
    assert [most_of(request.body) for request in server.requests] == [4096, 8192, 4096]


@pytest.mark.parametrize(
    ("set_up", "asked", "little"),
    [
        ({"thinking": "low"}, {"reasoning_effort": "low"}, {"reasoning_effort": "low"}),
        ({"thinking": "high"}, {"reasoning_effort": "high"}, {"reasoning_effort": "low"}),
        ({"thinking": "off"}, {"reasoning_effort": "none"}, {"reasoning_effort": "none"}),
        ({"capabilities": ["function_calling", "reasoning"]}, {}, {"reasoning_effort": "low"}),
        ({"options": {"top_p": 0.5}}, {"top_p": 0.5}, {"top_p": 0.5}),
    ],
)
def test_small_roles_ask_for_little_where_a_model_is_known_to_think(
    workspace: Path, serve: Serve, set_up: dict[str, Any], asked: dict[str, Any], little: dict[str, Any]
) -> None:
    server = serve(says("no"), says("Four tickets."), says("Tickets"))
    address = {"base_url": server.base_url, "api_key": "key-of-thinkers", "model": "m", **set_up}
    sections: Any = {"planning": {"mode": "llm_decides"}, "roles": {"fast": "local"}}
    assert ask(settings_for(workspace, {"local": address}, **sections)).status == "completed"
    vote, agent, *_ = (request.body for request in server.requests)
    fields = ("reasoning_effort", "top_p")
    assert {name: vote[name] for name in fields if name in vote} == little
    assert {name: agent[name] for name in fields if name in agent} == asked


def test_the_tokens_of_thinking_come_on_top_of_those_of_the_answer(workspace: Path, serve: Serve) -> None:
    server = serve(says("Four tickets."))
    address = {"base_url": server.base_url, "api_key": "key-of-thinkers", "model": "m"}
    limits = {"thinking": "low", "thinking_tokens": 1_000, "max_output": 5_000}
    settings = settings_for(workspace, {"local": {**address, **limits}}, planning={"mode": "never"})
    assert ask(settings).status == "completed"
    assert most_of(server.requests[0].body) == 5_000  # not 4,096 and 1,000


def test_a_conversation_of_five_turns_with_a_model_that_thinks(workspace: Path) -> None:
    family = DeepSeek()
    with StrictServer([family]) as server:
        server.thinks = THOUGHT
        local = {"local": thinker(server, family.name)}
        config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}
        with build_graph(settings_for(workspace, local, planning={"mode": "auto"})) as agent:
            ends = []
            for turn in range(5):
                given: Any = {"messages": [("user", f"And now, for the time {turn}? CASE:loop")]}
                out = agent.invoke(given, config)
                ends.append((out["status"], out["answer"]))
    assert ends == [("completed", ANSWER)] * 5


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_probe_of_a_model_that_thinks_says_what_it_can(
    tmp_path: Path, kind: type[OpenAI], capsys: pytest.CaptureFixture[str]
) -> None:
    family = kind()
    with StrictServer([family]) as server:
        server.thinks = THOUGHT
        written = "\n".join(f'{name} = "{value}"' for name, value in thinker(server, family.name).items())
        (tmp_path / "planwright.toml").write_text(f"[providers.local]\n{written}\n", "utf-8")
        assert probe(tmp_path) == 0
    out = " ".join(capsys.readouterr().out.split())
    for ability in ("answers", "function_calling", "json_mode", "streaming"):
        assert f"{ability} yes (" in out
    assert "tokens of thought)" in out
    assert '"reasoning"]' in out


def test_a_probe_takes_no_reply_that_was_cut_for_an_inability(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    family = Vllm()
    with StrictServer([family]) as server:
        server.thinks = 100_000
        written = "\n".join(f'{name} = "{value}"' for name, value in thinker(server, family.name).items())
        (tmp_path / "planwright.toml").write_text(f"[providers.local]\n{written}\n", "utf-8")
        assert probe(tmp_path) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "function_calling not known: the reply was cut off at the token limit" in out
    assert "function_calling no:" not in out
