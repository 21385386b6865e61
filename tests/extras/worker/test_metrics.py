"""What monitoring hears of a worker: counts from the store, and whether it is well."""

from __future__ import annotations

import socket
import time
import urllib.error
import urllib.request

import pytest

from planwright.extras.worker.metrics import monitoring
from tests.patience import PATIENCE_S
from tests.scenarios.conftest import Scene

pytestmark = pytest.mark.enable_socket


def get(port: int, path: str) -> tuple[int, str]:
    """Ask, and return status and text."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE_S) as reply:
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


def test_who_connects_and_asks_nothing_keeps_nobody_waiting(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("planwright.extras.worker.metrics._Silent.timeout", 1)
    with monitoring(0, scene.agent().stores.database, lambda: True) as port:
        idle = socket.create_connection(("127.0.0.1", port))
        assert get(port, "/healthz") == (200, "ok\n")
        assert idle.recv(1) == b""  # it has had its time
        later = socket.create_connection(("127.0.0.1", port))
        assert get(port, "/healthz") == (200, "ok\n")
        began = time.monotonic()
    assert time.monotonic() - began < 5
    for connection in (idle, later):
        connection.close()
    assert capfd.readouterr().err == ""
