"""Bodies: text within the limit, however it is compressed; whatever else is told and left out."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator

import httpx
import pytest

from planwright.security.egress.body import Body, read_body
from planwright.settings.egress import EgressSettings

TEXT = {"content-type": "text/plain; charset=utf-8"}
MEMBERS = b"".join(gzip.compress(text, mtime=0) for text in (b"te", b"", b"xt"))


class Parts(httpx.AsyncByteStream):
    """A body that comes in parts, and remembers how many were taken."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = parts
        self.taken = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self.parts:
            self.taken += 1
            yield part


async def read(*parts: bytes, headers: dict[str, str] = TEXT, most: int = 100) -> Body:
    reply = httpx.Response(200, headers=headers, stream=Parts(*parts))
    return await read_body(reply, EgressSettings(max_bytes=most))


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("", b"text"),
        ("identity", b"text"),
        ("gzip", gzip.compress(b"text", mtime=0)),
        ("GZIP", gzip.compress(b"text", mtime=0)),
        ("deflate", zlib.compress(b"text")),
    ],
)
async def test_a_text_is_read_however_it_is_compressed(encoding: str, content: bytes) -> None:
    halves = content[:3], content[3:]
    assert await read(*halves, headers={**TEXT, "content-encoding": encoding}) == Body("text")


@pytest.mark.parametrize("size", [1, 7, len(MEMBERS)])
async def test_all_members_of_a_gzip_are_read(size: int) -> None:
    content = MEMBERS + b"\0" * 5  # which fill a file up
    parts = [content[at : at + size] for at in range(0, len(content), size)]
    assert await read(*parts, headers={**TEXT, "content-encoding": "gzip"}) == Body("text")
    assert await read(headers={**TEXT, "content-encoding": "gzip"}) == Body("")


async def test_the_limit_holds_over_all_members_of_a_gzip() -> None:
    content = gzip.compress(b"x" * 60)
    headers = {**TEXT, "content-encoding": "gzip"}
    assert "larger than 100 bytes" in (await read(content + content, headers=headers)).left_out
    assert (await read(content + content, headers=headers, most=120)).text == "x" * 120


@pytest.mark.parametrize(
    ("headers", "content", "why"),
    [
        ({"content-type": "image/png"}, b"x", "it is image/png, not text"),
        ({**TEXT, "content-encoding": "br"}, b"x", "compressed by 'br'"),
        ({**TEXT, "content-encoding": "gzip, gzip"}, b"x", "compressed by 'gzip, gzip'"),
        ({**TEXT, "content-encoding": "gzip"}, b"no gzip", "its compression is broken"),
        ({**TEXT, "content-encoding": "gzip"}, MEMBERS + b"no gzip", "its compression is broken"),
        ({**TEXT, "content-encoding": "gzip"}, MEMBERS[:-1], "breaks off before its end"),
        ({**TEXT, "content-encoding": "gzip"}, MEMBERS + MEMBERS[:9], "breaks off before its end"),
        ({**TEXT, "content-encoding": "deflate"}, zlib.compress(b"text")[:-2], "breaks off before its end"),
        ({}, b"\0\1", "does not say what it is"),
        (TEXT, b"x" * 101, "larger than 100 bytes"),
    ],
)
async def test_what_is_no_text_is_left_out(headers: dict[str, str], content: bytes, why: str) -> None:
    body = await read(content, headers=headers)
    assert body.text == ""
    assert why in body.left_out


async def test_a_body_as_large_as_the_limit_is_read() -> None:
    assert (await read(b"x" * 50, b"x" * 50)).text == "x" * 100


async def test_nothing_is_read_past_the_limit() -> None:
    parts = Parts(*[b"x" * 60] * 10)
    reply = httpx.Response(200, headers=TEXT, stream=parts)
    assert "larger" in (await read_body(reply, EgressSettings(max_bytes=100))).left_out
    assert parts.taken == 2


async def test_a_bomb_does_not_unfold() -> None:
    """50 MB of zeros are 50 kB of gzip; less than a megabyte is ever held."""
    bomb = gzip.compress(b"0" * 50_000_000)
    tracemalloc.start()
    try:
        body = await read(bomb, headers={**TEXT, "content-encoding": "gzip"}, most=10_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "larger than 10000 bytes" in body.left_out
    assert peak < 1_000_000


@pytest.mark.parametrize(
    ("content_type", "content", "text"),
    [
        ("text/plain; charset=iso-8859-1", b"\xfc", "ü"),
        ('text/html; charset="windows-1252"', b"\x80", "€"),
        ("text/plain; charset=punycode", b"\xc3\xbc", "ü"),
        ("text/plain; charset=rot13", b"abc", "abc"),
        ("text/plain", b"\xff", "\N{REPLACEMENT CHARACTER}"),
        ("application/problem+json", b"{}", "{}"),
    ],
)
async def test_a_text_is_decoded_by_a_known_character_set(
    content_type: str, content: bytes, text: str
) -> None:
    assert (await read(content, headers={"content-type": content_type})).text == text
