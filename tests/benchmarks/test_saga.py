"""A short form of `saga`, and a judge that sees what was undone twice, too early or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchmarks.saga import PLANS, Judged, judge_order
from tests.forked import Forked
from tests.patience import PATIENCE_S

SHORT = ("--plans", "1", "--rounds", "1", "--kills", "1")


@pytest.mark.long
@pytest.mark.enable_socket
def test_what_a_failed_plan_did_is_undone_though_processes_die(tmp_path: Path) -> None:
    with Forked("benchmarks.saga", *SHORT, folder=tmp_path, env=dict(os.environ)) as process:
        code, shown = process.wait(PATIENCE_S), process.stdout + process.stderr
    assert code == 0, shown
    figures = json.loads((tmp_path / "saga.json").read_text())
    assert (figures["trials"], figures["done"], figures["undone"]) == (5, 10, 10)
    assert figures["replayed"] == 8


@pytest.mark.parametrize(
    ("names", "wrong"),
    [
        (["not b2", "not b1"], ""),
        (["not b1", "not b2"], "b1 was undone before b2"),
        (["not b2"], "undone ['b2'] of ['b1', 'b2']"),
        (["not b2", "not b1", "not b1"], "undone ['b2', 'b1', 'b1'] of ['b1', 'b2']"),
        (["not b2", "not b1", "b3"], "something else happened"),
    ],
)
def test_the_judge_sees_what_is_wrong(names: list[str], wrong: str) -> None:
    judged = Judged({})
    judge_order(PLANS["a row"], ["b1", "b2"], ["b1", "b2", *names], judged)
    assert wrong in "".join(judged.wrong)
    assert bool(judged.wrong) == bool(wrong)
