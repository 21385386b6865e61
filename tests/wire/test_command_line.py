"""The command with a provider: from the environment alone, and one that fails."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.desk import Desk, Outcome
from tests.wire.asking import LISTING, QUESTION, ask, settings_for
from tests.wire.conftest import Serve
from tests.wire.scripted_server import Reply, refuses, says

pytestmark = pytest.mark.enable_socket

QUICK = "[planner]\nattempts = 1\n[failover]\nretries = 1\nbase_ms = 1\n"


def test_a_key_and_an_address_in_the_environment_make_a_provider(workspace: Path, serve: Serve) -> None:
    server = serve(says(LISTING), says("Four tickets."))
    env = {"OPENAI_API_KEY": "key-of-env", "OPENAI_BASE_URL": server.base_url, "OPENAI_MODEL": "env-model"}
    done = Desk(workspace).run("run", QUESTION, "--planning", "always", env=env)
    assert (done.code, done.stdout) == (0, "Four tickets.\n")
    assert [(request.key, request.body["model"]) for request in server.requests] == [
        ("key-of-env", "env-model")
    ] * 2
    assert "not a language model" not in done.stderr


def test_a_provider_in_the_settings_goes_before_the_environments(
    workspace: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = serve(says(LISTING), says("Four tickets.")), serve(refuses(500))
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-env")
    monkeypatch.setenv("OPENAI_BASE_URL", other.base_url)
    monkeypatch.setenv("MY_KEY", "my-key")
    settings = {"base_url": mine.base_url, "model": "m", "api_key_env": "MY_KEY"}
    assert ask(settings_for(workspace, {"local": settings})).status == "completed"
    assert [request.key for request in mine.requests] == ["my-key"] * 2
    assert other.requests == []


@dataclass(frozen=True)
class Case:
    """A provider that fails, and what the answer has to say."""

    name: str
    reply: Reply | None
    tries: int
    cause: str
    ends: tuple[int, str] = (1, "failed")


PAUSED = (2, "paused")
CASES = (
    Case("bad key", refuses(401, "Incorrect API key"), 1, "refused the key"),
    Case("rate limit", refuses(429, "slow down"), 2, "HTTP 429", PAUSED),
    Case("unreachable", None, 0, "unreachable", PAUSED),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_provider_that_fails_is_explained_and_not_replaced(
    workspace: Path, serve: Serve, case: Case
) -> None:
    server = serve(case.reply or refuses(500))
    address = server.base_url if case.reply else "http://127.0.0.1:1/v1"
    desk = Desk(workspace)
    desk.settings(f'{QUICK}[providers.local]\nbase_url = "{address}"\nmodel = "m"\napi_key = "k-7319"\n')
    done = desk.run("run", QUESTION)
    code, status = case.ends
    assert done.code == code
    if status == "failed":
        assert_answered(done, case.cause)
    else:
        paused, go_on = done.stderr.splitlines()[-2:]
        assert paused.startswith("paused     provider local")
        assert case.cause in paused
        assert go_on.split()[:4] == ["go", "on", "planwright", "resume"]
        assert done.stdout == ""
    assert len(server.requests) == case.tries
    assert desk.rows("SELECT status FROM runs") == [(status,)]


def assert_answered(done: Outcome, cause: str) -> None:
    """Check a failed run's answer: brief, to the point, with a next step and without the key."""
    lines = done.stdout.splitlines()
    assert 2 <= len(lines) <= 6
    assert "provider local" in lines[0]
    assert cause in lines[0]
    assert re.match("(check|try) ", lines[-1])
    assert "Traceback" not in done.printed
    assert "embedded" not in done.printed
    assert "greenhouses" not in done.printed
    assert "k-7319" not in done.printed
