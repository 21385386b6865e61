"""Bad requests and answers: each is refused in a few lines that say why and what to do, and costs nothing."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from planwright.domain.errors import SetupError
from planwright.graph.building import build_graph
from planwright.settings.settings import load
from tests.cli.conftest import Waiting, ask, reject
from tests.cli.desk import Desk, refusal

pytestmark = pytest.mark.long


@dataclass(frozen=True)
class Case:
    """A bad command over a run that waits, and what its message has to say."""

    name: str
    args: Callable[[Waiting], list[str]]
    cause: str
    next_step: str


CASES = (
    Case("empty request", lambda w: ["run", ""], "the request is empty", 'planwright run "'),
    Case("huge request", lambda w: ["run", "x" * 120_000], "120,000 characters", "into a file"),
    Case("no folder", lambda w: ["ls", "-w", "/nowhere"], "no folder /nowhere", "mkdir -p /nowhere"),
    Case(
        "new message over an open gate",
        lambda w: ["run", "more", "--thread", w.thread_id],
        "waits for a decision at gate gate_",
        "planwright approve gate_",
    ),
    Case("resume an unknown thread", lambda w: ["resume", "nope"], "no thread or run nope", "planwright ls"),
    Case("show an unknown run", lambda w: ["show", "run_nope"], "no thread or run run_nope", "planwright ls"),
    Case(
        "events of an unknown thread", lambda w: ["events", "nope"], "no thread or run nope", "planwright ls"
    ),
    Case(
        "approve an unknown gate",
        lambda w: ["approve", "gate_nope"],
        "is named gate_nope",
        "planwright ls --waiting",
    ),
    Case(
        "approve what was not shown",
        lambda w: ["approve", w.gate_id, "--plan-hash", "0" * 64],
        "names plan_hash 000000000000",
        "planwright show ",
    ),
    Case(
        "an unknown capability",
        lambda w: ["capabilities", "mail.serch"],
        "no capability mail.serch",
        "mail.search",
    ),
)
BYTES = "caf\udce9 "  # as Python reads a byte of Latin-1 in a terminal of UTF-8
HALVES = (
    *((word, BYTES) for word in ("run", "show", "events", "resume", "cancel", "approve", "fork", "undo")),
    *(("sessions", word, BYTES) for word in ("show", "pause", "cancel")),
    ("run", "Do it", "--thread", BYTES),
    ("run", "--background", BYTES),
    ("db", "query", f"SELECT '{BYTES}'"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_bad_command_says_why_and_changes_nothing(desk: Desk, waiting: Waiting, case: Case) -> None:
    done = desk.run(*case.args(waiting))
    said = refusal(done)
    assert done.code == 2
    assert case.cause in said
    assert case.next_step in said.splitlines()[-1]
    assert desk.rows("SELECT gate_id, status FROM gates") == [(waiting.gate_id, "open")]
    assert desk.rows("SELECT run_id, status FROM runs") == [(waiting.run_id, "waiting")]
    assert desk.rows("SELECT count(*) FROM effects") == [(0,)]
    assert not (desk.folder / "note.md").exists()


@pytest.mark.parametrize("args", HALVES, ids=lambda args: " ".join(args[:-1]))
def test_bytes_that_are_no_utf_8_are_refused_wherever_they_are_typed(
    desk: Desk, waiting: Waiting, args: tuple[str, ...]
) -> None:
    done = desk.run(*args)
    said = refusal(done)
    assert done.code == 2
    assert "half a character" in said
    assert "valid UTF-8" in said.splitlines()[-1]
    assert desk.rows("SELECT run_id, status FROM runs") == [(waiting.run_id, "waiting")]


@pytest.mark.parametrize("request_", [" \n\t ", "x" * 1_000_000], ids=["whitespace", "1 MB"])
def test_a_request_that_cannot_be_read_begins_no_run(desk: Desk, request_: str) -> None:
    agent = build_graph(load(desk.folder))
    config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}
    with pytest.raises(SetupError) as refused:
        agent.invoke({"messages": [("user", request_)]}, config)
    agent.close()
    assert len(str(refused.value)) < 300
    assert refused.value.next_step
    assert desk.rows("SELECT count(*) FROM runs") == [(0,)]


def test_a_second_answer_is_refused_and_the_first_stays(desk: Desk, waiting: Waiting) -> None:
    reject(desk.folder, waiting)
    done = desk.run("approve", waiting.gate_id)
    said = refusal(done)
    assert done.code == 2
    assert "rejected" in said
    assert f"planwright show {waiting.thread_id}" in said
    assert desk.rows("SELECT status FROM gates") == [("rejected",)]
    assert not (desk.folder / "note.md").exists()


def test_an_expired_gate_takes_no_answer_and_resume_closes_its_run(desk: Desk) -> None:
    desk.settings("[sessions]\ngate_ttl_s = 1\n")
    late = ask(desk.folder, "Save hello to note.md")
    ((expires_at,),) = desk.rows("SELECT expires_at FROM gates")
    left = (datetime.fromisoformat(expires_at) - datetime.now(UTC)).total_seconds()
    time.sleep(min(max(left, 0), 2))

    done = desk.run("approve", late.gate_id)
    said = refusal(done)
    assert done.code == 2
    assert "expired" in said
    assert f"planwright resume {late.thread_id}" in said

    closed = desk.run("resume", late.thread_id)
    assert closed.code == 4
    assert re.search("nobody decided .* nothing was run", closed.stdout, re.IGNORECASE)
    assert "None" not in closed.stderr
    assert not (desk.folder / "note.md").exists()


def test_a_webhook_that_is_not_allow_listed_is_named_with_the_setting_that_allows_it(desk: Desk) -> None:
    desk.settings('[channels.team]\nurl = "http://127.0.0.1:9/hook"\n')
    done = desk.run("run", "Send hello to the team channel")
    assert done.code in (1, 7)
    assert "127.0.0.1:9" in done.stdout
    assert "[egress] allow" in done.stdout
    assert len(done.stdout.splitlines()) <= 6
    assert desk.rows("SELECT count(*) FROM effects") == [(0,)]
