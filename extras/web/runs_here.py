"""Runs that this process works on for the page, several at once. A page that is closed stops none of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping

from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig

from planwright.domain.errors import PartsElsewhere, PlanwrightError
from planwright.domain.run_context import RunContext
from planwright.graph.agent import Agent

ANSWERING = ("respond", "agentic_loop")
_LOG = logging.getLogger("planwright.web")
Hear = Callable[[str, str, str], None]
"""Hears a piece of an answer: the thread, the piece, and the id of its message."""


class RunsHere:
    """Enter runs at the door of an agent and follow each to its end, or until it waits."""

    def __init__(self, agent: Agent, hear: Hear) -> None:
        self._agent = agent
        self._hear = hear
        self._tasks: set[asyncio.Task[None]] = set()
        self._problems: dict[str, PlanwrightError] = {}

    async def enter(self, entry: object, thread_id: str, context: RunContext) -> None:
        """Begin a run, answer its gate or go on with it, and come back once the door has let that in.

        Raises what the door refuses it with; then nothing has changed. What the run meets later is kept as
        its problem, and so is that it goes on in another process only, where its decision is heard.
        """
        let_in = asyncio.Event()
        task = asyncio.create_task(self._follow(entry, thread_id, context, let_in))
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._ended(done, thread_id, refused=not let_in.is_set()))
        waiting = asyncio.create_task(let_in.wait())
        await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if not let_in.is_set():
            with contextlib.suppress(PartsElsewhere):
                await task

    def problem(self, thread_id: str) -> PlanwrightError | None:
        """Return what the last entry into a thread met after it was let in; None for nothing."""
        return self._problems.get(thread_id)

    async def close(self) -> None:
        """Stop working on all runs; each goes on where it is resumed."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _follow(
        self, entry: object, thread_id: str, context: RunContext, let_in: asyncio.Event
    ) -> None:
        self._problems.pop(thread_id, None)
        config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
        modes = ["custom", "messages"]
        async for mode, chunk in self._agent.astream(entry, config, context=context, stream_mode=modes):
            let_in.set()
            if mode == "messages":
                self._pass_on(thread_id, *chunk)

    def _pass_on(self, thread_id: str, message: BaseMessage, metadata: Mapping[str, object]) -> None:
        spoken = message.text and not isinstance(message, ToolMessage)
        if spoken and metadata.get("langgraph_node") in ANSWERING:
            self._hear(thread_id, str(message.text), str(message.id))

    def _ended(self, task: asyncio.Task[None], thread_id: str, *, refused: bool) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        refused = refused and not isinstance(error, PartsElsewhere)
        if isinstance(error, PlanwrightError) and not refused:
            self._problems[thread_id] = error
            _LOG.warning("thread %s: %s", thread_id, error, extra={"thread_id": thread_id})
        elif error is not None and not refused:
            ids = {"thread_id": thread_id}
            _LOG.error("thread %s: the run broke off", thread_id, exc_info=error, extra=ids)
