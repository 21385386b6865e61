"""Forks and the points they begin at: going back without doing anything twice, or without a person's consent.

LangGraph goes on from an old checkpoint as if nothing had happened since. Here what has happened is on
record, so the way back is a new run: it keeps the results of steps that were done and asks anew.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Collection, Iterable
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import messages_from_dict, messages_to_dict
from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot
from typing_extensions import TypedDict

from planwright.domain.errors import RunError
from planwright.domain.plan import Plan
from planwright.domain.results import StepResult
from planwright.domain.run_context import RunContext
from planwright.graph.entry.checks import read_state
from planwright.graph.forks.fork_rules import (
    carried_results,
    check_certain,
    check_rerun,
    check_undone,
    done_again,
    kept_steps,
    up_to_request,
)
from planwright.graph.wiring import Compiled
from planwright.records.forks import Fork, ForkSource, not_over, taken
from planwright.records.runs import Run, new_run_id
from planwright.records.stores import Stores
from planwright.state.agent_state import Task
from planwright.store.owners import owner_of

NOT_BEGUN = frozenset(("__start__", "session_event"))


class NewRunOptions(TypedDict, total=False):
    """How a run that comes from another begins: that of a fork, an undoing or a single call."""

    thread_id: str | None
    """Id of its thread; None for a new one."""
    context: object
    """Options of the caller; of a fork or an undoing, `channel`, `requested_by` and `gate_ttl_s`
    count."""


class ForkOptions(NewRunOptions, total=False):
    """How a fork begins."""

    rerun: Iterable[str]
    """Ids of the steps that run again."""


@dataclass(frozen=True)
class Point:
    """A checkpoint of a run: what comes next, and which steps a fork from here keeps of how many.

    Without a verified plan, `revision` is None and a fork begins the request anew.
    """

    checkpoint_id: str
    """Id of the checkpoint, as LangGraph names it."""
    run_id: str
    """Id of the run that the checkpoint is of."""
    at: str
    """When the checkpoint was written: ISO 8601."""
    next: tuple[str, ...]
    """Names of the nodes that come next."""
    revision: int | None
    """Number of the plan that was verified then; None for none."""
    kept_steps: tuple[str, ...]
    """Ids of the steps whose results a fork from here keeps."""
    total: int
    """Number of the steps of that plan."""


@dataclass(frozen=True)
class _Moment:
    """A run and its state, none when its checkpoints are gone; `past` when more may have happened since."""

    run: Run
    """The run as its row says."""
    state: StateSnapshot | None
    """Its state at that checkpoint; None when the checkpoints are gone."""
    past: bool
    """Whether more may have happened since."""

    @property
    def plan_hash(self) -> str | None:
        """The plan of a past moment, empty where there was none; None stands for the newest of the run."""
        if not self.past:
            return None
        plan = self.values("plan")
        return plan.plan_hash if isinstance(plan, Plan) else ""

    def values(self, name: str) -> Any:
        """Read one value of the state."""
        return self.state.values.get(name) if self.state else None

    def done(self, source: ForkSource) -> dict[str, StepResult]:
        """Choose what was done at this moment, by the record and not by the state; what was undone is not."""
        then = (self.values("results") or {}) if self.past else source.results
        holds = (source.results.keys() & then.keys()) - source.undone
        return {uid: r for uid, r in source.results.items() if r.status == "completed" and uid in holds}


class Forking:
    """Begin forks of runs, and list the points they can begin at."""

    def __init__(self, graph: Compiled, stores: Stores) -> None:
        self._graph = graph
        self._stores = stores

    async def begin(
        self,
        name: str,
        checkpoint_id: str | None,
        rerun: Collection[str],
        thread_id: str | None,
        context: RunContext,
    ) -> str:
        """Write down a fork of a run, or of the newest one of a thread, and return its thread.

        Raises RunError for what cannot be forked so; then nothing has changed.
        """
        moment = await self._moment(name, checkpoint_id)
        thread_id = thread_id or str(uuid.uuid4())
        if (
            thread_id == moment.run.thread_id
            or (await read_state(self._graph, _config(thread_id))).created_at
        ):
            raise taken(thread_id)
        await self._begin(moment, checkpoint_id, rerun, self._new_run(moment, thread_id, context))
        return thread_id

    async def again(self, run_id: str, checkpoint_id: str, context: RunContext) -> None:
        """Write down that an ended run is made again on its own thread, from an older checkpoint of that.

        All that it has done is kept. Raises RunError for what cannot be forked.
        """
        moment = await self._moment(run_id, None)
        new = self._new_run(moment, moment.run.thread_id, context)
        await self._begin(moment, checkpoint_id, (), new)

    async def _begin(
        self, moment: _Moment, checkpoint_id: str | None, rerun: Collection[str], new: Run
    ) -> None:
        run = moment.run
        self._check_over(run)
        if (came := await self._stores.forks.of(run.run_id)) and came.undo:
            again = f"undo that run again: planwright undo {came.source_run}"
            raise RunError(f"run {run.run_id} undoes {came.source_run}: it is not forked", again)
        source = await self._stores.forks.source(run.run_id, moment.plan_hash)
        check_rerun(run.run_id, source, rerun)
        check_undone(run.run_id, source, rerun)
        retained = kept_steps(source.checked, moment.done(source), rerun)
        check_certain(run.run_id, source, retained, rerun)
        task = moment.values("task")
        fork = Fork(
            run_id=new.run_id,
            source_run=run.run_id,
            checkpoint_id=checkpoint_id,
            plan=source.plan,
            task=(task if isinstance(task, Task) else Task(task=run.request)).model_dump(mode="json"),
            context_hash=moment.values("context_hash") or "",
            again=done_again(source, retained),
        )
        carried = carried_results(new.run_id, retained, source, run.run_id)
        await self._stores.forks.begin(new, fork, carried, self._stores.time.now())

    async def points(self, name: str) -> list[Point]:
        """List the checkpoints of a thread, or of one run, the newest first."""
        run = await self._stores.forks.run_named(name)
        newest = await self._newest_id(run.thread_id)
        return [
            await self._point(snapshot, past=checkpoint_id_of(snapshot) != newest)
            async for snapshot in self._history(run.thread_id)
            if name in (run.thread_id, snapshot.values["run_id"])
        ]

    async def _point(self, snapshot: StateSnapshot, past: bool) -> Point:
        run = await self._stores.forks.run_named(str(snapshot.values["run_id"]))
        moment = _Moment(run, snapshot, past)
        source = await self._stores.forks.source(run.run_id, moment.plan_hash)
        return Point(
            checkpoint_id=checkpoint_id_of(snapshot),
            run_id=run.run_id,
            at=snapshot.created_at or "",
            next=tuple(dict.fromkeys(snapshot.next)),
            revision=source.plan.revision if source.plan else None,
            kept_steps=tuple(entry.step.id for entry in kept_steps(source.checked, moment.done(source), ())),
            total=len(source.checked),
        )

    async def _moment(self, name: str, checkpoint_id: str | None) -> _Moment:
        """Find the run that is meant and its state: at a checkpoint, or the newest there is."""
        run = await self._stores.forks.run_named(name)
        if checkpoint_id is None:
            return _Moment(run, await self._newest(run), past=False)
        snapshot = await read_state(self._graph, _config(run.thread_id, checkpoint_id))
        look = f"list them: planwright checkpoints {run.thread_id}"
        if not snapshot.created_at:
            raise RunError(f"thread {run.thread_id} has no checkpoint {checkpoint_id}", look)
        if not has_begun(snapshot):
            raise RunError(f"at checkpoint {checkpoint_id} its run had not begun", look)
        owner = await self._stores.forks.run_named(str(snapshot.values["run_id"]))
        if owner.thread_id != run.thread_id or name not in (run.thread_id, owner.run_id):
            raise RunError(f"checkpoint {checkpoint_id} belongs to run {owner.run_id}, not to {name}", look)
        return _Moment(owner, snapshot, past=checkpoint_id != await self._newest_id(run.thread_id))

    async def _newest_id(self, thread_id: str) -> str:
        return checkpoint_id_of(await read_state(self._graph, _config(thread_id)))

    async def _newest(self, run: Run) -> StateSnapshot | None:
        """Find the newest state of a run; None when its checkpoints are gone."""
        async for snapshot in self._history(run.thread_id):
            if snapshot.values["run_id"] == run.run_id:
                return snapshot
        return None

    async def _history(self, thread_id: str) -> AsyncIterator[StateSnapshot]:
        """Go back through the states of a thread in which a run had begun."""
        async for snapshot in self._graph.aget_state_history(_config(thread_id)):
            if has_begun(snapshot):
                yield snapshot

    def _check_over(self, run: Run) -> None:
        if run.status == "planned":
            raise RunError(
                f"run {run.run_id} was a dry run: nothing of it was run", 'run it: planwright run "…"'
            )
        if run.status != "running":
            return
        if self._stores.leases.is_leased(run):
            holder = owner_of(str(run.owner)).label
            watch = f"watch it with: planwright events {run.thread_id}"
            raise RunError(f"run {run.run_id} is being worked on by {holder}", watch)
        raise not_over(run.run_id, run.thread_id)

    def _new_run(self, moment: _Moment, thread_id: str, context: RunContext) -> Run:
        run = moment.run
        messages = moment.values("messages") or messages_from_dict(run.messages)
        now = {
            "channel": context.channel,
            "requested_by": context.requested_by,
            "gate_ttl_s": context.gate_ttl_s,
        }
        return Run(
            run_id=new_run_id(),
            thread_id=thread_id,
            tenant=run.tenant,
            status="running",
            request=run.request,
            messages=messages_to_dict(up_to_request(messages)),
            context={**run.context, **now},
            started_at=self._stores.time.now().isoformat(),
        )


def _config(thread_id: str, checkpoint_id: str | None = None) -> RunnableConfig:
    at = {"checkpoint_id": checkpoint_id, "checkpoint_ns": ""} if checkpoint_id else {}
    return {"configurable": {"thread_id": thread_id, **at}}


def checkpoint_id_of(snapshot: StateSnapshot) -> str:
    """Read the id of the checkpoint that a state is read from; "" for none."""
    return str(snapshot.config["configurable"].get("checkpoint_id", ""))


def has_begun(snapshot: StateSnapshot) -> bool:
    """Say whether the run that a state is of has taken it over from the one before."""
    return bool(snapshot.values.get("run_id")) and not NOT_BEGUN.intersection(snapshot.next)
