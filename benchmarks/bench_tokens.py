"""P2: how many calls twenty direct steps take, and how many tokens, as `benchmarks.peers` counts them.

Tokens have no bar: a prompt says what a model needs to do well, however long that is.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.figures import Effort, Figure
from benchmarks.peers import count_calls, count_tokens

CALLS = 2


async def measure(folder: Path, effort: Effort) -> list[Figure]:
    """Count the calls and the tokens."""
    counted = await count_calls(folder / "calls") | await count_tokens(folder / "tokens")
    built_ins = counted["tokens_fewer_planned_with_built_ins"]
    return [
        Figure("P2", "model calls for 20 direct steps", counted["model_calls_for_20_steps"], CALLS),
        Figure("P2", "tokens, times fewer, same tools", counted["tokens_fewer_planned"]),
        Figure("P2", "tokens, times fewer, built-ins too", built_ins),
        Figure("P2", "tokens of the loop, same tools", counted["tokens_loop_ratio"]),
    ]
