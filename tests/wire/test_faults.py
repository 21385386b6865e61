"""A provider that fails: how often it is tried, what the answer says, and that nobody takes its place."""

from __future__ import annotations

import re
import socket
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from planwright.settings.settings import Settings
from tests.patience import PATIENCE_S
from tests.wire.asking import LISTING, Ended, ask, provider, settings_for
from tests.wire.conftest import Serve
from tests.wire.scripted_server import (
    Reply,
    ScriptedServer,
    cut_short,
    garbage,
    hangs,
    no_choices,
    refuses,
    resets,
    says,
)

pytestmark = pytest.mark.enable_socket

ATTEMPTS = 3


@dataclass(frozen=True)
class Fault:
    """A reply that is no answer, how often it is asked for, and what the run's answer has to name."""

    name: str
    reply: Reply
    tries: int
    cause: str
    waits: bool = False


ERROR_IN_OK = Reply(body='{"error": {"message": "overloaded", "code": 529}}')
NULL_CHOICES = Reply(body='{"id": "c", "object": "chat.completion", "choices": null}')
FAULTS = (
    Fault("bad request", refuses(400, "unsupported parameter"), 1, "HTTP 400"),
    Fault("bad key", refuses(401), 1, "refused the key (HTTP 401)"),
    Fault("forbidden", refuses(403), 1, "refused the key (HTTP 403)"),
    Fault("unknown model", refuses(404, "no such model"), 1, "HTTP 404"),
    Fault("unprocessable", refuses(422), 1, "HTTP 422"),
    Fault("rate limit", refuses(429, "slow down"), ATTEMPTS, "HTTP 429", waits=True),
    Fault("server error", refuses(500), ATTEMPTS, "HTTP 500", waits=True),
    Fault("unavailable", refuses(503), ATTEMPTS, "HTTP 503", waits=True),
    Fault("hang", hangs(), ATTEMPTS, "sent nothing for 0.5 s"),
    Fault("reset", resets(), ATTEMPTS, "unreachable", waits=True),
    Fault("cut short", cut_short(), ATTEMPTS, "unreachable", waits=True),
    Fault("garbage", garbage(), ATTEMPTS, "no usable reply"),
    Fault("no choices", no_choices(), ATTEMPTS, "no usable reply"),
    Fault("null choices", NULL_CHOICES, ATTEMPTS, "no usable reply"),
    Fault("an error in a 200", ERROR_IN_OK, ATTEMPTS, "HTTP 529", waits=True),
)


def settings_of(workspace: Path, server: ScriptedServer, idle_s: float = PATIENCE_S) -> Settings:
    local = provider(server, idle_timeout_s=idle_s)
    return settings_for(workspace, {"local": local}, failover={"retries": ATTEMPTS - 1})


def assert_explained(ended: Ended, cause: str, status: str) -> None:
    """Check that a failed or paused run says briefly who failed, why, and what to do."""
    assert ended.status == status
    assert "provider local" in ended.answer
    assert cause in ended.answer
    assert not re.search("Traceback|NoneType|index out of range", ended.answer)
    assert 2 <= len(ended.answer.splitlines()) <= 6
    step = ended.answer.removesuffix("\ngo on with it: invoke(None, config)").splitlines()[-1]
    assert re.search("(^|; )(check|try) ", step)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_tried_as_often_as_it_may_help_and_then_explained(
    workspace: Path, serve: Serve, fault: Fault
) -> None:
    server, hangs = serve(fault.reply), fault.name == "hang"
    ended = ask(settings_of(workspace, server, 0.5) if hangs else settings_of(workspace, server))
    assert_explained(ended, fault.cause, "paused" if fault.waits else "failed")
    assert len(ended.of("llm_call")) == fault.tries
    assert hangs or len(server.requests) == fault.tries  # what is given up may be so before it arrives
    assert {call["provider"] for call in ended.of("llm_call")} == {"local"}
    assert ended.record["steps"] == []


def test_an_address_where_nobody_listens_is_explained(workspace: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    address = f"http://127.0.0.1:{port}/v1"
    ended = ask(settings_for(workspace, {"local": provider(base_url=address)}, failover={"retries": 1}))
    assert_explained(ended, "unreachable", "paused")
    assert len(ended.of("llm_call")) == 2


def test_a_provider_that_rests_after_replies_of_no_use_ends_the_run_as_one_of_them_does(
    workspace: Path, serve: Serve
) -> None:
    server = serve(garbage())
    settings = settings_for(workspace, {"local": provider(server)}, planner={"attempts": 3})
    ended = ask(settings)
    assert_explained(ended, "no usable reply", "failed")
    assert len(ended.of("llm_call")) == settings.breaker.failures


def test_a_provider_that_recovers_serves(workspace: Path, serve: Serve) -> None:
    server = serve(refuses(503), resets(), says(LISTING), says("Four tickets."))
    ended = ask(settings_of(workspace, server))
    assert (ended.status, ended.answer) == ("completed", "Four tickets.")
    assert len(server.requests) == 4


def test_retry_after_is_waited_for(workspace: Path, serve: Serve) -> None:
    server = serve(refuses(429, headers={"Retry-After": "1"}), says(LISTING), says("Four tickets."))
    ended = ask(settings_of(workspace, server))
    assert ended.status == "completed"
    first, second, _ = server.requests
    assert second.at - first.at >= 1.0


def test_failed_calls_are_recorded_as_calls(workspace: Path, serve: Serve) -> None:
    ended = ask(settings_of(workspace, serve(refuses(500))))
    assert ended.record["paused_for"] == "provider"
    assert len(ended.of("llm_call")) == ATTEMPTS
    assert all("HTTP 500" in call["error"] for call in ended.of("llm_call"))


def test_when_only_the_answer_fails_the_results_are_told_and_the_failure_is_named(
    workspace: Path, serve: Serve
) -> None:
    ended = ask(settings_of(workspace, serve(says(LISTING), refuses(401))))
    assert ended.status == "completed"
    assert "Quote for two more greenhouses" in ended.answer
    assert "could not put this into words" in ended.answer
    assert "provider local refused the key" in ended.answer
