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
ASKED = '{"at": "Rome"}'
WHOLE = {
    "choices": [{"message": {"role": "assistant", "content": "Yes"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2},
}


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


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ('data: {"error": {"message": "full", "code": 502}}\n\n', "full"),
        ('{"error": "full"}', "full"),
        ('data: {"object": "error", "message": "full", "code": 502}\n\n', "full"),
        ('event: error\ndata: {"message": "full", "type": "x"}\n\n', "full"),
        ('data: {"detail": "full"}\n\n', 'it is no chat completion: {"detail": "full"}'),
        (
            '{"choices": null, "detail": "full"}',
            'it is no chat completion: {"choices": null, "detail": "full"}',
        ),
        ("<p>Log in</p>\n<p>", "it is no chat completion: <p>Log in</p> <p>"),
        ("data: oh\n\n", "it is no chat completion: oh"),
    ],
)
async def test_what_is_no_completion_is_one_error_that_says_what_came(body: str, says: str) -> None:
    (streamed,) = events(await read("text/event-stream", body))
    assert isinstance(streamed, dict)
    assert streamed["error"]["message"] == says
    if "event: " not in body:
        whole = json.loads(await read("text/plain", body, stream=False))
        assert whole["error"]["message"] == (
            says if "oh" not in body else "it is no chat completion: data: oh"
        )


async def test_an_error_keeps_its_code_and_a_refused_request_its_body() -> None:
    (error,) = events(await read("text/event-stream", 'data: {"error": {"code": 429}}\n\n'))
    assert error == {"error": {"code": 429, "message": '{"code": 429}'}}
    assert await read("application/json", "oh", stream=False, status=500) == b"oh"


async def test_a_whole_completion_is_put_into_the_documented_form() -> None:
    body = "\ufeff" + json.dumps({"choices": [{"message": {"content": ["Yes"]}}]})
    message = json.loads(await read("application/json; charset=utf-8", body, stream=False))["choices"][0][
        "message"
    ]
    assert message == {"role": "assistant", "content": "Yes"}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream", "text/plain", ""])
@pytest.mark.parametrize("body", [json.dumps(WHOLE), json.dumps(WHOLE, indent=1), json.dumps(WHOLE) + "\n"])
async def test_a_whole_body_for_a_stream_is_its_one_chunk(kind: str, body: str) -> None:
    chunk, usage = events(await read(kind, body))[:1], events(await read(kind, body))[-1:]
    assert [event["choices"][0]["delta"] for event in chunk if isinstance(event, dict)] == [
        {"role": "assistant", "content": "Yes"}
    ]
    assert [event["usage"]["total_tokens"] for event in usage if isinstance(event, dict)] == [3]


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream", "text/plain", ""])
async def test_a_stream_for_a_whole_body_is_put_together(kind: str) -> None:
    def part(**fields: object) -> dict[str, object]:
        return {"choices": [{"delta": {"tool_calls": [{"index": 0, **fields}]}}]}

    chunks = [
        {"choices": [{"delta": {"role": "assistant", "reasoning_content": "Hm."}}]},
        part(id="c", function={"name": "f", "arguments": ASKED[:9]}),
        part(function={"arguments": ASKED[9:]}),
        {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": WHOLE["usage"]},
    ]
    stream = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    whole = json.loads(await read(kind, stream, stream=False))
    (choice,) = whole["choices"]
    (call,) = choice["message"]["tool_calls"]
    assert (call["id"], call["function"]) == ("c", {"name": "f", "arguments": ASKED})
    assert (choice["finish_reason"], whole["usage"]["total_tokens"]) == ("tool_calls", 3)
    assert choice["message"]["reasoning_content"] == "Hm."


async def test_json_in_each_line_is_a_stream() -> None:
    body = await read("application/x-ndjson", f"{json.dumps(CHUNK)}\n{json.dumps(CHUNK)}\n")
    assert len(events(body)) == 2


async def test_more_behind_the_json_and_bytes_that_are_no_utf_8_are_no_hindrance() -> None:
    content = json.loads(
        await read("application/json", f"{json.dumps(WHOLE)}\n\ndata: [DONE]\n", stream=False)
    )
    assert content["choices"][0]["message"]["content"] == "Yes"
    async with (
        chunked_server([b'data: {"model": "\xc3", "choices": [{"delta": {"content": "a"}}]}\n\n']) as url,
        httpx.AsyncClient(transport=CommonWire("p")) as client,
    ):
        (event,) = events((await client.request("GET", url, json={"stream": True})).content)
    assert isinstance(event, dict)
    assert event["model"] == "\ufffd"


@pytest.mark.long
async def test_an_event_in_very_many_chunks_is_read_in_a_time_that_grows_with_its_length() -> None:
    body = b"\xef\xbb\xbfdata: " + json.dumps({"choices": [], "x": "y" * 400_000}).encode() + b"\r\n\r\n"
    chunks = [body[at : at + 10] for at in range(0, len(body), 10)]
    async with chunked_server(chunks) as url, httpx.AsyncClient(transport=CommonWire("p")) as client:
        before = time.process_time()
        reply = await client.request("GET", url, json={"stream": True})
    event, _ = events(reply.content)
    assert isinstance(event, dict)
    assert event["x"] == "y" * 400_000
    assert time.process_time() - before < 5
