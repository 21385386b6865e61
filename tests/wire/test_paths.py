"""A model that plans its way out of the workspace: the plan is refused, and nothing is touched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.wire.asking import ask, provider, settings_for
from tests.wire.conftest import Serve
from tests.wire.scripted_server import says

pytestmark = pytest.mark.enable_socket

SECRET = "the secret is 7319"


def out_of(workspace: Path, way: str) -> str:
    """Name the file beside the workspace, the way a plan could."""
    return {"dots": "../secret.txt", "absolute": str(workspace.parent / "secret.txt"), "link": "door"}[way]


@pytest.mark.parametrize("capability", ["files.read", "files.write"])
@pytest.mark.parametrize("way", ["dots", "absolute", "link"])
def test_a_plan_that_leaves_the_workspace_is_refused(
    workspace: Path, serve: Serve, way: str, capability: str
) -> None:
    secret = workspace.parent / "secret.txt"
    secret.write_text(SECRET, encoding="utf-8")
    (workspace / "door").symlink_to(secret)
    path = out_of(workspace, way)
    params = {"path": path} | ({"text": "mine now"} if capability == "files.write" else {})
    plan = {"goal": "leave", "steps": [{"id": "s1", "capability": capability, "params": params}]}
    server = serve(says(json.dumps(plan)))

    ended = ask(settings_for(workspace, {"local": provider(server)}))

    assert ended.status == "refused"
    assert path in ended.answer
    assert "outside the workspace" in ended.answer
    assert len(ended.answer.splitlines()) <= 6
    assert ended.record["steps"] == []
    assert secret.read_text("utf-8") == SECRET
    assert all(SECRET not in json.dumps(request.body) for request in server.requests)
    assert "not_permitted" in server.requests[1].sent("user")


def test_a_path_that_only_the_run_knows_is_checked_before_the_call(workspace: Path, serve: Serve) -> None:
    secret = workspace.parent / "secret.txt"
    secret.write_text(SECRET, encoding="utf-8")
    (workspace / "where.txt").write_text("../secret.txt", encoding="utf-8")
    steps = [
        {"id": "s1", "capability": "files.read", "params": {"path": "where.txt"}},
        {"id": "s2", "capability": "files.read", "params": {"path": "{{steps.s1.output.text}}"}},
    ]
    server = serve(says(json.dumps({"goal": "leave", "steps": steps})), says("I could not read it."))

    ended = ask(settings_for(workspace, {"local": provider(server)}))

    assert ended.status == "failed"
    (failed,) = [step for step in ended.record["steps"] if step["status"] == "failed"]
    assert "outside the workspace" in failed["error"]
    assert all(SECRET not in json.dumps(request.body) for request in server.requests)
