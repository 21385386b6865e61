"""P6: how many bytes a store keeps for what was said and read, and whether a turn gets dearer.

A loop reads 200 pages of 1 KB in one run; a chat has 200 messages of 1 KB on one thread, each a run and
answered by a page. Counted are the bytes by which the closed store grows after a first small run, so not its
empty tables. Where the CPU of turns is compared, the context of the model is so small that it is full in turn
10 as it is in turn 800.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from pathlib import Path
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable

from benchmarks.contestants import PAGE_BYTES, page_calls, page_text, planwright_at, stock_agent
from benchmarks.figures import Effort, Figure
from planwright.graph.agent import Agent
from planwright.models.scripted import ScriptedModel

READ = "Read the pages of the bench"
WINDOW = 20  # turns that the CPU of a turn is the mean of
LATEST_S = 150.0  # after this the chat ends, whatever turn it has reached


class PageModel(BaseChatModel):
    """Answer with a page, another each time."""

    answers: int = 0
    """How often it has answered."""

    @property
    def _llm_type(self) -> str:
        return "pages"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Runnable[Any, AIMessage]:
        """Take tools along, and call none."""
        return self.bind(**kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.answers += 1
        return ChatResult(generations=[ChatGeneration(message=AIMessage(page_text(-self.answers)))])


def bytes_in(folder: Path) -> int:
    """Add up the files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


async def chat(agent: Any, thread: str, turns: int) -> list[float]:
    """Say so many pages on one thread, for `LATEST_S` at most; returns the CPU seconds of each turn."""
    spent, ends = list[float](), time.monotonic() + LATEST_S
    while len(spent) < turns and time.monotonic() < ends:
        began = time.process_time()
        await _say(agent, page_text(len(spent)), thread)
        spent.append(time.process_time() - began)
    return spent


async def _say(agent: Any, text: str, thread: str) -> None:
    config = {"configurable": {"thread_id": thread}, "recursion_limit": 10_000}
    out = await agent.ainvoke({"messages": [{"role": "user", "content": text}]}, config, durability="sync")
    last = str(out["messages"][-1].content)
    if last != "done" and len(last) != PAGE_BYTES:
        raise RuntimeError(f"the turn was not answered: {last}")


async def loop_growth(folder: Path, pages: int) -> int:
    """Count the bytes by which a store grows in one run that reads so many pages."""
    model = ScriptedModel(replies=page_calls(1) + page_calls(pages))
    async with planwright_at(model, folder) as agent:
        await _say(agent, READ, "first")
        await _settle(agent)
        before = bytes_in(folder)
        await _say(agent, READ, "thread")
    return bytes_in(folder) - before


async def chat_growth(folder: Path, turns: int) -> int:
    """Count the bytes by which a store grows in a chat of so many turns on one thread."""
    async with planwright_at(PageModel(), folder) as agent:
        await chat(agent, "first", 1)
        await _settle(agent)
        before = bytes_in(folder)
        if len(await chat(agent, "thread", turns)) < turns:
            raise RuntimeError(f"{turns} turns took more than {LATEST_S:.0f} s")
    return bytes_in(folder) - before


async def _settle(agent: Agent) -> None:
    """Close the files of a store, so that all is in them; the next run opens them again."""
    await asyncio.to_thread(agent.stores.close)


async def stock_growth(folder: Path, turns: int) -> int:
    """Count the same for a chat with LangChain's agent and saver."""
    database = folder / "stock.db"
    async with stock_agent(PageModel(), database) as agent:
        await chat(agent, "first", 1)
    before = bytes_in(folder)
    async with stock_agent(PageModel(), database) as agent:
        await chat(agent, "thread", turns)
    return bytes_in(folder) - before


async def turn_costs(folder: Path, turns: int) -> list[float]:
    """Measure the CPU of each turn of a chat whose model can read ten turns or so at once."""
    async with planwright_at(PageModel(), folder, context={"compact_at": 0.05}) as agent:
        return await chat(agent, "thread", turns)


async def measure(folder: Path, effort: Effort) -> list[Figure]:
    """Measure growth of loop and chat at n and at 2 n turns, and the CPU of early and late turns."""
    turns = effort.pick(200, 40)
    figures = []
    for name, growth, each in (("one run", loop_growth, 1), ("one thread", chat_growth, 2)):
        half, whole = [await growth(folder / f"{name} {n}", n) for n in (turns // 2, turns)]
        payload = turns * PAGE_BYTES * each
        note = f"{whole / 1e6:.1f} MB for {payload / 1e6:.1f} MB"
        figures += [
            Figure(
                "P6",
                f"bytes / payload, {turns} turns of 1 KB in {name}",
                round(whole / payload, 2),
                2,
                note=note,
            ),
            Figure("P6", f"size({turns}) / size({turns // 2}) in {name}", round(whole / half, 2), 2.1),
        ]
    stock = await stock_growth(folder / "stock", turns) / (turns * PAGE_BYTES * 2)
    figures.append(
        Figure("P6", f"bytes / payload of create_agent, {turns} turns on one thread", round(stock, 2))
    )
    return [*figures, _cost_figure(await turn_costs(folder / "costs", effort.pick(800, 60)))]


def _cost_figure(costs: list[float]) -> Figure:
    early, late = (statistics.mean(part) * 1000 for part in (costs[:WINDOW], costs[-WINDOW:]))
    name = f"CPU of turn {len(costs)} / turn {WINDOW // 2}"
    return Figure("P6", name, round(late / early, 2), 1.2, note=f"{late:.1f} ms over {early:.1f} ms")
