"""What comes in through the door: thread id, messages and options, each checked before it counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeAlias

from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.runnables import RunnableConfig, ensure_config
from langgraph.constants import END
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import RunControl
from langgraph.types import Command, StateSnapshot

from planwright.approvals.decide import gate_of
from planwright.checkpoints.saver import LEASE_KEY
from planwright.domain.errors import PastCheckpoint, RunError, SetupError
from planwright.domain.run_context import RunContext, read_context
from planwright.models.conversation.thread_messages import is_of_a_call
from planwright.records.consent.gate import Gate
from planwright.records.runs import Run
from planwright.settings.profile import RunProfile, in_force
from planwright.settings.settings import Settings
from planwright.store.store_errors import check_storable
from planwright.upkeep.store_times import Checkpointed

AnyGraph: TypeAlias = "CompiledStateGraph[Any, Any, Any, Any]"
"""A compiled graph, whatever its state is."""
MAX_REQUEST = 100_000
LAST_NODE = ("session_close",)


def surrounded(config: RunnableConfig) -> RunnableConfig:
    """Let a config that names no thread inherit that of the node function which makes the call.

    As LangGraph does for a subgraph that a node calls. What a run of ours calls inherits nothing: its thread
    is that run's own.
    """
    inherited = ensure_config().get("configurable", {})
    if "thread_id" in config.get("configurable", {}) or not inherited or LEASE_KEY in inherited:
        return config
    return {**config, "configurable": {**inherited, **config.get("configurable", {})}}


async def read_state(graph: AnyGraph, config: RunnableConfig) -> StateSnapshot:
    """Read the state of a thread for the program itself; `aget_state` of an agent shows it to somebody."""
    return await CompiledStateGraph.aget_state(graph, config)


def thread_of(config: RunnableConfig) -> str:
    """Read the thread id; in a graph of the user's own, each of its nodes has a thread of its own.

    Raises SetupError when the caller gave none, RunError when it names a subgraph.
    """
    thread_id = config.get("configurable", {}).get("thread_id")
    if not thread_id:
        raise SetupError(
            "a run needs a thread id", 'pass {"configurable": {"thread_id": str(uuid.uuid4())}} as the config'
        )
    if config["configurable"].get("checkpoint_ns") and not nested(config):
        raise RunError(
            "a run is entered at its top, not in one of its lanes", "leave checkpoint_ns out of the config"
        )
    return f"{thread_id}:{_place(config)}" if nested(config) else str(thread_id)


def _place(config: RunnableConfig) -> str:
    """Name the nodes of the user's graph that lead to an agent, and the task where `Send` made several.

    A namespace of LangGraph's is `outer:<task id>|inner:<task id>`.
    """
    namespace = str(config["configurable"].get("checkpoint_ns", ""))
    place = ".".join(level.partition(":")[0] for level in namespace.split("|"))
    path = config.get("metadata", {}).get("langgraph_path")
    sent = isinstance(path, list | tuple) and path[:1] in (("__pregel_push",), ["__pregel_push"])
    return f"{place}.{config['configurable']['__pregel_task_id'][:8]}" if sent else place


def read_messages(entry: object, *, inside: bool = False) -> list[BaseMessage]:
    """Read the new messages of an input; `inside` of a graph of the user's own others may have spoken since.

    Raises SetupError for none, for an empty or a huge one, and for texts that not every store can hold.
    """
    content: Any = entry.get("messages") if isinstance(entry, Mapping) else None
    try:
        messages = convert_to_messages(content if isinstance(content, list | tuple) else [content])
    except (ValueError, TypeError, LookupError, NotImplementedError) as error:
        raise SetupError(
            "the input holds no messages", 'pass {"messages": [{"role": "user", "content": "…"}]}'
        ) from error
    if messages and messages[-1].type in ("ai", "tool") and not inside:
        raise SetupError(
            f"the newest message is of type {messages[-1].type}: no run goes on from words of a model",
            'end the input with what you want: {"role": "user", "content": "Go on"}',
        )
    if not (request := request_in(messages if inside else messages[-1:])).strip():
        raise SetupError("the request is empty", 'say what to do: planwright run "What tickets are open?"')
    for message in messages:
        check_storable("the request", message.text)
    if len(request) > MAX_REQUEST:
        raise SetupError(
            f"the request is {len(request):,} characters long, {MAX_REQUEST:,} are allowed",
            "put the text into a file of the workspace and name the file instead",
        )
    return messages


def request_in(messages: Sequence[BaseMessage]) -> str:
    """Read the newest request among messages; "" where there is none."""
    return next((message.text for message in reversed(messages) if message.type == "human"), "")


def check_tenant(run: Run | None, context: object) -> None:
    """Raise RunError when a thread is another tenant's than the caller's: it belongs to that of its runs.

    A caller who names no options at all goes on as the run began.
    """
    if run is not None and read_context(context or run.context).tenant != run.tenant:
        raise RunError(
            f"thread {run.thread_id} belongs to another tenant",
            "name its tenant in the run context, or take a thread of your own",
        )


OF_THE_CALLER = ("channel", "requested_by", "snapshot")


def check_same_options(context: object, run: Run) -> None:
    """Raise RunError when a caller who goes on with a run asks for other options than it began with.

    What is left at its default is not asked for. The channel is that of the caller, who may be somebody else
    than who asked; the snapshot is compared with what is on record of the run.
    """
    wanted, original, default = read_context(context), read_context(run.context), RunContext()
    for name in (option.name for option in fields(RunContext) if option.name not in OF_THE_CALLER):
        if getattr(wanted, name) not in (getattr(original, name), getattr(default, name)):
            raise RunError(
                f"run {run.run_id} began with {name} = {getattr(original, name)!a}; that stays so to its end",
                f"go on without {name}, or cancel it first: planwright cancel {run.thread_id}",
            )


def profile_of(run: Run, fresh: bool, settings: Settings) -> RunProfile:
    """Find the profile of a run that begins or goes on: its agent, as it is set now.

    Raises SetupError when a new run names an agent that there is not, RunError when that of an old one
    is gone; a run that has ended or is cancelled closes without it, permitted nothing.
    """
    context = read_context(run.context)
    try:
        return in_force(settings, context)
    except SetupError as error:
        if fresh:
            raise
        if run.ended or run.cancelled_by:
            return replace(in_force(settings, replace(context, agent=None)), tools=())
        raise RunError(
            f"run {run.run_id} was begun as the agent {context.agent}, which is not set any more",
            f"put [agents.{context.agent}] back into planwright.toml, or: planwright cancel {run.thread_id}",
        ) from error


def unfinished(run: Run, gates: list[Gate]) -> RunError:
    """Say why a new message has to wait, and what to do first."""
    if gates:
        return RunError(
            f"thread {run.thread_id} waits for a decision at gate {gates[0].gate_id}",
            f"answer it first: planwright approve {gates[0].gate_id} (or reject)",
        )
    return RunError(
        f"run {run.run_id} on thread {run.thread_id} has not ended",
        f"finish it first: planwright resume {run.thread_id}",
    )


def not_begun(run: Run, snapshot: StateSnapshot) -> bool:
    """Say whether a run is not in its thread's checkpoints: it died early, or they were deleted."""
    return not snapshot.next and not _knows(snapshot, run)


