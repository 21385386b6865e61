"""The short form of `audit`: edits of stores that simulated runs have left are found."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.forked import Forked
from tests.patience import PATIENCE_S


@pytest.mark.long
def test_runs_replay_equal_and_each_edit_of_their_store_is_found(tmp_path: Path) -> None:
    out = tmp_path / "audit.json"
    sizes = ("--edits", "60", "--stores", "4", "--json", str(out))
    # In a process of its own: what is left of killed workers ends with it.
    with Forked("benchmarks.audit", *sizes, folder=tmp_path, env=os.environ) as process:
        code, printed = process.wait(PATIENCE_S), process.stdout + process.stderr
    assert code == 0, printed
    figures = json.loads(out.read_text("utf-8"))
    assert (figures["runs"], figures["edits"], figures["wrong"], figures["missed"]) == (4, 60, [], 0)
    assert len(figures["kinds"]) > 20
