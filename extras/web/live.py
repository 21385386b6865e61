"""The feeds of the page: one for each run that somebody looks at, one of what waits for each tenant."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from planwright.domain.errors import PlanwrightError
from planwright.extras.web.feeds import Feed, Parts, RunFollower
from planwright.extras.web.pages import Pages
from planwright.extras.web.view_models.run_page import run_page
from planwright.extras.web.view_models.run_state import RunState
from planwright.records.history.interrupted import status_of
from planwright.records.history.open_gates import gate_pulse
from planwright.records.history.run_records import run_named, run_pulse, run_record
from planwright.records.runs import Run

if TYPE_CHECKING:  # it loads LangGraph, which reading needs not
    from planwright.records.stores import Stores

T = TypeVar("T")
RUN_PARTS = ("head", "picture", "steps", "answer", "effects", "actions")


class Live:
    """Tell viewers of runs and of what waits."""

    def __init__(self, stores: Stores, pages: Pages) -> None:
        self._stores = stores
        self._pages = pages
        self.problem_of: Callable[[str], PlanwrightError | None] = lambda _: None
        self._runs: dict[str, tuple[Feed, RunFollower, str]] = {}
        self._waiting: dict[str, Feed] = {}

    def run(self, run: Run) -> AsyncGenerator[str, None]:
        """Follow a run: the parts of its page that change."""
        self._runs = {id_: entry for id_, entry in self._runs.items() if not entry[0].over}
        if run.run_id not in self._runs:
            read_on = partial(self._read, run_pulse, run.run_id)
            follower = RunFollower(read_on, self._stores.leases.is_leased)

            async def look() -> Parts | None:
                now = await follower.next()
                try:
                    return None if now is None else await self.parts(*now)
                except BaseException:
                    follower.look_again()
                    raise

            self._runs[run.run_id] = (Feed(look), follower, run.thread_id)
        return self._runs[run.run_id][0].follow()

    def waiting(self, tenant: str) -> AsyncGenerator[str, None]:
        """Follow what waits for the people of a tenant: how much that is, and whether it is the same."""

        async def look() -> Parts:
            pulse = await self._read(gate_pulse, tenant)
            return {"count": str(pulse.count or ""), "waiting": f"{pulse.places} {pulse.approvals}"}

        return self._waiting.setdefault(tenant, Feed(look)).follow()

    def hear(self, thread_id: str, piece: str, message_id: str) -> None:
        """Pass a piece of an answer on to whoever looks at its run."""
        for _, follower, thread in self._runs.values():
            if thread == thread_id:
                follower.hear(piece, message_id)

    async def parts(self, state: RunState, run: Run) -> Parts:
        """Render the parts of a run's page that change, the same for all who look; forms have no token."""
        values = await self.values(state, run)
        rendered = {
            name: self._pages.part(f"run_{name}.html", {**values, "visit": None}) for name in RUN_PARTS
        }
        return {**rendered, "seq": str(state.seq)}

    async def values(self, state: RunState, run: Run, *, past: bool = False) -> dict[str, object]:
        """Gather what the templates of a run are filled with; `past` for a moment that is not its newest."""
        records = await self._read(run_record, run.run_id)
        view = run_page(state, records, run.status, past=past)
        held = await asyncio.to_thread(self._stores.leases.is_leased, run)
        return {
            "view": view,
            "status": status_of(view.status, held=held or not view.busy),
            "run": run,
            "records": records,
            "held": held,
            "problem": self.problem_of(run.thread_id),
            "newer": run.status == "needs_input" and await self._is_answered(run),
        }

    async def _is_answered(self, run: Run) -> bool:
        newest = await self._read(run_named, run.thread_id, run.tenant)
        return newest is not None and newest.run_id != run.run_id

    async def _read(self, job: Callable[..., T], *args: object) -> T:
        return await self._stores.database.read(lambda c: job(c, *args), behind=())