def to_be_closed(run: Run, snapshot: StateSnapshot) -> bool:
    """Say whether a run has ended and its thread does not know it yet: it died early, or was cancelled.

    One that was cancelled from outside may have stopped anywhere; its answer is not on the thread. Where all
    that its tasks wrote is on record, none of them is `next`, and the graph would go on behind them.
    """
    if not run.ended or not snapshot.tasks:
        return False
    messages = snapshot.values.get("messages", ())
    unanswered = not any(_answers(message, run.run_id) for message in messages)
    return snapshot.next == LAST_NODE or (bool(run.cancelled_by) and _knows(snapshot, run) and unanswered)


def has_ended(run: Run | None, snapshot: StateSnapshot) -> bool:
    """Say whether a thread's newest run has ended and nothing of it is left to write.

    One whose answer did not reach the thread has to be closed first: a run that begins on top of it would be
    closed with that answer if it died early, too. Raises RunError when its state was changed to run on, and
    where its thread is empty: it ended in the queue, or the thread was deleted.
    """
    if run is None or not run.ended or to_be_closed(run, snapshot):
        return False
    if not snapshot.created_at or (snapshot.tasks and not _knows(snapshot, run)):
        cause = f"run {run.run_id} has ended ({run.status}), and nothing of it is on its thread"
        raise RunError(cause, f"see its record: planwright show {run.thread_id}; or send a new message")
    if any(task.name not in LAST_NODE for task in snapshot.tasks):
        raise RunError(
            f"run {run.run_id} has ended ({run.status}); its state was changed since",
            "begin a new run on this thread, or a new thread; after a restore: planwright db check",
        )
    return True


