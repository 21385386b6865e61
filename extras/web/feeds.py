"""What viewers are told while something changes: one reader of each run, however many look at it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import replace

from planwright.domain.errors import StoreFailed
from planwright.extras.web.view_models.run_state import RunState, run_state
from planwright.presentation.run_view import with_answer_piece
from planwright.records.history.run_records import RunPulse
from planwright.records.runs import Run

_LOG = logging.getLogger("planwright.web")
LOOK_S = 0.25
"""Seconds between two looks at the records."""
MOST_UNREAD = 64
Parts = Mapping[str, str]
"""Parts of a page as HTML, by the name of their place."""
ReadOn = Callable[[int], Awaitable[RunPulse | None]]
"""Reads what has happened in a run after an event of it."""


class Feed:
    """One page that changes, and who looks at it. Each viewer gets all of it first, then what has changed."""

    def __init__(self, look: Callable[[], Awaitable[Parts | None]]) -> None:
        self._look = look
        self._parts: Parts = {}
        self._viewers: set[asyncio.Queue[str | None]] = set()
        self._task: asyncio.Task[None] | None = None
        self._followed = False

    @property
    def over(self) -> bool:
        """Whether everybody who looked has left; false as long as nobody has looked yet."""
        return self._followed and not self._viewers

    async def follow(self) -> AsyncGenerator[str, None]:
        """Yield what changes, as JSON of parts by name; it ends for a viewer that does not keep up."""
        queue: asyncio.Queue[str | None] = asyncio.Queue(MOST_UNREAD)
        self._viewers.add(queue)
        self._followed = True
        if self._parts:
            queue.put_nowait(_format(self._parts))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch())
            self._task.add_done_callback(_log_failure)
        try:
            while (text := await queue.get()) is not None:
                yield text
        finally:
            self._viewers.discard(queue)
            if not self._viewers and self._task is not None:
                self._task.cancel()
                self._task, self._parts = None, {}

    async def _watch(self) -> None:
        while True:
            with contextlib.suppress(StoreFailed):  # the next look may go well
                self._tell(await self._look())
            await asyncio.sleep(LOOK_S)

    def _tell(self, parts: Parts | None) -> None:
        if parts is None:
            return
        changed = {name: html for name, html in parts.items() if self._parts.get(name) != html}
        self._parts = parts
        if not changed:
            return
        text = _format(changed)
        for queue in tuple(self._viewers):
            if queue.full():
                self._viewers.discard(queue)
                while not queue.empty():
                    queue.get_nowait()
                queue.put_nowait(None)
            else:
                queue.put_nowait(text)


class RunFollower:
    """How a run stands, read on from where it was read before, with pieces of its answer as they come."""

    def __init__(self, read_on: ReadOn, is_held: Callable[[Run], bool]) -> None:
        self._read_on = read_on
        self._is_held = is_held
        self._held = False
        self._state = RunState()
        self._pieces = False
        self._row: Run | None = None

    async def next(self) -> tuple[RunState, Run] | None:
        """Read on, and return state and row of the run; None where nothing has changed."""
        pulse = await self._read_on(self._state.seq)
        if pulse is None:
            return None
        # A process that dies tells nobody; whether it lives, files of the system say.
        held = not pulse.run.ended and await asyncio.to_thread(self._is_held, pulse.run)
        same = not pulse.events and pulse.run == self._row and held == self._held
        if same and not self._pieces:
            return None
        self._state = run_state(pulse.events, before=self._state)
        self._row, self._held, self._pieces = pulse.run, held, False
        return self._state, pulse.run

    def look_again(self) -> None:
        """Tell what was told last once more: it was not shown."""
        self._pieces = True

    def hear(self, piece: str, message_id: str) -> None:
        """Add a piece of the answer."""
        view = with_answer_piece(self._state.view, piece, message_id)
        self._state, self._pieces = replace(self._state, view=view), True


def _format(parts: Parts) -> str:
    return json.dumps(parts, ensure_ascii=True)


def _log_failure(task: asyncio.Task[None]) -> None:
    """Log a bug in looking: nobody waits for it, and the next viewer begins it again."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _LOG.error("the page is not kept up to date", exc_info=error)
