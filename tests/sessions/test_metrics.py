"""What monitoring hears of a worker: counts from the store, and whether it is well."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest

from planwright.sessions.metrics import monitoring
from tests.scenarios.conftest import Scene

pytestmark = pytest.mark.enable_socket


def get(port: int, path: str) -> tuple[int, str]:
    """Ask, and return status and text."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_runs_gates_and_effects_are_counted(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.wipe")), "wiped")
    agent.enqueue("Something secret")
    scene.ask(agent)
    with monitoring(0, agent.stores.database, lambda: True) as port:
        waiting = get(port, "/metrics")[1]
        for _ in ("the plan", "its destructive step"):
            scene.decide(agent, "approve")
        status, ended = get(port, "/metrics")
    assert status == 200
    assert 'planwright_runs_open{status="queued"} 1.0' in waiting
    assert 'planwright_gates_open{kind="plan"} 1.0' in waiting
    assert 'planwright_runs_ended_total{status="completed"} 1.0' in ended
    assert 'planwright_effects_total{status="done"} 1.0' in ended
    assert "secret" not in ended


def test_it_says_whether_the_worker_is_well(scene: Scene) -> None:
    agent, well = scene.agent(), [True, False]
    with monitoring(0, agent.stores.database, lambda: well.pop(0)) as port:
        assert get(port, "/healthz") == (200, "ok\n")
        assert get(port, "/healthz") == (503, "not well\n")
        assert get(port, "/elsewhere")[0] == 404