def _knows(snapshot: StateSnapshot, run: Run) -> bool:
    """Say whether a run is the newest that a state knows of."""
    return bool(snapshot.values.get("run_id") == run.run_id)


def _answers(message: BaseMessage, run_id: str) -> bool:
    """Say whether a message is the one that a run ended with."""
    return bool(run_id == message.response_metadata.get("run_id")) and not is_of_a_call(message)


def checkpoint_facts(thread_id: str, snapshot: StateSnapshot) -> Checkpointed:
    """Read what the newest checkpoint of a thread knows, to be compared with what is on record."""
    run_id = snapshot.values.get("run_id")
    messages = snapshot.values.get("messages", [])
    return Checkpointed(
        thread_id=thread_id,
        run_id=run_id,
        ended=run_id is not None and any(_answers(message, run_id) for message in reversed(messages)),
        steps=frozenset(snapshot.values.get("results") or {}),
        gates=frozenset(filter(None, (gate_of(interrupt.value) for interrupt in snapshot.interrupts))),
    )


def names_checkpoint(config: RunnableConfig) -> bool:
    """Say whether a caller means one checkpoint; inside a graph of the user's own, that graph decides."""
    return bool(config.get("configurable", {}).get("checkpoint_id")) and not nested(config)


def without_checkpoint(config: RunnableConfig) -> RunnableConfig:
    """Mean the newest state of a thread."""
    rest = {key: value for key, value in config["configurable"].items() if key != "checkpoint_id"}
    return {**config, "configurable": rest}


def check_newest(config: RunnableConfig, head: StateSnapshot) -> None:
    """Raise RunError unless the checkpoint a caller means is the newest of its thread."""
    newest = head.config.get("configurable", {}).get("checkpoint_id")
    if newest is None:
        raise RunError(f"there is no thread {thread_of(config)}", "list the threads: planwright ls")
    if config["configurable"]["checkpoint_id"] != newest:
        raise in_the_past(config)


def in_the_past(config: RunnableConfig) -> PastCheckpoint:
    """Say that what has run since a checkpoint stays done, and how to go back all the same."""
    id_, thread_id = config["configurable"]["checkpoint_id"], thread_of(config)
    return PastCheckpoint(
        f"nothing goes on from checkpoint {id_} of thread {thread_id}: what has run since stays done",
        f"begin a fork there: planwright fork {thread_id} --checkpoint {id_}",
    )


def nested(config: RunnableConfig) -> bool:
    """Say whether the graph runs as a node of a graph of the user's own."""
    return "__pregel_task_id" in config.get("configurable", {})


def control_around(config: RunnableConfig) -> RunControl | None:
    """Find the control by which that graph can be drained; None for a graph that is entered at its top."""
    control = getattr(config.get("configurable", {}).get("__pregel_runtime"), "control", None)
    return control if isinstance(control, RunControl) else None


def context_around(config: RunnableConfig) -> object:
    """Find the options that graph was called with, where its context is that of a run and nothing else."""
    context = getattr(config.get("configurable", {}).get("__pregel_runtime"), "context", None)
    options = {option.name for option in fields(RunContext)}
    ours = isinstance(context, RunContext) or (isinstance(context, Mapping) and context.keys() <= options)
    return context if ours and nested(config) else None


def resuming(config: RunnableConfig) -> bool:
    """Say whether that graph is being resumed, so that its input is the old one again."""
    return bool(config.get("configurable", {}).get("__pregel_resuming"))


def goes_to_the_end(entry: object) -> bool:
    """Say whether a Command does nothing but end: so chat pages mark a thread as resolved."""
    if not isinstance(entry, Command):
        return False
    return entry.goto in (END, [END], (END,)) and entry == Command(goto=entry.goto)


def answered_by_id(config: RunnableConfig) -> bool:
    """Say whether that graph is resumed with answers by the ids of interrupts, and none for just anyone."""
    return bool(config.get("configurable", {}).get("__pregel_resume_map"))
