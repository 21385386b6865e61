"""Replies over a loopback server, read as OpenAI documents them."""

from __future__ import annotations

import json
import time

import httpx
import pytest

from planwright.models.providers.common_wire import CommonWire
from tests.wire.chunked_server import chunked_server
from tests.wire.scripted_server import Reply, ScriptedServer

pytestmark = pytest.mark.enable_socket
CHUNK = {"choices": [{"delta": {"content": "é"}}]}


async def read(kind: str, body: str, *, stream: bool = True, status: int = 200) -> bytes:
    with ScriptedServer([Reply(status, body, {"Content-Type": kind})]) as server:
        async with httpx.AsyncClient(transport=CommonWire("p")) as client:
            reply = await client.post(server.base_url, json={"stream": stream})
            return reply.content


def events(body: bytes) -> list[object]:
    lines = body.decode().split("\n\n")
    return [json.loads(line.removeprefix("data: ")) for line in lines if line and "[DONE]" not in line]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "begin", ["", "\ufeff", ": ping\n\n", "retry: 1\n\n", "data: \n\n", "data: null\n\n"]
)
async def test_a_stream_is_read_whatever_stands_around_its_events(begin: str, line_end: str) -> None:
    text = f"{begin}id: 1\nevent: x\ndata:{json.dumps(CHUNK)}\n\ndata: [DONE]\n\n"
    body = await read("text/event-stream", text.replace("\n", line_end))
    first, last = events(body)
    assert isinstance(first, dict)
    assert isinstance(last, dict)
    assert first["choices"][0]["delta"] == {"content": "é"}
    assert last["choices"][0]["finish_reason"] == "stop"
    assert body.endswith(b"data: [DONE]\n\n")


async def test_a_stream_that_breaks_off_is_given_no_end() -> None:
    body = await read("text/event-stream", f"data: {json.dumps(CHUNK)}\n\n")
    assert len(events(body)) == 1


def counted(*counts: int) -> str:
    """Spell a stream whose chunks say what was used, counted up."""
    usages = [{"prompt_tokens": 100, "completion_tokens": count} for count in counts]
    return "".join(f"data: {json.dumps({**CHUNK, 'usage': usage})}\n\n" for usage in usages)


@pytest.mark.parametrize("done", ["data: [DONE]\n\n", ""])
@pytest.mark.parametrize("more", ["", f"data: {json.dumps(CHUNK)}\n\n"])
async def test_usage_that_is_said_again_in_each_chunk_counts_once(more: str, done: str) -> None:
    body = await read("text/event-stream", counted(1, 2, 3) + more + done)
    said = [event["usage"] for event in events(body) if isinstance(event, dict) and event["usage"]]
    assert said == [{"prompt_tokens": 100, "completion_tokens": 3, "total_tokens": 103}]
    last = events(body)[-1]
    assert isinstance(last, dict)
    assert (last["choices"], last["usage"]) == ([], said[0])


async def test_what_is_no_json_and_what_is_an_error_stay_as_they_are() -> None:
    assert await read("text/event-stream", "data: oh\n\n") == b"data: oh\n\n"
    (error,) = events(await read("text/event-stream", 'data: {"error": {"message": "full"}}\n\n'))
    assert error == {"error": {"message": "full"}}
    assert await read("application/json", "oh", stream=False) == b"oh"
    assert await read("application/json", '{"error": "full"}', stream=False) == b'{"error": "full"}'
    assert await read("application/json", "oh", stream=False, status=500) == b"oh"
    assert await read("text/html", "<p>", stream=False) == b"<p>"


async def test_a_whole_completion_is_put_into_the_documented_form() -> None:
    body = "\ufeff" + json.dumps({"choices": [{"message": {"content": ["Yes"]}}]})
    message = json.loads(await read("application/json; charset=utf-8", body, stream=False))["choices"][0][
        "message"
    ]
    assert message == {"role": "assistant", "content": "Yes"}


async def test_json_in_answer_to_a_request_for_a_stream_is_its_one_event() -> None:
    assert await read("application/json", '{"error": 1}') == b'data: {"error": 1}\n\n'


async def test_an_event_in_very_many_chunks_is_read_in_a_time_that_grows_with_its_length() -> None:
    body = b"\xef\xbb\xbfdata: " + json.dumps({"choices": [], "x": "y" * 400_000}).encode() + b"\r\n\r\n"
    chunks = [body[at : at + 10] for at in range(0, len(body), 10)]
    async with chunked_server(chunks) as url, httpx.AsyncClient(transport=CommonWire("p")) as client:
        before = time.process_time()
        reply = await client.get(url)
    (event,) = events(reply.content)
    assert isinstance(event, dict)
    assert event["x"] == "y" * 400_000
    assert time.process_time() - before < 5
