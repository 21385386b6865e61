"""P5: what being durable costs beside LangChain's saver, and how many transactions a run takes.

The same loop of pages of 1 KB, with a model in the same process, is carried out in turn by Planwright and by
LangChain's agent, each durable and not. Not durable means for LangChain's agent: without a saver. For ours it
means: its store in memory, and the state of the graph written at the end alone.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks.contestants import job_of, page_calls, planwright_at, stock_agent, volatile_folder
from benchmarks.figures import Effort, Figure, Job, Spent, in_turn
from benchmarks.transactions import chain_commits
from planwright.models.scripted import ScriptedModel

PAGES = 100
LEAST_MS = 0.01  # so that a saver that seems to cost nothing makes no bar met
ONE_STEP, MORE_STEPS = 1, 10
COMMITS_BESIDE_STEPS = 5


async def measure(folder: Path, effort: Effort) -> list[Figure]:
    """Measure the loop, and count the transactions of plans."""
    pages = effort.pick(PAGES, PAGES // 2)
    async with AsyncExitStack() as stack:

        def model() -> ScriptedModel:
            return ScriptedModel(replies=page_calls(pages) * (effort.repeat + 1))

        memory = stack.enter_context(volatile_folder())
        ours = await stack.enter_async_context(planwright_at(model(), folder / "ours"))
        volatile = await stack.enter_async_context(planwright_at(model(), memory))
        stock = await stack.enter_async_context(stock_agent(model(), folder / "stock" / "stock.db"))
        bare = await stack.enter_async_context(stock_agent(model(), None))
        jobs: dict[str, Job] = {
            "ours": job_of(ours),
            "ours, not durable": job_of(volatile, "exit"),
            "create_agent": job_of(stock),
            "create_agent, not durable": job_of(bare, None),
        }
        spent = await in_turn(jobs, effort.repeat)
    return [
        *_durable_figures(spent, pages),
        *[await _commits(folder, steps) for steps in (ONE_STEP, MORE_STEPS)],
    ]


def _durable_figures(spent: dict[str, Spent], pages: int) -> list[Figure]:
    figures = []
    for clock in ("wall", "cpu"):
        ms = {name: getattr(each, f"{clock}_s") / (pages + 1) * 1000 for name, each in spent.items()}
        ours, stock = (ms[name] - ms[f"{name}, not durable"] for name in ("ours", "create_agent"))
        note = ", ".join(f"{name} {each:.2f}" for name, each in ms.items()) + " ms a turn"
        ratio = round(ours / max(stock, LEAST_MS), 2)
        figures.append(
            Figure("P5", f"durable minus not durable / stock saver, {clock}", ratio, 0.28, note=note)
        )
    return figures


async def _commits(folder: Path, steps: int) -> Figure:
    commits = await chain_commits(folder / f"chain{steps}", steps)
    name = "transactions of a run of one step" if steps == 1 else f"transactions of a run of {steps} steps"
    return Figure("P5", name, len(commits), steps + COMMITS_BESIDE_STEPS)
