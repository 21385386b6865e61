"""Replies of a provider over real HTTP that are too much to be read, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from functools import reduce
from itertools import zip_longest
from operator import add
from typing import Any

import httpx
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk

from planwright.domain.errors import ModelError, ModelInterrupted, ModelOutputInvalid, ModelRejected
from planwright.models.bounded import MOST_EVENTS, Bounded
from planwright.models.failover.classify import classify
from planwright.models.providers.openai_compatible import chat_model
from planwright.models.replies.stream_watch import StreamWatch
from planwright.security.reply_size import MOST_LISTS
from planwright.settings.providers import ProviderSettings
from tests.wire.chunked_server import chunked_server
from tests.wire.conftest import Serve
from tests.wire.scripted_server import Reply, ScriptedServer, calls, refuses, says

pytestmark = pytest.mark.enable_socket
TEXT = "a word and " * 18_000  # 198,000 characters
LISTS = json.loads("[" + "[]," * 10_000 + "[]]")
NUMBERS = json.loads("[" + "1," * 60_000 + "1]")


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as running:
        yield lambda *replies: running.enter_context(ScriptedServer(replies))


@asynccontextmanager
async def model_of(server: ScriptedServer) -> AsyncIterator[BaseChatModel]:
    """Open the chat model of a provider, and close its connections."""
    model: Any = chat_model("mine", ProviderSettings(base_url=server.base_url, api_key_env=None, model="m"))
    yield model
    await model.root_async_client.close()


async def refused(server: ScriptedServer, *, streamed: bool) -> ModelError:
    """Ask, and return the class of what goes wrong."""
    async with model_of(server) as model:
        try:
            if streamed:
                async for _ in model.astream("hi"):
                    pass
            else:
                await model.ainvoke("hi")
        except Exception as error:  # noqa: BLE001 - as in calling.py
            failure = classify(error, "mine")
            assert failure is not None
            return failure
    raise AssertionError("it was read")


def events(deltas: Sequence[dict[str, Any]], more: str = "") -> Reply:
    """Send pieces of a message as a stream of events."""
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    said = [{**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    body = "".join(f"data: {json.dumps(one)}\n\n" for one in said) + more + "data: [DONE]\n\n"
    return Reply(body=body, headers={"Content-Type": "text/event-stream"})


def in_pieces(arguments: str, size: int) -> list[dict[str, Any]]:
    """Cut the arguments of a call into the deltas of a stream."""
    pieces = [arguments[at : at + size] for at in range(0, len(arguments), size)]
    head = {"index": 0, "id": "c1", "type": "function", "function": {"name": "note", "arguments": ""}}
    return [
        {"tool_calls": [head]},
        *({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces),
    ]


@pytest.mark.long
async def test_a_long_answer_is_read_whole_and_streamed(serve: Serve) -> None:
    async with model_of(serve(says(TEXT))) as model:
        whole = await model.ainvoke("hi")
    pieces = [{"content": TEXT[at : at + 50]} for at in range(0, len(TEXT), 50)]
    async with model_of(serve(events(pieces))) as model:
        streamed = [piece.text async for piece in model.astream("hi")]
    assert [whole.text, "".join(streamed)] == [TEXT, TEXT]


async def test_arguments_with_many_numbers_are_read(serve: Serve) -> None:
    async with model_of(serve(calls("note", {"numbers": NUMBERS}))) as model:
        reply = await model.ainvoke("hi")
    assert isinstance(reply, AIMessage)
    assert reply.tool_calls[0]["args"] == {"numbers": NUMBERS}


@pytest.mark.parametrize(
    ("reply", "what"),
    [
        (says("a" * 1_600_000), "more than 1.5 MB"),
        (refuses(400, "a" * 1_600_000), "more than 1.5 MB"),
        (calls("note", {"lists": LISTS}), "more than 10,000 lists and objects"),
        (
            Reply(body=calls("note", {"lists": LISTS}).body.replace("[]", r"\u005b]")),
            "more than 10,000 lists",
        ),
        (Reply(body=f'{{"id": "c", "choices": {json.dumps(LISTS)}}}'), "more than 10,000 lists and objects"),
    ],
)
async def test_a_whole_reply_that_is_too_much_is_invalid(serve: Serve, reply: Reply, what: str) -> None:
    failure = await refused(serve(reply), streamed=False)
    assert type(failure) is ModelOutputInvalid
    assert failure.cause.startswith(f"the reply of provider mine has {what}")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("reply", "what"),
    [
        (events([{"content": "a" * 1_600_000}]), "provider mine has more than 1.5 MB"),
        (events([{}], ":\n\n" * MOST_EVENTS), "provider mine has more than 16 MB or 60,000 events"),
        (events([{}], f":{'a' * 1_000_000}\n\n" * 16), "provider mine has more than 16 MB or 60,000 events"),
        (
            events(in_pieces(json.dumps(LISTS), 50_000)),
            "provider mine has more than 10,000 lists and objects",
        ),
        (events(in_pieces(json.dumps(LISTS), 20)), "m has more than 200,000 characters, or 10,000 lists"),
        (events([{"content": "word " * 1000}] * 41), "m has more than 200,000 characters, or 10,000 lists"),
        (events(in_pieces("9" * 200_001, 5000)), "m has more than 200,000 characters, or 10,000 lists"),
        (says("a" * 1_600_000), "provider mine has more than 1.5 MB"),  # which came whole all the same
    ],
)
async def test_a_stream_that_is_too_much_is_invalid(serve: Serve, reply: Reply, what: str) -> None:
    failure = await refused(serve(Reply(200, reply.body, reply.headers)), streamed=True)
    assert type(failure) is ModelOutputInvalid
    assert failure.cause.startswith(f"the reply of {what}")


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("size", [1, 0], ids=["byte by byte", "line by line"])
async def test_a_stream_whose_lines_come_one_by_one_is_read(line_end: bytes, size: int) -> None:
    events = MOST_LISTS // 2 if size == 0 else 50
    lines = [b'data: {"a": [{"b": %d}]}' % number + line_end for number in range(events)]
    chunks = [part for line in lines for part in (line, line_end)]
    if size:
        chunks = [bytes([byte]) for chunk in chunks for byte in chunk]
    async with chunked_server(chunks) as url, httpx.AsyncClient(transport=Bounded("mine")) as client:
        reply = await client.get(url)
    assert reply.content == b"".join(chunks)


async def test_escaped_lists_are_counted_where_an_escape_comes_in_two_chunks() -> None:
    chunks = [b"data: "] + [b"\\u0", b"05b"] * (MOST_LISTS + 1)
    async with chunked_server(chunks) as url, httpx.AsyncClient(transport=Bounded("mine")) as client:
        with pytest.raises(ModelOutputInvalid, match="more than 10,000 lists"):
            await client.get(url)


async def test_a_compressed_reply_is_not_read(serve: Serve) -> None:
    server = serve(Reply(body="x", headers={"Content-Encoding": "gzip"}))
    failure = await refused(server, streamed=False)
    assert type(failure) is ModelRejected
    assert "sends its replies compressed" in failure.cause
    assert server.requests[0].headers["accept-encoding"] == "identity"


def test_what_a_reader_has_seen_is_not_asked_for_again() -> None:
    words = StreamWatch(aloud=True)
    words.begun, words.text = True, "Dear all"
    failure = words.failure(ModelOutputInvalid("the reply has too much", "answer with fewer words"))
    assert isinstance(failure, ModelInterrupted)
    assert failure.partial == "Dear all"


@pytest.mark.long
@pytest.mark.parametrize("size", [7, 50_000], ids=["in pieces", "in one piece"])
async def test_long_arguments_that_are_no_json_are_quoted_in_part(serve: Serve, size: int) -> None:
    text = '{"text": "an "unescaped" quote, ' + "word " * 4000 + '"}'
    async with model_of(serve(events(in_pieces(text, size)))) as model:
        whole = await _whole(model)
    (wrong,) = whole.invalid_tool_calls
    assert (whole.tool_calls, wrong["name"]) == ([], "note")
    assert wrong["args"] is not None
    assert text.startswith(json.loads(wrong["args"]).removesuffix("…"))
    assert len(wrong["args"]) < 3000


async def test_calls_that_come_in_turns_are_put_together_by_their_place(serve: Serve) -> None:
    first, second = in_pieces('{"text": "ä \\"one\\""}', 3), in_pieces('{"text": "two"}', 3)
    for delta in second:
        delta["tool_calls"][0]["index"] = 1
    second[0]["tool_calls"][0]["id"] = "c2"
    mixed = [delta for pair in zip_longest(first, second) for delta in pair if delta]
    async with model_of(serve(events(mixed))) as model:
        whole = await _whole(model)
    assert [(call["id"], call["args"]) for call in whole.tool_calls] == [
        ("c1", {"text": 'ä "one"'}),
        ("c2", {"text": "two"}),
    ]


async def _whole(model: BaseChatModel) -> AIMessageChunk:
    pieces = [piece async for piece in model.astream("hi")]
    whole = reduce(add, pieces)
    assert isinstance(whole, AIMessageChunk)
    return whole
