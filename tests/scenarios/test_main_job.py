"""The main job on the demo workspace, by the embedded planner, begun and approved in two processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from planwright.demo.service import Webhook
from planwright.demo.workspace import write_workspace

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

JOB = (
    "Search my emails for the invoice from Acme, then create a ticket with the amount"
    " and send a summary to the team channel"
)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, stage: Callable[[Path], Scene]) -> dict[str, Any]:
    """Play the whole job, with `open_agent` in both processes and a webhook that fails once."""
    folder = tmp_path_factory.mktemp("main_job")
    scene = stage(folder)
    write_workspace(folder)
    with Webhook(folder.parent / "hook.db", faults=1) as hook:
        toml = f'[channels.team]\nurl = "{hook.url}"\n[egress]\nallow = ["{hook.url.split("/")[2]}"]\n'
        (folder / "planwright.toml").write_text(toml, encoding="utf-8")
        first = scene.child(scene.entry("stream", message=JOB))["outputs"][0]
        resume = {"decisions": [{"type": "approve"}]}
        second = scene.child(scene.entry("astream", resume=resume))["outputs"][0]
    return {"first": first, "second": second, "scene": scene, "hook": folder.parent / "hook.db"}


def test_x(played: Any) -> None:
    print([e["type"] for e in played["first"]["events"]], [e["type"] for e in played["second"]["events"]])
    print([e["type"] for e in played["scene"].journal()], played["second"])
    assert 0
