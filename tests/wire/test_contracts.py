"""What a server sends with a message and wants back goes back to it word for word, and nowhere else."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from benchmarks.contract_anthropic import Anthropic
from benchmarks.contract_chat import ChatFamily
from benchmarks.contract_families import DeepSeek, Gemini, Groq
from benchmarks.contract_model import ANSWER, thoughts_of
from benchmarks.contract_server import Family, StrictServer
from benchmarks.contracts import FAMILIES
from planwright.graph.building import build_graph
from tests.cli.desk import Desk
from tests.wire.asking import Ended, ask, settings_for

pytestmark = pytest.mark.enable_socket
LOOP = "Look how many tickets are open. CASE:loop"


def provider_of(
    server: StrictServer, family: Family, *, streams: bool = False, **more: Any
) -> dict[str, Any]:
    """Describe a family as a provider."""
    capabilities = [*family.capabilities, *(["streaming"] if streams else [])]
    address = {"base_url": server.url(family.name), "api_key": "key-of-contracts", "model": family.model}
    return {**address, "capabilities": capabilities, **family.settings, **more}


def looped(folder: Path, server: StrictServer, request: str = LOOP, **more: Any) -> Ended:
    """Ask for what takes a loop of three turns; the families serve in their order."""
    names = list(server.families)
    providers = {
        name: provider_of(server, family, priority=names.index(name), **more)
        for name, family in server.families.items()
    }
    sections: Any = {"failover": {"retries": 0}, "planning": {"mode": "never"}}
    return ask(settings_for(folder, providers, **sections), request)


@pytest.mark.parametrize(
    ("streams", "case"),
    [
        (False, "loop"),
        (True, "parallel"),
        pytest.param(True, "loop", marks=pytest.mark.sweep),
        pytest.param(False, "parallel", marks=pytest.mark.sweep),
    ],
)
@pytest.mark.parametrize("kind", FAMILIES, ids=lambda kind: kind.name)
def test_a_loop_of_three_turns_gives_back_what_its_server_wants(
    workspace: Path, kind: type[Family], streams: bool, case: str
) -> None:
    family = kind()
    with StrictServer([family]) as server:
        ended = looped(workspace, server, f"Look. CASE:{case}", streams=streams)
    assert (ended.status, ended.answer, family.altered) == ("completed", ANSWER, [])
    assert ended.of("provider_data_dropped") == []


@pytest.mark.parametrize("streams", [False, True])
def test_what_deepseek_thought_goes_back_also_where_it_is_nothing(workspace: Path, streams: bool) -> None:
    family = DeepSeek()
    family.count = 1  # the second reply of the loop has no thoughts
    with StrictServer([family]) as server:
        ended = looped(workspace, server, streams=streams)
        (*_, last) = server.served("deepseek")
    assert (ended.status, server.refusals) == ("completed", [])
    sent = [message["reasoning_content"] for message in last["messages"] if message.get("tool_calls")]
    assert sent == [thoughts_of("deepseek"), ""]


def test_who_takes_over_is_told_the_calls_in_words_where_it_refuses_them(workspace: Path) -> None:
    with StrictServer([DeepSeek(), Gemini()]) as server:
        server.away["deepseek"] = 2
        ended = looped(workspace, server)
        sent = server.served("gemini")
    assert (ended.status, ended.answer) == ("completed", ANSWER)
    assert len(server.refusals) == 1
    (dropped,) = ended.of("provider_data_dropped")
    assert dropped["provider"] == "gemini"
    assert "thought_signature" in dropped["cause"]
    assert thoughts_of("deepseek") not in json.dumps(sent)
    assert not any(message.get("tool_calls") for message in sent[-1]["messages"])
    assert "[called tickets__list with {}]" in json.dumps(sent[-1]["messages"])


def test_a_signature_that_its_server_no_longer_knows_is_left_out(workspace: Path) -> None:
    family = Forgetful()
    with StrictServer([family]) as server:
        ended = looped(workspace, server)
    assert (ended.status, ended.answer) == ("completed", ANSWER)
    assert [text for _, text in server.refusals] == ["Corrupted thought signature."]


class Forgetful(Gemini):
    """Gemini, after its keys were changed once."""

    def read(self, request: dict[str, Any]) -> Any:
        """Know no signature of the first reply any more."""
        if self.count == 1:
            self.count = 0
            try:
                return super().read(request)
            finally:
                self.count = 1
        return super().read(request)


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("kind", [Talkative := type("Talkative", (DeepSeek,), {}), Anthropic])
def test_thoughts_that_hold_a_secret_are_not_kept_and_that_is_told(
    workspace: Path, kind: type[Family], streams: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTRACT_SECRET", "which tickets are there")  # a part of what every model thinks
    with StrictServer([kind()]) as server:
        names = list(server.families)
        providers = {names[0]: provider_of(server, server.families[names[0]], streams=streams)}
        sections: Any = {"planning": {"mode": "never"}, "secrets": {"env": ["CONTRACT_SECRET"]}}
        ended = ask(settings_for(workspace, providers, **sections), LOOP)
        first, *others = server.served(names[0])
    assert (ended.status, ended.answer) == ("completed", ANSWER)
    causes = {event["cause"] for event in ended.of("provider_data_dropped")}
    assert "it holds the secret CONTRACT_SECRET" in causes
    assert others
    assert "which tickets are there" not in json.dumps([first, *others])


def test_no_other_role_hears_what_was_thought(workspace: Path) -> None:
    family = DeepSeek()
    with StrictServer([family]) as server:
        providers = {"local": provider_of(server, family)}
        ended = ask(settings_for(workspace, providers), "Say how many tickets are open.")
        requests = server.served("deepseek")
    assert ended.status == "completed"
    assert len([request for request in requests if not request.get("tools")]) >= 2  # planner and respond
    told = [request for request in requests if thoughts_of("deepseek") in json.dumps(request)]
    assert told
    assert all("tickets__list" in json.dumps(request["tools"]) for request in told)


@pytest.mark.parametrize("kind", [DeepSeek, Anthropic])
def test_nothing_of_it_is_streamed_or_returned(workspace: Path, kind: type[Family]) -> None:
    family = kind()
    with StrictServer([family]) as server:
        local = {"local": provider_of(server, family, streams=True)}
        settings = settings_for(workspace, local, planning={"mode": "never"})
        config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}
        with build_graph(settings) as agent:
            given: Any = {"messages": [("user", LOOP)]}
            chunks: Any = list(agent.stream(given, config, stream_mode=["messages", "values"]))
    pieces = [chunk[0] for mode, chunk in chunks if mode == "messages"]
    assert any("reasoning_content" in piece.additional_kwargs for piece in pieces)  # for whoever looks there
    for message in [*pieces, *chunks[-1][1]["messages"]]:
        assert message.additional_kwargs.keys() <= {"reasoning_content"}


def test_a_fork_in_another_process_gives_back_what_its_source_was_sent(workspace: Path) -> None:
    family = DeepSeek()
    with StrictServer([family]) as server:
        local = provider_of(server, family)
        written = "\n".join(f"{name} = {json.dumps(value)}" for name, value in local.items())
        (workspace / "planwright.toml").write_text(
            f'[planning]\nmode = "never"\n[providers.local]\n{written}\n', "utf-8"
        )
        desk = Desk(workspace)
        assert desk.run("run", LOOP).code == 0
        ((source,),) = desk.rows("SELECT run_id FROM runs")
        done = desk.run("fork", source)
    assert (done.code, done.stdout, server.refusals) == (0, f"{ANSWER}\n", [])


def test_a_field_that_a_server_does_not_take_back_is_left_out_from_then_on(workspace: Path) -> None:
    family = Unwanted()
    with StrictServer([family]) as server:
        ended = looped(workspace, server)
        sent = server.served("groq")
    assert (ended.status, ended.answer) == ("completed", ANSWER)
    assert len(server.refusals) == 1
    assert "reasoning" not in json.dumps(sent[-1]["messages"])


class Unwanted(Groq):
    """Groq with a model whose thoughts come, and may not go back."""

    fields = ChatFamily.fields

    def _compare(self, own: dict[str, Any], message: dict[str, Any]) -> None:
        """Let them be missing."""


def test_anthropic_is_told_how_far_a_prompt_stays_the_same(workspace: Path) -> None:
    with StrictServer([Anthropic()]) as server:
        looped(workspace, server)
        requests = server.served("anthropic")
    assert len({json.dumps(request["system"]) for request in requests}) == 1
    assert all(request["system"][-1]["cache_control"] == {"type": "ephemeral"} for request in requests)
    first, *later = requests
    assert "cache_control" not in json.dumps(first["messages"])
    assert all("cache_control" in json.dumps(request["messages"][-1]) for request in later)
    assert all("cache_control" not in json.dumps(request["messages"][:-1]) for request in later)
