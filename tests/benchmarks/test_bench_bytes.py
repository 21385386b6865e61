"""What a store keeps for what was said and read does not get more."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.bench_bytes import chat_growth, loop_growth
from benchmarks.contestants import PAGE_BYTES

TURNS = 20
# The most bytes over those of the pages, at so many turns. Aimed at is 2.
MOST_IN_ONE_RUN, MOST_ON_ONE_THREAD = 13, 17


MISSED = "13.4: results of a loop are on its thread, too, for the next question (0094); the bar stays"


@pytest.mark.xfail(reason=MISSED, strict=True)
async def test_a_loop_keeps_no_more_bytes_than_it_did(tmp_path: Path) -> None:
    assert 1 < await loop_growth(tmp_path, TURNS) / (TURNS * PAGE_BYTES) <= MOST_IN_ONE_RUN


async def test_a_chat_keeps_no_more_bytes_than_it_did(tmp_path: Path) -> None:
    assert 1 < await chat_growth(tmp_path, TURNS) / (TURNS * PAGE_BYTES * 2) <= MOST_ON_ONE_THREAD
