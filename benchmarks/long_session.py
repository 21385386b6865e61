"""One session of many steps: how large is its store, and how soon does another worker go on with it?

Its loop reads pages of 1 KB, so many in each turn. Its worker dies five pages before the end.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable

from benchmarks.bench_bytes import bytes_in
from benchmarks.contestants import PAGE_BYTES, page_text
from benchmarks.counted_stage import fork, join
from benchmarks.server_rows import server_rows
from planwright.capabilities.declaration import capability
from planwright.extras.worker.worker import Worker
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.settings.settings import load

PATIENCE_S, A_TURN, BEFORE_THE_END = 3600, 20, 5
SIZE = (
    "SELECT sum(pg_total_relation_size(c.oid)) AS n FROM pg_class c WHERE relkind = 'r' AND relnamespace ="
    " (SELECT oid FROM pg_namespace WHERE nspname = current_schema())"
)
MANY: dict[str, Any] = {
    "planning": {"mode": "never"},
    "budgets": {"run": {"tool_calls": "unlimited", "wall_clock_s": "unlimited", "tokens": "unlimited"}},
    "execution": {"max_tool_iterations": 500},
}


class Reader(BaseChatModel):
    """Read page after page, each once, and say that it is done."""

    pages: int
    """How many there are."""

    @property
    def _llm_type(self) -> str:
        return "reader"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Runnable[Any, AIMessage]:
        """Take tools along."""
        return self.bind(**kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        called = (
            call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls
        )
        first = max((call["args"]["number"] + 1 for call in called), default=0)
        calls = [
            {"name": "bench__page", "args": {"number": number}, "id": f"c{number}"}
            for number in range(first, min(first + A_TURN, self.pages))
        ]
        silent = not calls or not any(message.type in ("human", "tool") for message in messages)
        message = AIMessage("They read pages.") if silent else AIMessage("", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


def _open(folder: Path, url: str, pages: int, dies_at: int) -> Agent:
    @capability("bench.page", trusted_result=True, mode="read_only")
    async def page(number: int) -> str:
        """Read a page."""
        if number == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if number >= pages - BEFORE_THE_END and not (folder / "goes on").exists():
            (folder / "goes on").write_text(str(time.monotonic()))
        return page_text(number)

    storage = {"url": url} if url else {}
    settings = load(folder, storage=storage, **MANY)
    return build_graph(settings, model=Reader(pages=pages), capabilities=[page])


def _work(folder: Path, url: str, pages: int, dies_at: int) -> None:
    agent = _open(folder, url, pages, dies_at)

    async def run() -> None:
        async with agent:
            await Worker(agent).run(until_idle=True)

    asyncio.run(run())


def _queue(folder: Path, url: str, pages: int) -> None:
    agent = _open(folder, url, pages, -1)
    agent.enqueue("Read all pages of the bench", thread_id="long")
    agent.close()


def read_all(folder: Path, url: str, pages: int) -> dict[str, Any]:
    """Read so many pages in one session; returns sizes in bytes and times in seconds."""
    folder.mkdir(parents=True)
    join(fork(partial(_queue, folder, url, pages), PATIENCE_S))
    began = time.monotonic()
    died = join(fork(partial(_work, folder, url, pages, pages - BEFORE_THE_END), PATIENCE_S))
    first_s, began = time.monotonic() - began, time.monotonic()
    ended = join(fork(partial(_work, folder, url, pages, -1), PATIENCE_S))
    place = folder / "goes on"
    size = server_rows(url, SIZE)[0]["n"] if url else bytes_in(folder / ".planwright")
    return {
        "steps": pages,
        "payload": pages * PAGE_BYTES,
        "bytes": int(size),
        "bytes_over_payload": round(int(size) / (pages * PAGE_BYTES), 2),
        "until_its_worker_died_s": round(first_s, 1),
        "resumed_after_s": round(float(place.read_text()) - began, 2) if place.exists() else None,
        "as_expected": (died, ended) == (-signal.SIGKILL, 0),
    }
