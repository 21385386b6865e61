"""What comes in through the door: thread id, messages and options, each checked before it counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot
from pydantic import TypeAdapter, ValidationError

from planwright.checkpoints.gates import Gate, Gates
from planwright.checkpoints.runs import Run
from planwright.graph.errors import GateError, PastCheckpoint, RunError, SetupError
from planwright.graph.run_context import RunContext

MAX_REQUEST = 100_000
_CONTEXT = TypeAdapter(RunContext)


def thread_of(config: RunnableConfig) -> str:
    """Read the thread id. Raises SetupError when the caller gave none."""
    thread_id = config.get("configurable", {}).get("thread_id")
    if not thread_id:
        raise SetupError(
            "a run needs a thread id", 'pass {"configurable": {"thread_id": str(uuid.uuid4())}} as the config'
        )
    return str(thread_id)


def read_messages(given: Any) -> list[BaseMessage]:
    """Read the new messages of an input. Raises SetupError for none, an empty or a huge one."""
    listed: Any = given.get("messages") if isinstance(given, Mapping) else None
    try:
        messages = convert_to_messages(listed if isinstance(listed, list | tuple) else [listed])
    except (ValueError, TypeError, NotImplementedError) as error:
        raise SetupError(
            "the input holds no messages", 'pass {"messages": [{"role": "user", "content": "…"}]}'
        ) from error
    if not messages or messages[-1].type != "human" or not messages[-1].text.strip():
        raise SetupError("the request is empty", 'say what to do: planwright run "What tickets are open?"')
    if not all(_storable(message.text) for message in messages):
        raise SetupError("the request holds half a character (a lone surrogate)", "send it as valid UTF-8")
    if len(messages[-1].text) > MAX_REQUEST:
        raise SetupError(
            f"the request is {len(messages[-1].text):,} characters long, {MAX_REQUEST:,} are allowed",
            "put the text into a file of the workspace and name the file instead",
        )
    return messages


def read_context(context: Any) -> RunContext:
    """Read the options of a run, from an object or from JSON. Raises SetupError for unknown ones."""
    if isinstance(context, RunContext):
        return context
    try:
        options = dict(context or {})
        if unknown := options.keys() - {option.name for option in fields(RunContext)}:
            raise ValueError(f"there is no option {min(map(str, unknown))!r}")
        return _CONTEXT.validate_python(options)
    except (ValidationError, TypeError, ValueError) as error:
        raise SetupError(f"the run context is wrong: {error}", "see planwright.graph.RunContext") from error


def _storable(text: str) -> bool:
    """Say whether a text is valid Unicode: half a surrogate pair cannot be stored."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


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


async def nothing_open(run: Run, gate_ids: Iterable[str], gates: Gates, at: datetime) -> GateError:
    """Say why there is nothing to answer: answered before, expired, or never asked."""
    for gate_id in gate_ids:
        gate = await gates.read(gate_id, at)
        if gate.status == "expired":
            return GateError(
                f"gate {gate_id} expired at {gate.expires_at:%Y-%m-%d %H:%M:%S} UTC; nothing was run",
                f"close the run with: planwright resume {run.thread_id}",
            )
    return GateError(
        f"nothing on thread {run.thread_id} waits for a decision (its last run: {run.status})",
        f"see how it went: planwright show {run.thread_id}",
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
    given, thread_id = config["configurable"]["checkpoint_id"], thread_of(config)
    return PastCheckpoint(
        f"nothing goes on from checkpoint {given} of thread {thread_id}: what has run since stays done",
        f"begin a fork there: planwright fork {thread_id} --checkpoint {given}",
    )


def nested(config: RunnableConfig) -> bool:
    """Say whether the graph runs as a node of a graph of the user's own."""
    return "__pregel_task_id" in config.get("configurable", {})


def resuming(config: RunnableConfig) -> bool:
    """Say whether that graph is being resumed, so that its input is the old one again."""
    return bool(config.get("configurable", {}).get("__pregel_resuming"))
