"""Arrivals: what callers bring to the door, and the run that each of them is for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, messages_from_dict, messages_to_dict
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, StateSnapshot

from planwright.domain.errors import GateError, RunError
from planwright.domain.results import RunStatus
from planwright.domain.run_context import options_of, read_context
from planwright.graph.entry.checks import (
    check_same_options,
    check_tenant,
    nested,
    read_messages,
    request_in,
    resuming,
    thread_of,
    to_be_closed,
    unfinished,
)
from planwright.models.conversation.thread_messages import is_of_a_call, is_sealed
from planwright.records.queue.queue import END_OF_TIME, PROVIDER
from planwright.records.runs import Run, new_run_id
from planwright.records.stores import Stores
from planwright.security.redaction.redactor import Redactor
from planwright.settings.settings import Settings


@dataclass(frozen=True)
class Arrival:
    """What a caller brings to the door, for one thread."""

    entry: object
    """Input of a new run, a Command that answers gates, or None to go on."""
    config: RunnableConfig
    """Config of the call, which names the thread."""
    context: object
    """Options of the caller; None for those that the run began with."""
    snapshot: StateSnapshot
    """Newest state of the thread."""
    seen_token: int | None = None
    """Fencing token that the newest run of the thread had before the state was read; None for no run."""

    @property
    def thread_id(self) -> str:
        """The thread that it is for."""
        return thread_of(self.config)


class Arrivals:
    """Find the run that an arrival is for, or make a new one; refuse what fits none."""

    def __init__(self, settings: Settings, stores: Stores, redactor: Redactor) -> None:
        self._settings = settings
        self._stores = stores
        self._redactor = redactor

    async def check_tenant(self, thread_id: str, context: object) -> None:
        """Raise RunError when a thread belongs to another tenant than the caller's."""
        check_tenant(await self._stores.runs.latest(thread_id), context)

    async def answer_not_written(self, thread_id: str, snapshot: StateSnapshot) -> bool:
        """Say whether the newest run has ended before its answer reached the thread.

        A run that begins on top of it would be closed with that answer if it died early, too.
        """
        run = await self._stores.runs.latest(thread_id)
        return run is not None and to_be_closed(run, snapshot)

    async def after_foreign_text(self, run: Run, state: Sequence[BaseMessage]) -> bool:
        """Say whether a run begins after messages that neither the user nor a run of ours wrote.

        The messages of the thread's state may add to what is on record; they take nothing away from it.
        """
        family = await self._stores.runs.family(run.thread_id)
        messages = [*messages_from_dict([*run.messages, *family.brought]), *state]
        return any(is_foreign(message, family.runs) for message in messages)

    async def comes_again(self, entry: object, config: RunnableConfig, snapshot: StateSnapshot) -> bool:
        """Say whether a graph of the user's own, which is resumed, brings the input of a run once more.

        It does not where its node begins only now. Raises RunError for the input of another run: the node
        calls the agent twice, and which call an answer belongs to is not to be told.
        """
        run = await self._stores.runs.latest(thread_of(config))
        if not resuming(config) or run is None or (run.ended and not snapshot.created_at):
            return False
        request = isinstance(entry, Mapping) and request_in(read_messages(entry, inside=True))
        if request and self._redactor.text(request) != run.request:
            raise RunError(
                f"a node of your graph calls this agent twice: run {run.run_id} is of another call",
                "give each call a node of its own",
            )
        return True

    async def cancels_previous_run(self, entry: object, config: RunnableConfig, context: object) -> bool:
        """Say whether a new message cancels the run before it.

        It does by `threads.new_input = cancel`, and where that run is put down, for a provider or at a limit.

        Raises SetupError for a message that cannot begin a run: it cancels nothing.
        """
        if entry is None or isinstance(entry, Command):
            return False
        run = await self._stores.runs.latest(thread_of(config))
        if run is None or run.ended:
            return False
        put_down = run.paused_for == PROVIDER or run.status == "budget_exceeded"
        if self._settings.threads.new_input != "cancel" and not put_down:
            return False
        self.new_run(entry, run.thread_id, context, inside=nested(config))
        return True

    async def run_for(self, arrival: Arrival) -> tuple[Run, bool]:
        """Find the run of an arrival, and say whether it is new. Raises SetupError, RunError or GateError."""
        entry, thread_id = arrival.entry, arrival.thread_id
        run = await self._stores.runs.latest(thread_id)
        check_tenant(run, arrival.context)
        if entry is None or isinstance(entry, Command):
            if isinstance(entry, Command) and (entry.goto or entry.update or entry.resume is None):
                raise GateError(
                    "a Command may only resume: goto and update would go around the gates",
                    'send Command(resume={"decisions": [{"type": "approve"}]})',
                )
            if run is None:
                raise RunError(f"there is no thread {thread_id}", "list the threads: planwright ls")
            check_same_options(arrival.context, run)
            return await self._in_time(run), False
        if run is not None and not run.ended:
            raise unfinished(run, await self._stores.gates.of_thread(thread_id))
        inside = nested(arrival.config)
        return self.new_run(entry, thread_id, arrival.context, inside=inside), True

    async def _in_time(self, run: Run) -> Run:
        """Ask for the end of a run whose session is past its time, as a worker would; return the run.

        Raises RunError while nobody knows whether it is.
        """
        if run.ended or run.cancelled_by:
            return run
        standing, mark = await self._stores.queue.standing(run.run_id), self._stores.time.mark
        if standing == "maybe late":
            cause = f"run {run.run_id} has expired if this machine was off for as long as its clock says"
            raise RunError(cause, f"go on at {mark.moment(mark.believed_s):%H:%M:%S} UTC: it is known then")
        if standing == "late":
            await self._stores.runs.cancel(run.run_id, END_OF_TIME, mark.now, "expired")
        return await self._stores.runs.read(run.run_id) or run

    def new_run(
        self,
        entry: object,
        thread_id: str,
        context: object,
        status: RunStatus = "running",
        *,
        inside: bool = False,
    ) -> Run:
        """Make the run of an input; nothing is written. Raises SetupError for one that cannot begin a run."""
        messages = read_messages(entry, inside=inside)
        options = read_context(context)
        return Run(
            run_id=new_run_id(),
            thread_id=thread_id,
            tenant=options.tenant,
            status=status,
            request=self._redactor.text(request_in(messages)),
            messages=self._redactor.value(messages_to_dict(messages)),
            context=options_of(options),
            started_at=self._stores.time.now().isoformat(),
        )


def is_foreign(message: BaseMessage, runs: Collection[str]) -> bool:
    """Say whether a message is neither a text of the user or of whoever built the agent, nor a run's own.

    A block that is no text, as a file, holds what the user has read as little as a mail of somebody else.
    """
    if message.type in ("human", "system"):
        blocks = message.content if isinstance(message.content, list) else []
        return any(isinstance(block, dict) and block.get("type") != "text" for block in blocks)
    run_id = message.response_metadata.get("run_id")
    return run_id not in runs or (is_of_a_call(message) and not is_sealed(message))
