"""Twenty direct steps keep to the bars of calls and tokens: these do not depend on the machine."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from benchmarks.bench_tokens import measure
from benchmarks.figures import Effort
from tests.patience import PATIENCE_S


@pytest.mark.enable_socket
async def test_twenty_steps_keep_to_the_bars_of_calls_and_tokens(tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE_S):
        figures = await measure(tmp_path, Effort(repeat=1))
    assert len(figures) == 4
    assert {figure.name: figure.value for figure in figures if figure.missed} == {}
