"""Replies over HTTP in the documented form, whatever the server's own is, streamed or not."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import cast

import httpx

from planwright.models.bounded import Bounded
from planwright.models.providers.chunk_form import ChunkForm, from_chunks
from planwright.models.providers.common_form import as_error, completion
from planwright.models.providers.sent_back import Json

BOM = b"\xef\xbb\xbf"
DONE = b"[DONE]"
LONGEST_QUOTED = 200  # characters of what is no reply
_NONE = "it is no chat completion"
_FIRST = json.JSONDecoder()
_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


class CommonWire(Bounded):
    """Send over HTTP, and read every reply as OpenAI documents it, whatever its content type says."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request. Raises httpx.TransportError and what Bounded raises."""
        response = await super().handle_async_request(request)
        if request.url.path.endswith("/responses") or not response.is_success:  # events of another form
            return response
        if _asks_for_a_stream(request):
            response.stream = _Chunks(cast(httpx.AsyncByteStream, response.stream))
            return response
        try:
            body = await response.aread()
        finally:
            await response.aclose()
        left_out = ("content-length", "content-type")
        headers = {name: value for name, value in response.headers.items() if name not in left_out}
        headers["content-type"] = "application/json"
        return httpx.Response(response.status_code, headers=headers, content=_whole(body))


def _asks_for_a_stream(request: httpx.Request) -> bool:
    return b'"stream":true' in request.content.replace(b" ", b"")


class _Chunks(httpx.AsyncByteStream):
    """The events of a stream (WHATWG HTML §9.2), each a chunk in the documented form."""

    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        events, bare = _Events(), list[bytes]()
        async for line in _lines(self._stream):
            if line and not line.startswith(_FIELDS) and not events.begun:
                bare.append(line)
            elif chunk := events.read(line):
                yield chunk
        for line in _as_events(bare):
            yield events.read(line)
        yield events.end()

    async def aclose(self) -> None:
        """Close the connection, or give it back."""
        await self._stream.aclose()


class _Events:
    """Reads the lines of a stream, and spells each event of it anew."""

    def __init__(self) -> None:
        self.begun = False
        self._form, self._data, self._name = ChunkForm(), list[bytes](), b""

    def read(self, line: bytes) -> bytes:
        """Read the next line; give what an event says that it ends, nothing where there is none."""
        if line.startswith(b"data:"):
            self.begun = True
            self._data.append(line[5:].removeprefix(b" "))
        elif line.startswith(b"event:"):
            self._name = line[6:].strip()
        elif not line:
            data, name = b"\n".join(self._data), self._name
            self._data, self._name = [], b""
            return self._event(data, name) if data.strip() else b""
        return b""

    def end(self) -> bytes:
        """Give what the end of the stream says, also of an event that no blank line has ended."""
        chunks = (self._form.sent_back(), self._form.used(), self._form.missing())  # of no [DONE]
        return self.read(b"") + b"".join(_format(chunk) for chunk in chunks if chunk)

    def _event(self, data: bytes, name: bytes) -> bytes:
        form = self._form
        if data.strip() == DONE:
            ends = (form.missing(), form.sent_back(), form.last(), form.used())
            return b"".join(_format(chunk) for chunk in ends if chunk) + b"data: [DONE]\n\n"
        body = _read(data)
        if body is None:
            return _format(as_error(f"{_NONE}: {_quoted(data)}"))
        if name == b"error":
            body = {"error": body.get("error") or body}
        chunk = form.chunk(body)
        return _format(chunk) if chunk.get("error") or isinstance(body.get("choices"), list) else b""


def _as_events(lines: list[bytes]) -> list[bytes]:
    """Take what is no stream for the data of events: one body over many lines, or one in each line.

    Gateways that report an error with status 200 do so as JSON, whatever was asked for. The OpenAI SDK looks
    for events in it, finds none, and the error is lost: a conversation that is too long looks like an outage.
    The whole completion of a server that does not stream is one chunk.
    """
    each = [_read(line) for line in lines]
    if len(lines) > 1 and all(each):  # as Ollama's own API streams
        return [part for line in lines for part in (b"data: " + line, b"")]
    whole = b"\n".join(lines)
    return [b"data: " + line for line in whole.splitlines()] + ([b"", b"data: [DONE]", b""] if lines else [])


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


def _read(data: bytes) -> Json | None:
    """Read the object that stands first in some bytes; an empty one for null, None for what is no object."""
    text = data.decode("utf-8", "replace").strip()
    try:
        body, _ = _FIRST.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return {} if body is None else body if isinstance(body, dict) else None


def _whole(body: bytes) -> bytes:
    """Spell a whole completion anew, also where it comes as a stream; what is none is an error."""
    body = body.removeprefix(BOM)
    content = _read(body)
    if content is None and body.lstrip().startswith(_FIELDS):
        chunks = list(_chunks(body))
        content = from_chunks(chunks, ended=DONE in body) if chunks else None
    spelled = completion(content) if content else as_error(f"{_NONE}: {_quoted(body)}")
    return json.dumps(spelled, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _chunks(body: bytes) -> Iterator[Json]:
    for line in body.splitlines():
        if line.startswith(b"data:") and (chunk := _read(line[5:])):
            yield chunk


def _quoted(data: bytes) -> str:
    return " ".join(data.decode("utf-8", "replace").split())[:LONGEST_QUOTED] or "nothing came"


def _format(body: Json) -> bytes:
    return b"data: " + json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n\n"
