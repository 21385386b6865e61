"""Replies over HTTP in the documented form, whatever the server's own is, streamed or not."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import cast

import httpx

from planwright.models.bounded import Bounded
from planwright.models.providers.common_form import ChunkForm, completion
from planwright.models.providers.sent_back import Json

BOM = b"\xef\xbb\xbf"
DONE = b"[DONE]"


class CommonWire(Bounded):
    """Send over HTTP, and read every reply as OpenAI documents it."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request. Raises httpx.TransportError and what Bounded raises."""
        response = await super().handle_async_request(request)
        if request.url.path.endswith("/responses"):  # events and items of another form
            return response
        kind = response.headers.get("content-type", "").lower()
        if response.is_success and kind.startswith("text/event-stream"):
            response.stream = _Chunks(cast(httpx.AsyncByteStream, response.stream))
        elif response.is_success and kind.startswith("application/json"):
            try:
                body = await response.aread()
            finally:
                await response.aclose()
            headers = {name: value for name, value in response.headers.items() if name != "content-length"}
            if _asks_for_a_stream(request):
                return httpx.Response(response.status_code, content=_as_event(body))
            return httpx.Response(response.status_code, headers=headers, content=_whole(body))
        return response


def _asks_for_a_stream(request: httpx.Request) -> bool:
    return b'"stream":true' in request.content.replace(b" ", b"")


def _as_event(body: bytes) -> bytes:
    """Spell JSON that came instead of a stream as its one event.

    Gateways that report an error with status 200 do so as JSON, whatever was asked for. The OpenAI SDK looks
    for events in it, finds none, and the error is lost: a conversation that is too long looks like an outage.
    The whole completion of a server that does not stream is one chunk.
    """
    try:
        content = json.loads(body.removeprefix(BOM))
    except ValueError:
        content = None
    if isinstance(content, dict) and isinstance(content.get("choices"), list) and not content.get("error"):
        return _spelled(_one_chunk(completion(content)))
    return b"".join(b"data: " + line + b"\n" for line in body.splitlines()) + b"\n"


def _one_chunk(content: Json) -> Json:
    """Spell a completion as the one chunk of a stream."""
    choices = []
    for choice in cast(list[Json], content["choices"]):
        delta = dict(cast(Json, choice.get("message") or {}))
        calls = cast(list[Json], delta.get("tool_calls") or [])
        delta["tool_calls"] = [{**call, "index": at} for at, call in enumerate(calls)]
        rest = {name: value for name, value in choice.items() if name != "message"}
        choices.append({**rest, "delta": delta})
    return {**content, "object": "chat.completion.chunk", "choices": choices}


class _Chunks(httpx.AsyncByteStream):
    """The events of a stream (WHATWG HTML §9.2), each a chunk in the documented form."""

    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        form, data = ChunkForm(), list[bytes]()
        async for line in _lines(self._stream):
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif not line and data:
                yield _event(form, b"\n".join(data))
                data.clear()
        if data:
            yield _event(form, b"\n".join(data))
        for chunk in (form.sent_back(), form.used()):  # no [DONE] came
            if chunk:
                yield _spelled(chunk)

    async def aclose(self) -> None:
        """Close the connection, or give it back."""
        await self._stream.aclose()


async def _lines(stream: httpx.AsyncByteStream) -> AsyncIterator[bytes]:
    """Split a stream into lines, whatever ends them; a BOM before the first is no part of it."""
    pieces, mark = list[bytes](), BOM  # of a line that has not ended: it may come in very many
    async for part in stream:
        pieces.append(part)
        if b"\n" in part:
            *lines, rest = b"".join(pieces).removeprefix(mark).replace(b"\r\n", b"\n").split(b"\n")
            pieces, mark = [rest], b""
            for line in lines:
                yield line.removesuffix(b"\r")
    if rest := b"".join(pieces).removeprefix(mark):
        yield rest.removesuffix(b"\r")


def _event(form: ChunkForm, data: bytes) -> bytes:
    """Spell one event anew; nothing where it says nothing."""
    if data.strip() == DONE:
        ends = (form.sent_back(), form.last(), form.used())
        return b"".join(_spelled(chunk) for chunk in ends if chunk) + b"data: [DONE]\n\n"
    try:
        body = json.loads(data)
    except ValueError:
        return b"data: " + data.replace(b"\n", b"\ndata: ") + b"\n\n" if data.strip() else b""
    if not isinstance(body, dict) or not body:
        return b""
    return _spelled(form.chunk(body) if not body.get("error") else body)


def _spelled(body: dict[str, object]) -> bytes:
    return b"data: " + json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n\n"


def _whole(body: bytes) -> bytes:
    """Spell a whole completion anew; what is none stays as it is."""
    try:
        content = json.loads(body.removeprefix(BOM))
    except ValueError:
        return body
    if not isinstance(content, dict) or content.get("error") or not isinstance(content.get("choices"), list):
        return body
    return json.dumps(completion(content), ensure_ascii=False).encode("utf-8", "surrogatepass")
