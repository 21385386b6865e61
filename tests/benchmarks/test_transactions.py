"""The transactions of a run are counted, and do not get more."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.transactions import chain_commits

# Steps of a chain, and the most transactions that a run of them may take: 6 and 7; more where it is so slow
# that what rides is committed alone.
MOST = {1: 20, 10: 40}


@pytest.mark.parametrize("steps", MOST)
async def test_a_run_takes_no_more_transactions_than_it_did(steps: int, tmp_path: Path) -> None:
    commits = await chain_commits(tmp_path, steps)
    assert len(commits) <= MOST[steps], commits
