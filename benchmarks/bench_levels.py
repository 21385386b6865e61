"""P3: a job of three levels with three calls each, planned at once or asked for turn by turn.

The model takes 500 ms a call and each tool 200 ms. Planwright asks for a plan and an answer; the agent of
LangChain gets parallel tool calls, or one call a turn.
"""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks.contestants import job_of, planwright_at, stock_agent
from benchmarks.figures import Effort, Figure, Job, in_turn
from benchmarks.peers import LEVELS, MODEL_S, WIDTH, model_server, plan, turns

BAR = 1.6


async def measure(folder: Path, effort: Effort) -> list[Figure]:
    """Time the three in turn."""
    rows = [[(level, lane) for lane in range(WIDTH)] for level in range(LEVELS)]
    single = [[call] for row in rows for call in row]
    base = {"plan": plan(LEVELS, WIDTH), "answer": "done", "delay_s": MODEL_S}
    async with AsyncExitStack() as stack:
        planned, parallel, serial = (
            stack.enter_context(model_server({**base, "turns": calls}))
            for calls in ([], turns(*rows), turns(*single))
        )
        ours = await stack.enter_async_context(planwright_at(planned, folder / "ours", "always"))
        wide = await stack.enter_async_context(stock_agent(parallel, folder / "parallel" / "stock.db"))
        narrow = await stack.enter_async_context(stock_agent(serial, folder / "serial" / "stock.db"))
        jobs: dict[str, Job] = {"ours": job_of(ours), "parallel": job_of(wide)}
        spent = await in_turn(jobs, effort.pick(effort.repeat, 1))
        began = time.perf_counter()
        await job_of(narrow)()
        serial_s = time.perf_counter() - began
    ours_s, parallel_s = spent["ours"].wall_s, spent["parallel"].wall_s
    note = f"{parallel_s:.2f} s over {ours_s:.2f} s"
    return [
        Figure("P3", "times faster than parallel calls", round(parallel_s / ours_s, 2), BAR, "least", note),
        Figure("P3", "times faster than one call a turn", round(serial_s / ours_s, 2)),
    ]
