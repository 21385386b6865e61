"""The JavaScript SDK and the components of agent-chat-ui, run by Node.js against one server."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.desk import environment
from tests.patience import PATIENCE_S
from tests.server.conftest import Server
from tests.server.conversation import DECISIONS, Decision, Errand, trace

pytestmark = [pytest.mark.enable_socket, pytest.mark.long]


def run_node(folder: Path, *words: str) -> str:
    """Run a script in the folder of the JavaScript tests, and return what it prints."""
    done = subprocess.run(
        ["node", *words],
        cwd=folder,
        env=environment({"NO_PROXY": "127.0.0.1"}),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def converse(folder: Path, server: Server, errand: Errand, decision: Decision) -> dict[str, Any]:
    """Hold one conversation and return what the SDK saw of it."""
    job = json.dumps({"request": errand.request, "resume": decision.resume})
    seen: dict[str, Any] = json.loads(run_node(folder, "converse.mjs", server.url, server.token, job))
    return seen


@pytest.mark.parametrize("decision", DECISIONS, ids=str)
def test_a_run_is_begun_answered_and_ended(javascript: Path, server: Server, decision: Decision) -> None:
    errand = Errand()
    seen = converse(javascript, server, errand, decision)
    (asked,) = seen["asked"]
    assert asked["value"]["action_requests"][0]["name"] == "approve_plan"
    assert decision.name in asked["value"]["review_configs"][0]["allowed_decisions"]
    assert "approval_requested" in seen["events"]
    assert (seen["status"], seen["next"]) == (decision.status, [])
    assert errand.is_done(server.desk) is decision.writes
    found = trace(server.desk, seen["thread_id"])
    assert found.gates == [(decision.gate, "server")]
    assert found.resolved == 1
    assert found.executions == ([1, 1] if decision.writes else [])


def test_every_scenario_of_the_sdk_and_of_the_chat_page(
    javascript: Path, server: Server, tmp_path: Path
) -> None:
    bundle = tmp_path / "bundle.mjs"
    run_node(javascript, "bundle.mjs", str(bundle))
    results: dict[str, str] = json.loads(run_node(javascript, str(bundle), server.url, server.token))
    assert {name: result for name, result in results.items() if result != "ok"} == {}
    pages = [name for name in results if name.startswith("page: ")]
    twice = "SELECT args FROM effects WHERE status = 'done' GROUP BY capability, args HAVING count(*) > 1"
    assert [args for (args,) in server.desk.rows(twice) if "js-" in args] == []
    assert (len(results) - len(pages) >= 20, len(pages) >= 8) == (True, True)
