"""Twenty direct steps keep to the bar of calls; tokens are counted, and have no bar."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from benchmarks.bench_tokens import measure
from benchmarks.figures import Effort
from tests.patience import PATIENCE_S


@pytest.mark.long
@pytest.mark.enable_socket
async def test_twenty_steps_take_two_calls_of_the_model_and_tokens_are_only_counted(tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE_S):
        figures = await measure(tmp_path, Effort(repeat=1))
    assert len(figures) == 4
    calls, *tokens = figures
    assert not calls.missed
    assert [figure.bar for figure in tokens] == [None] * 3
    assert all(figure.value > 0 for figure in tokens)
