"""`planwright doctor --probe`: what an endpoint can do, found out by asking it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planwright.cli.views.probing import plans_by, probe
from tests.wire.conftest import Serve
from tests.wire.scripted_server import ScriptedServer, calls, refuses, says

pytestmark = pytest.mark.enable_socket

OK, WORD = says("ok"), says('{"word": "ok"}')
NO = refuses(400, "not supported by this model")


def settings(folder: Path, server: ScriptedServer, *capabilities: str, **more: Any) -> Path:
    lines = {"base_url": server.base_url, "model": "m", "api_key": "k", "capabilities": list(capabilities)}
    written = "\n".join(f"{name} = {json.dumps(value)}" for name, value in (lines | more).items())
    (folder / "planwright.toml").write_text(f"[providers.local]\n{written}\n")
    return folder


def test_an_endpoint_that_can_do_everything_is_told_so(
    tmp_path: Path, serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    server = serve(OK, calls("ping", {"word": "ok"}), WORD, WORD, says("one two three"))
    known = ("function_calling", "json_schema", "json_mode", "streaming")
    assert probe(settings(tmp_path, server, *known)) == 0
    out = capsys.readouterr().out
    assert out.count(" yes") == 6
    assert "JSON schema" in out
    assert "set it" not in out
    assert server.requests[4].body["stream"] is True


def test_what_is_used_instead_of_what_an_endpoint_cannot_do_is_told(
    tmp_path: Path, serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    server = serve(OK, NO, NO, WORD, NO)
    assert probe(settings(tmp_path, server, "function_calling", "streaming")) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "tools are called in words" in out
    assert "answers come whole" in out
    assert "plans come by JSON mode" in out
    assert '[providers.local] capabilities = ["json_mode"]' in out


def test_what_an_endpoint_refuses_is_left_out_and_named(
    tmp_path: Path, serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    refusal = refuses(400, "additionalProperties is not supported")
    server = serve(OK, refusal, calls("ping", {"word": "ok"}), WORD, WORD, says("one two three"))
    probe(settings(tmp_path, server))
    out = " ".join(capsys.readouterr().out.split())
    assert "all parameters no: it refuses additionalProperties → left out of each request" in out


def test_every_model_of_a_provider_is_asked_and_named(
    tmp_path: Path, serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    server = serve(OK, NO, NO, WORD, says("one two"), OK, calls("ping", {"word": "ok"}), NO, NO, NO)
    folder = settings(tmp_path, server, "json_mode", "streaming")
    with (folder / "planwright.toml").open("a") as file:
        file.write('[providers.local.models."deep/2"]\ncapabilities = ["reasoning"]\n')
    assert probe(folder) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert [request.body["model"] for request in server.requests] == ["m"] * 5 + ["deep/2"] * 5
    assert '[providers.local.models."deep/2"] capabilities = ["function_calling", "reasoning"]' in out
    assert "[providers.local] capabilities" not in out


def test_an_endpoint_that_does_not_answer_is_asked_nothing_more(
    tmp_path: Path, serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    server = serve(refuses(401))
    assert probe(settings(tmp_path, server)) == 1
    assert "refused the key" in capsys.readouterr().out
    assert len(server.requests) == 1


def test_probing_counts_against_the_limit_of_the_provider(
    tmp_path: Path, serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    server = serve(OK)
    assert probe(settings(tmp_path, server, daily_tokens=10)) == 1
    assert "daily_tokens" in capsys.readouterr().out
    assert server.requests == []


def test_without_a_provider_there_is_nothing_to_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert probe(tmp_path) == 0
    assert "the embedded planner serves" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("can", "way"),
    [({"json_mode", "function_calling"}, "a tool call"), (set(), "words, read and repaired")],
)
def test_the_way_plans_come_by(can: set[str], way: str) -> None:
    assert plans_by(can) == way
