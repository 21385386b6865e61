"""Requests of random arguments, a real web server that takes them, and what of them would differ."""

from __future__ import annotations

import asyncio
import json
import random
import re
import string
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from benchmarks.ssrf_peers import listening

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
HOSTS = ("127.0.0.1", "127.0.0.1", "127.0.0.1", "localhost", "LOCALHOST")
ODD_HOSTS = (
    "127.1",
    "2130706433",
    "user@127.0.0.1",
    "127.0.0.1.",
    "127。0.0.1",
    "localhost%00",
    "[::1]",
    "ⓛocalhost",
)
PIECES = (
    "a b é 日 %2e%2e %2F %zz % .. . ... ;x=1 a;b ~!$&'()*+,;=:@-._ [x] | ^ ` {x} \" < > // ..;"
    " \u202e \ufeff %00 %0d%0a \\ \t \x85 é́ 🧾 a+b @x :80 ://x %C3%A9 x" + "y" * 300
).split(" ")
NAMES = ("X-A", "accept", "Authorization", "Content-Type", "x-a", "X-Trace_1", "If-Match", "Cookie", "Range")
ODD_NAMES = (
    "Host",
    "Content-Length",
    "Transfer-Encoding",
    "X A",
    "X:A",
    "",
    "X-Forwarded-Host",
    "é",
    "X-A\r\nY",
)
VALUES = ("1", "text/plain", 'a, b; c="d"', "é", "", "\x80\xff", "x" * 900, "a  b", "a\tb", "=?utf-8?q?x?=")
ODD_VALUES = (" 1", "1 ", "1\r\nX-B: 2", "1\n", "\0", "日", "\x7f", "\t")
OURS = set(
    "host accept user-agent accept-encoding connection content-length content-type idempotency-key".split()
)
FIRST_LINE = re.compile(r"([A-Z]+) (\S+) HTTP/1\.1")


@dataclass(frozen=True)
class Received:
    """One request as its bytes say."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes


@dataclass
class Web:
    """A web server and what it got; `redirect` is the status and place of its next answers."""

    port: int = 0
    connections: int = 0
    redirect: tuple[int, str] | None = None
    got: list[Received] = field(default_factory=list)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read one request, keep it and answer."""
        self.connections += 1
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").removesuffix("\r\n\r\n")
        first, *rows = head.split("\r\n")
        form = FIRST_LINE.fullmatch(first)
        assert form is not None
        headers = [
            (name.lower(), value.removeprefix(" ")) for name, _, value in (row.partition(":") for row in rows)
        ]
        body = await reader.readexactly(int(dict(headers).get("content-length", "0")))
        self.got.append(Received(form[1], form[2], headers, body))
        answer = "HTTP/1.1 200 OK"
        if self.redirect:
            answer = f"HTTP/1.1 {self.redirect[0]} Moved\r\nLocation: {self.redirect[1]}"
        content = "{}" if form[1] != "HEAD" else ""
        rest = f"Content-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{content}"
        writer.write(f"{answer}\r\n{rest}".encode())


@asynccontextmanager
async def open_web() -> AsyncIterator[Web]:
    """Serve HTTP on a free port of the loopback."""
    web = Web()
    async with listening(web.handle) as web.port:
        yield web


def random_request(rng: random.Random, port: int) -> dict[str, Any]:
    """Draw the arguments of `http.request`."""
    args: dict[str, Any] = {"method": rng.choice(METHODS)}
    host = rng.choice(HOSTS if rng.random() < 0.96 else ODD_HOSTS)
    args["url"] = f"http://{host}:{port}{_target(rng)}"
    if rng.random() < 0.5:
        args["headers"] = {
            rng.choice(NAMES if rng.random() < 0.98 else ODD_NAMES): rng.choice(
                VALUES if rng.random() < 0.96 else ODD_VALUES
            )
            for _ in range(rng.choice((1, 1, 2, 4)))
        }
    if rng.random() < (0.7 if args["method"] not in METHODS[:2] else 0.03):
        args |= rng.choice(({"body": random_text(rng)}, {"data": _value(rng, 3)}))
    return args


def random_text(rng: random.Random) -> str:
    """Draw a text of any characters but halves of pairs."""
    if rng.random() < 0.3:
        return "".join(rng.choice(string.printable + "\0\x1b") for _ in range(rng.randrange(400)))
    return "".join(
        chr(rng.choice((rng.randrange(0xD7FF), rng.randrange(0x10000, 0x1FFFF))))
        for _ in range(rng.randrange(90))
    )


def differences(args: dict[str, Any], place_port: int, got: Received) -> list[str]:
    """List the parts of a request that are not what the arguments say."""
    form = re.fullmatch(r"http://([^/?#]*)([^#]*).*", args["url"], re.DOTALL)
    assert form is not None
    target = form[2] if form[2].startswith("/") else f"/{form[2]}"
    headers, wanted = dict(got.headers), {k.lower(): v for k, v in (args.get("headers") or {}).items()}
    checks = {
        "method": got.method == args["method"],
        "host": headers.get("host") == form[1].lower() and form[1].endswith(f":{place_port}"),
        "path": re.fullmatch("".join(_spellings(char) for char in target), got.target) is not None,
        "headers": all(headers.get(name) == value for name, value in wanted.items()),
        "other headers": OURS | set(wanted) >= set(headers) and len(headers) == len(got.headers),
        "body": _is_body(got.body, args),
    }
    return [name for name, good in checks.items() if not good]


def _is_body(body: bytes, args: dict[str, Any]) -> bool:
    """Say whether a body is the text of the arguments, or their value as JSON."""
    if args.get("data") is None:
        return body == (args.get("body") or "").encode()
    try:
        return bool(json.loads(body) == args["data"])
    except ValueError:
        return False


def _spellings(char: str) -> str:
    """Match a character as it is, or percent-encoded where no URL can hold it."""
    encoded = quote(char, safe="%/?:@!$&'()*+,;=-._~")
    return re.escape(char) if encoded == char else f"(?:{re.escape(char)}|{encoded})"


def _target(rng: random.Random) -> str:
    def some(joint: str) -> str:
        odd = rng.random() < 0.3
        return joint.join(rng.choice(PIECES if odd else PIECES[:4]) for _ in range(rng.randrange(5)))

    path = rng.choice(("", "/", "/")) and "/" + some("/")
    query = "?" + some("&q=") if rng.random() < 0.5 else ""
    return path + query + ("#" + rng.choice(PIECES) if rng.random() < 0.1 else "")


def _value(rng: random.Random, depth: int) -> Any:
    kind = rng.randrange(8 if depth else 6)
    if kind == 0:
        return rng.choice((True, False, 0, -1, 2**53 + 1, 10**30))
    if kind == 1:
        return rng.choice(
            (0.1, 1e300, -0.0, 5e-324, *([float("nan"), float("inf")] if rng.random() < 0.2 else []))
        )
    if kind < 6:
        return random_text(rng)
    if kind == 6:
        return [_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {random_text(rng): _value(rng, depth - 1) for _ in range(rng.randrange(4))}
