"""The JavaScript SDK, run by Node.js: the same conversation as in Python."""

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

pytestmark = pytest.mark.enable_socket


def converse(folder: Path, server: Server, errand: Errand, decision: Decision) -> dict[str, Any]:
    """Hold one conversation and return what the SDK saw of it."""
    job = json.dumps({"request": errand.request, "resume": decision.resume})
    done = subprocess.run(
        ["node", "converse.mjs", server.url, server.token, job],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
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
