"""P2: how many calls and tokens twenty direct steps take, as `benchmarks.peers` counts them."""

from __future__ import annotations

from pathlib import Path

from benchmarks.figures import Effort, Figure
from benchmarks.peers import count_calls, count_tokens

CALLS = 2
FEWER, FEWER_WITH_BUILT_INS, LOOP = 8, 4, 1.1


async def measure(folder: Path, effort: Effort) -> list[Figure]:
    """Count the calls and the tokens."""
    counted = await count_calls(folder / "calls") | await count_tokens(folder / "tokens")
    built_ins = counted["tokens_fewer_planned_with_built_ins"]
    return [
        Figure("P2", "model calls for 20 direct steps", counted["model_calls_for_20_steps"], CALLS),
        Figure("P2", "tokens, times fewer, same tools", counted["tokens_fewer_planned"], FEWER, "least"),
        Figure("P2", "tokens, times fewer, built-ins too", built_ins, FEWER_WITH_BUILT_INS, "least"),
        Figure("P2", "tokens of the loop, same tools", counted["tokens_loop_ratio"], LOOP),
    ]
