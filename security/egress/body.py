"""Read the body of a reply: text only, up to a size, decompressed under the same limit."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from fnmatch import fnmatchcase

import httpx

from planwright.settings.egress import EgressSettings

ACCEPT_ENCODING = "gzip, deflate"
_GZIP_OR_ZLIB = 47  # zlib's window bits, with detection of either header
# Python knows codecs that are slow on purpose-made input (punycode, idna), or no character sets at all.
_CHARSETS = re.compile(
    r"us-ascii|utf-?8|utf-16(?:[bl]e)?|iso-?8859-\d{1,2}|latin-?1|windows-125\d|koi8-[ru]|shift_jis|euc-(?:jp|kr)"
    r"|gb2312|gbk|gb18030|big5"
)


@dataclass(frozen=True)
class Body:
    """The text of a reply, or why it was left out."""

    text: str = ""
    """Text of the reply; "" where it was left out."""
    left_out: str = ""
    """Why it was left out; "" where it was not."""


async def read_body(reply: httpx.Response, egress: EgressSettings) -> Body:
    """Read a body of a wanted type; of any other, say what it is, and do not read it to its end."""
    content_type = reply.headers.get("content-type", "")
    kind, _, parameters = content_type.lower().partition(";")
    if kind and not any(fnmatchcase(kind.strip(), wanted) for wanted in egress.content_types):
        return Body(left_out=f"it is {kind.strip()[:80]}, not text")
    try:
        inflate = _decoder(reply.headers.get("content-encoding", ""))
    except ValueError as error:
        return Body(left_out=str(error))
    content, room = bytearray(), egress.max_bytes + 1
    try:
        async for part in reply.aiter_raw():
            content += inflate(part, room - len(content))
            if len(content) > egress.max_bytes:
                return Body(left_out=f"it is larger than {egress.max_bytes} bytes (egress.max_bytes)")
    except zlib.error as error:
        return Body(left_out=f"its compression is broken: {error}")
    if not inflate.whole:
        return Body(left_out="its compression breaks off before its end")
    if not kind and b"\0" in content:
        return Body(left_out="it does not say what it is, and is no text")
    return Body(content.decode(_charset(parameters), "replace"))


class _Plain:
    whole = True

    def __call__(self, part: bytes, room: int) -> bytes:
        return part[:room]


class _Inflate:
    """Decompress no more than there is room for, so that a bomb never unfolds."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._begun = False

    @property
    def whole(self) -> bool:
        """Whether what has begun has come to its end."""
        return self._member.eof or not self._begun

    def __call__(self, part: bytes, room: int) -> bytes:
        content = bytearray()
        while part and len(content) < room:
            if self._member.eof:  # a gzip may have several members (RFC 1952, 2.2), and zeros that fill it up
                part = part.lstrip(b"\0")
                if not part:
                    break
                self._member = zlib.decompressobj(_GZIP_OR_ZLIB)
            self._begun = True
            content += self._member.decompress(part, room - len(content))
            part = self._member.unused_data
        return bytes(content)


def _decoder(encoding: str) -> _Plain | _Inflate:
    named = encoding.strip().lower()
    if named in ("", "identity"):
        return _Plain()
    if named in ("gzip", "x-gzip", "deflate"):
        return _Inflate()
    raise ValueError(f"it is compressed by {named[:40]!r}, which was not asked for")


def _charset(parameters: str) -> str:
    match = re.search(r"charset\s*=\s*\"?([\w-]+)", parameters)
    named = match[1] if match else "utf-8"
    return named if _CHARSETS.fullmatch(named) else "utf-8"
