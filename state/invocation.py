"""What one invocation of the graph carries beside the state: its run, its board and its events.

The door makes it and puts it into the config, where every node and subgraph finds it.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.errors import GraphInterrupt
from langgraph.runtime import RunControl

from planwright.domain.clock import Clock as Clock
from planwright.domain.clock import seconds_of_boot
from planwright.domain.clock import utc_now as utc_now
from planwright.domain.errors import BudgetExceeded, CallCancelled, ModelCancelled, ModelUnavailable
from planwright.domain.events import Event, EventType
from planwright.domain.lease import Lease
from planwright.domain.results import RunStatus
from planwright.domain.run_context import RunContext
from planwright.domain.shortage import Shortage
from planwright.security.redaction.redactor import Redactor
from planwright.settings.profile import RunProfile
from planwright.state.step_board import StepBoard
from planwright.telemetry.spans import NoSpans, Spans

CONFIG_KEY = "__pregel_planwright_invocation"  # LangGraph leaves `__pregel_` keys out of what it streams

_PLACE = ("langgraph_node", "langgraph_checkpoint_ns", "langgraph_path")
Record = Callable[[Event, str], None]


async def nobody_gives_more(invocation: Invocation, error: BudgetExceeded) -> bool:
    """Leave a limit as it is: there is nobody to be asked, and no run to be put down."""
    return False


async def nothing_to_wait_for() -> None:
    """Go on at once: checkpoints are written behind all that they lean on."""


@dataclass
class Invocation:
    """One call of the graph for one run of one thread.

    `lease` is the right to write for the run, and names it. `words` is what the user wrote on the thread, the
    newest first; `foreign` says whether the thread holds what neither the user nor a run of ours wrote. The
    door sets all three, from the record. `seconds` is the time that goes by, whatever the clock says.
    """

    lease: Lease
    """The right of this process to write for the run; it names run, thread and tenant."""
    context: RunContext
    """Options that the caller sent along with the request."""
    profile: RunProfile
    """What is in force for the run: agent, planning mode, tools, modes and limits."""
    board: StepBoard
    """Where steps of the run wait for each other's results."""
    record: Record
    """Writes an event, under its name, to the journal."""
    request: str = ""
    """The message of the user that the run serves, from the record."""
    words: str = ""
    """What the user wrote on the thread, the newest first, with blank lines between."""
    foreign: bool = False
    """Whether the thread holds messages that neither the user nor a run of ours wrote."""
    clock: Clock = utc_now
    """Tells the time of day, in UTC; it may be set back."""
    seconds: Callable[[], float] = seconds_of_boot
    """Tells the time in seconds that only ever rises, for durations."""
    seq: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    """Gives the numbers of events, one after another within the run."""
    cancelled_by: str = ""
    """Who asked for the end of the run; "" while nobody has."""
    ends_as: RunStatus = "cancelled"
    """How the run is to end where its end was asked for."""
    control: RunControl = field(default_factory=RunControl)
    """Stops the graph before its next superstep."""
    put_down_by: ModelUnavailable | BudgetExceeded | None = None
    """Why the run is put down without an end: a provider that is away, or a limit; None while it is not."""
    so_far: str = ""
    """What came of the run so far, as it is told where the run is put down; "" for what is on record."""
    more_of: Callable[[Invocation, BudgetExceeded], Awaitable[bool]] = nobody_gives_more
    """Says whether a person gives more of what is spent; it asks, or puts the run down where nobody can."""
    limits_asked: set[str] = field(default_factory=set)
    """Gates at which this invocation waits for more of a limit: what meets it beside that asks no more."""
    queued_again: bool = False
    """Whether a run that is drained is left to any worker, rather than paused until somebody says so."""
    emitted_keys: set[str] = field(default_factory=set)
    """Names of the events that the run has sent, in every invocation, so that none is sent twice."""
    calls: defaultdict[str, Iterator[int]] = field(default_factory=lambda: defaultdict(itertools.count))
    """Counters of the model calls made under one key, so that each gets a name of its own."""
    paid: list[str] = field(default_factory=list)
    """Keys of model calls whose replies are in no checkpoint yet: they would have to be paid for again."""
    streamed: AIMessage | None = None
    """The newest reply of a model that was streamed to the caller, with its thoughts; None before one."""
    writer: Callable[[object], None] | None = None
    """Custom stream of an outer node, for the subgraph below it; None to use LangGraph's own."""
    front: Mapping[str, object] = field(default_factory=dict)
    """Place of the node as whose words a model in the subgraph streams; empty outside of one."""
    answered: Callable[[Any, Any], Awaitable[str]] | None = None
    """Takes an answer that LangGraph resumed with to its gate, and says why not; None where none may."""
    surroundings: Mapping[str, Any] = field(default_factory=dict)
    """What models are told of the world the run works in; empty until the first of them asks."""
    databases: Mapping[str, object] | None = None
    """Tables of the databases of the workspace, as models are told of them; None until one needs it."""
    redactor: Redactor = field(default_factory=Redactor)
    """Hides known secrets in whatever is recorded or streamed."""
    listeners: tuple[Callable[[Event], None], ...] = ()
    """Hear of every event after it is recorded: logs and traces."""
    spans: Spans = field(default_factory=NoSpans)
    """Opens the spans of the invocation, where a program collects them."""
    land: Callable[[], Awaitable[None]] = nothing_to_wait_for
    """Waits until what a node wrote is durable, where its checkpoint goes into another store."""
    node_by_node: bool = False
    """Whether each node has a superstep of its own: the caller stops at nodes or looks at them, or the run is
    inside of another graph.
    """
    worked_before_s: float = 0
    """Seconds that the run was worked on in earlier invocations."""
    queued: int = 0
    """Number of its calls of models that wait for their turn."""
    queued_s: float = 0
    """Seconds in which there was one, up to when the number last changed."""
    queued_at_s: float = 0
    """Reading of `seconds` when the number last changed."""
    began_s: float = field(init=False)
    """Reading of `seconds` when this invocation began."""

    def __post_init__(self) -> None:
        self.began_s = self.seconds()

    async def goes_on_after(self, error: Exception) -> bool:
        """Say whether to try again what an error stopped: a person has given more of what was spent.

        Where that may be tried later, the run stands still: at the gate that asks for more, or put down until
        its provider is back or it has been given more. Any other error is left to the caller.
        """
        if isinstance(error, ModelUnavailable) and error.is_away:
            self.put_down(error)
        return isinstance(error, BudgetExceeded) and not self.cancelled_by and await self.more_of(self, error)

    def put_down(self, error: ModelUnavailable | BudgetExceeded) -> NoReturn:
        """Put the run down without an end: the node that could not go on begins anew when the run does."""
        self.put_down_by = self.put_down_by or error
        self.drain(error.cause)
        raise GraphInterrupt(()) from error

    def check_writes(self) -> None:
        """Raise what kept something of the run from being written: then nothing more is done for it here."""
        self.lease.check()

    def drain(self, reason: str, *, queue_again: bool = False) -> None:
        """Stop before the next superstep; steps that have begun are finished, and no other begins."""
        self.queued_again = queue_again
        self.control.request_drain(reason)
        self.board.drain()

    @property
    def run_id(self) -> str:
        """The run that this is a call for."""
        return self.lease.run_id

    @property
    def thread_id(self) -> str:
        """The thread of that run."""
        return self.lease.thread_id

    @property
    def in_session(self) -> bool:
        """Whether the run was queued, for workers to take it up."""
        return self.sent_count("task_queued") > 0

    @property
    def elapsed_s(self) -> float:
        """The seconds that this invocation has lasted, but for those in which a call waited for its turn."""
        return self.seconds() - self.began_s - self._waited_s

    @property
    def _waited_s(self) -> float:
        return self.queued_s + (self.seconds() - self.queued_at_s if self.queued else 0)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let time in which a call of a model waits for its turn count for no limit of the run."""
        self._count_queued(1)
        try:
            yield
        finally:
            self._count_queued(-1)

    def _count_queued(self, more: int) -> None:
        self.queued_s, self.queued_at_s = self._waited_s, self.seconds()
        self.queued += more

    @property
    def worked_s(self) -> float:
        """The seconds that the run was worked on, over all its invocations."""
        return self.worked_before_s + self.elapsed_s

    def check_time(self) -> None:
        """Raise BudgetExceeded when the run has used up its seconds of work."""
        limits = self.profile.limits
        if limits.wall_clock_s is None or self.worked_s < limits.wall_clock_s:
            return
        setting = limits.setting("wall_clock_s")
        raise BudgetExceeded(
            setting,
            f"the run has taken {self.worked_s:.1f} s, and {setting} allows {limits.wall_clock_s:g} s",
            f"raise {setting} in planwright.toml, then run again",
            Shortage("wall_clock_s", limits.wall_clock_s, self.worked_s - limits.wall_clock_s),
        )

    def check_turn(self, uid: str) -> None:
        """Park a call that has waited where no more may begin; raise CallCancelled in a cancelled run."""
        if self.control.drain_requested:
            self.board.park_if_drained(uid)
        self.check_cancelled()

    def check_wanted(self) -> None:
        """Raise ModelCancelled for a call of a model that waits for its turn in a cancelled run."""
        if self.cancelled_by:
            raise ModelCancelled(f"cancelled by {self.cancelled_by}, before a model was asked")

    def check_cancelled(self) -> None:
        """Raise CallCancelled when somebody has asked for the end of the run."""
        if self.cancelled_by:
            raise CallCancelled(f"cancelled by {self.cancelled_by}")

    def emit(self, type_: EventType, data: Mapping[str, Any], key: str) -> bool:
        """Send an event to the custom stream and to the journal. Returns whether it was not sent before.

        There is one event a run and key, so a node that runs again, after a crash or for the
        same plan, does not tell its story twice.
        """
        event = self.record_event(type_, data, key)
        if event is None:
            return False
        (self.writer or get_stream_writer())(event)
        return True

    def record_event(self, type_: EventType, data: Mapping[str, Any], key: str) -> Event | None:
        """Write an event into the journal and tell the listeners; None when it was sent before."""
        name = f"{type_}:{key}"
        if name in self.emitted_keys:
            return None
        self.emitted_keys.add(name)
        event = Event(
            v=1,
            seq=next(self.seq),
            ts=self.clock().isoformat(timespec="milliseconds"),
            run_id=self.run_id,
            thread_id=self.thread_id,
            type=type_,
            data=self.redactor.value(dict(data)),
        )
        self.record(event, name)
        for listen in self.listeners:
            listen(event)
        return event

    def has_sent(self, type_: EventType, key: str) -> bool:
        """Say whether the run has sent an event of a type and key, in any invocation."""
        return f"{type_}:{key}" in self.emitted_keys

    def sent_count(self, type_: EventType) -> int:
        """Count the events of a type that the run has sent so far, in every invocation."""
        return sum(name.startswith(f"{type_}:") for name in self.emitted_keys)

    def speak_from_here(self) -> None:
        """Keep the custom stream of this node for the subgraph below it, which has none of its own."""
        self.writer = get_stream_writer()

    def answer_from_here(self, config: RunnableConfig) -> None:
        """Let the model in the subgraph below this node stream its words as those of this node."""
        metadata = config.get("metadata", {})
        self.front = {name: metadata[name] for name in _PLACE if name in metadata}


def invocation_of(config: RunnableConfig) -> Invocation:
    """Find the invocation a node runs in."""
    invocation = config["configurable"][CONFIG_KEY]
    if not isinstance(invocation, Invocation):
        raise TypeError(f"the configuration holds no invocation but {type(invocation).__name__}")
    return invocation
