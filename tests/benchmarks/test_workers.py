"""A short form of `workers`, and a plan that is the same in every process."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchmarks.workers import plan_of
from tests.forked import Forked
from tests.patience import PATIENCE_S

SHORT = ("--sessions", "6", "--steps", "6", "--workers", "2", "--every", "0.3", "--seed", "7")


@pytest.mark.long
@pytest.mark.enable_socket
def test_whatever_happens_to_workers_every_session_is_done_once(tmp_path: Path) -> None:
    with Forked("benchmarks.workers", *SHORT, folder=tmp_path, env=dict(os.environ)) as process:
        code, printed = process.wait(PATIENCE_S), process.stdout + process.stderr
    assert code == 0, printed
    figures = json.loads((tmp_path / "workers.json").read_text())
    assert figures["statuses"] == {"completed": 6}
    assert (figures["lost"], figures["doubled"], figures["stuck"]) == (0, 0, 0)
    assert figures["killed"] + figures["stopped"] + figures["told_to_end"] > 0


def test_a_session_is_planned_the_same_in_every_process() -> None:
    assert plan_of(7, 10) == plan_of(7, 10)
    assert plan_of(7, 10) != plan_of(8, 10)
    assert {name for step in plan_of(7, 10)["steps"] for name in step["depends_on"]} <= {
        f"s{n}" for n in range(9)
    }
