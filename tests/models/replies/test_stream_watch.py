"""What was heard of a streamed reply: its calls, whole or cut off."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk

from planwright.models.replies.stream_watch import CUT, StreamWatch


async def heard(*pieces: tuple[int, str, str]) -> AIMessage:
    """Stream calls in pieces of (index, id, arguments), and return what becomes of the reply."""
    words, reply = StreamWatch(aloud=True), AIMessageChunk(content="")
    for index, id_, args in pieces:
        call = {"name": "note" if id_ else None, "args": args, "id": id_ or None, "index": index}
        chunk = AIMessageChunk(content="", tool_call_chunks=[{**call, "type": "tool_call_chunk"}])
        await words.on_llm_new_token("", chunk=ChatGenerationChunk(message=chunk), run_id=uuid.uuid4())
        reply += chunk
    whole = AIMessage("", tool_calls=reply.tool_calls, invalid_tool_calls=reply.invalid_tool_calls)
    return words.whole(whole)


@dataclass(frozen=True)
class Case:
    """The arguments of one call as they were streamed, and what the call then asks for, if it can be made."""

    name: str
    pieces: tuple[str, ...]
    args: dict[str, object] | None


CASES = (
    Case("whole", ('{"text": "De', 'ar all"}'), {"text": "Dear all"}),
    Case("nothing to say", ("",), {}),
    Case("an empty object", ("{", "}"), {}),
    Case("a line break", ('{"text": "a\nb"}',), {"text": "a\nb"}),
    Case("cut in a text", ('{"text": "De', "ar"), None),
    Case("cut after a text", ('{"text": "Dear"',), None),
    Case("cut after a key", ('{"text": "Dear", "to"',), None),
    Case("cut at once", ("{",), None),
    Case("a list", ("[1, 2]",), None),
    Case("no JSON", ("text=Dear",), None),
    Case("more than one object", ('{"text": "Dear"}', '{"text": "all"}'), None),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_call_is_made_with_whole_arguments_or_not_at_all(case: Case) -> None:
    first, *rest = case.pieces
    reply = await heard((0, "c1", first), *((0, "", piece) for piece in rest))
    assert [call["args"] for call in reply.tool_calls] == ([] if case.args is None else [case.args])
    kept = [(call["id"], call["args"]) for call in reply.invalid_tool_calls]
    assert kept == ([("c1", "".join(case.pieces))] if case.args is None else [])


async def test_only_the_call_that_was_cut_off_is_left_out() -> None:
    reply = await heard((0, "c1", '{"n": 1}'), (1, "c2", '{"n": '), (1, "", "2"))
    assert [(call["id"], call["args"]) for call in reply.tool_calls] == [("c1", {"n": 1})]
    assert [(call["id"], call["error"]) for call in reply.invalid_tool_calls] == [("c2", CUT)]


async def test_a_reply_that_was_not_streamed_stays_as_it_is() -> None:
    reply = AIMessage("Done.", tool_calls=[{"name": "note", "args": {"n": 1}, "id": "c1"}])
    assert StreamWatch(aloud=True).whole(reply) is reply
