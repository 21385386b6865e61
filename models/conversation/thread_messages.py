"""The calls of a run as messages of its thread: what the next turn knows, and what pages show.

Each is sealed, so that one which a caller sends, or writes into the state, is told from one of the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage

from planwright.domain.hashing import canonical_json
from planwright.models.conversation.history import STREAMED, repair
from planwright.prompts.fence import OURS, sign

SEAL = "seal"
BROUGHT = {"planwright": "brought"}
"""Marks (in `additional_kwargs`) a ToolMessage that no run of ours wrote."""


def is_of_a_call(message: BaseMessage) -> bool:
    """Say whether a message makes calls, or answers one."""
    return isinstance(message, ToolMessage) or (isinstance(message, AIMessage) and bool(message.tool_calls))


def of_calls(messages: Sequence[AnyMessage], run_id: str) -> list[AnyMessage]:
    """Choose the calls of a loop and what they brought, each call answered, with ids of their own."""
    return [_sealed(message, run_id) for message in repair(messages) if is_of_a_call(message)]


def last_results(messages: Sequence[AnyMessage], run_id: str) -> list[AnyMessage]:
    """List what the calls of the last reply brought, as the thread will have it."""
    last = list(takewhile(lambda message: isinstance(message, ToolMessage), reversed(messages)))
    return [_sealed(message, run_id) for message in reversed(last)]


def as_call(
    run_id: str, name: str, args: dict[str, object], call_id: str, text: str, *, ok: bool
) -> list[AnyMessage]:
    """Tell of a step of a plan as of a call and its result."""
    call = AIMessage("", tool_calls=[{"name": name, "args": args, "id": call_id}], id=call_id)
    status = "success" if ok else "error"
    return of_calls([call, ToolMessage(text, tool_call_id=call_id, name=name, status=status)], run_id)


def as_fields(message: AnyMessage) -> dict[str, object]:
    """Tell of a message as plain data: who says what, and what is called."""
    fields: dict[str, object] = {"from": message.type, "text": message.text}
    calls = [[c["name"], c["args"]] for c in message.tool_calls] if isinstance(message, AIMessage) else []
    return {**fields, "calls": calls} if calls else fields


def is_sealed(message: BaseMessage) -> bool:
    """Say whether a run wrote a message as it stands."""
    run_id, seal = message.response_metadata.get("run_id"), message.response_metadata.get(SEAL)
    return seal is not None and seal == _seal(message, str(run_id))


def is_of_run(message: BaseMessage, run_id: str) -> bool:
    """Say whether a message makes calls of a run, or answers one, as that run wrote it."""
    own = message.response_metadata.get("run_id") == run_id
    return own and is_of_a_call(message) and is_sealed(message)


def of_thread(messages: Iterable[AnyMessage]) -> list[AnyMessage]:
    """Show what earlier runs and callers left on a thread: nothing of it counts as our own words."""
    return [_earlier(message) if isinstance(message, ToolMessage) else message for message in messages]


def is_brought(message: AnyMessage) -> bool:
    """Say whether a message is a result that no run of ours wrote, as `of_thread` marks it."""
    return BROUGHT.items() <= message.additional_kwargs.items()


def _earlier(message: ToolMessage) -> ToolMessage:
    marks = {**OURS, **BROUGHT}
    rest = {name: held for name, held in message.additional_kwargs.items() if name not in marks}
    return message.model_copy(
        update={"additional_kwargs": rest if is_sealed(message) else {**rest, **BROUGHT}}
    )


def _sealed(message: AnyMessage, run_id: str) -> AnyMessage:
    """Give a message an id that no other has: a reply that was streamed keeps the one that it had there."""
    if isinstance(message, ToolMessage):
        id_ = f"{run_id}_{message.tool_call_id}_result"
    else:
        id_ = message.response_metadata.get(STREAMED) or f"{run_id}_{message.id}"
    update = {"id": id_, "additional_kwargs": {}, "response_metadata": {"run_id": run_id}}
    own = message.model_copy(update=update)
    own.response_metadata[SEAL] = _seal(own, run_id)
    return own


def _seal(message: BaseMessage, run_id: str) -> str:
    calls = message.tool_calls if isinstance(message, AIMessage) else getattr(message, "tool_call_id", "")
    return sign(canonical_json([run_id, message.id, message.type, message.content, calls]))
