"""Secrets to be looked for: the shapes they are given, and a search that shares no code with the product."""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, quote_plus, unquote_plus

PLAIN = "sk-canary-7Qz1xW9vB3nM5kJ8hG2fD4sA6pL0tY"
ODD = "c4n4ry \"q'\\/+%<&>é=7w?Kx3;Lm9#Zt5$Rb1"
CANARIES = (PLAIN, ODD)
Shape = Callable[[str], str]


def _base64(before: str, encode: Callable[[bytes], bytes] = base64.b64encode) -> Shape:
    return lambda secret: encode(f"{before}{secret}@example".encode()).decode()


def _for_a_page(secret: str) -> str:
    return json.dumps(secret).replace("<", "\\u003c").replace("&", "\\u0026")


SHAPES: dict[str, Shape] = {
    "as it is": str,
    "in JSON": json.dumps,
    "in JSON, UTF-8": lambda secret: json.dumps(secret, ensure_ascii=False),
    "in JSON in JSON": lambda secret: json.dumps(json.dumps({"key": secret})),
    "in JSON, slashes escaped": lambda secret: json.dumps(secret).replace("/", "\\/"),
    "in JSON, for a web page": _for_a_page,
    "all \\u escapes": lambda secret: "".join(f"\\u{ord(c):04x}" for c in secret),
    "as Python repr": repr,
    "as shell word": shlex.quote,
    "as HTML": html.escape,
    "as HTML numbers": lambda secret: "".join(f"&#{ord(c)};" for c in secret),
    "in a URL": lambda secret: f"https://example.com/?key={quote(secret, safe='')}&a=1",
    "in a path": quote,
    "in a form": quote_plus,
    "in a URL, lower case": lambda secret: re.sub("%..", lambda f: f[0].lower(), quote(secret, safe="")),
    "all percent escapes": lambda secret: "".join(f"%{byte:02X}" for byte in secret.encode()),
    "hex": lambda secret: secret.encode().hex(),
    "HEX": lambda secret: secret.encode().hex().upper(),
    "hex with colons": lambda secret: secret.encode().hex(":"),
    "base64": _base64(""),
    "base64, one in": _base64("u"),
    "base64, two in": _base64("u:"),
    "base64 for URLs": _base64("", base64.urlsafe_b64encode),
    "base64 for URLs, one in": _base64("u", base64.urlsafe_b64encode),
    "base64 for URLs, two in": _base64("u:", base64.urlsafe_b64encode),
    "base64 in lines": lambda secret: base64.encodebytes(f"{'x' * 40}{secret}".encode()).decode(),
    "basic authorization": lambda secret: f"Authorization: Basic {_base64('user:')(secret)}",
    "base64, backwards": lambda secret: _base64("")(secret)[::-1],
    "base64 of its URL form": lambda secret: base64.b64encode(quote(secret, safe="").encode()).decode(),
    "hex with spaces": lambda secret: secret.encode().hex(" "),
    "hex, backwards": lambda secret: secret.encode().hex()[::-1],
    "all \\x escapes": lambda secret: "".join(f"\\x{byte:02x}" for byte in secret.encode()),
    "all \\u escapes, upper case": lambda secret: "".join(f"\\u{ord(c):04X}" for c in secret),
    "as HTML hex numbers": lambda secret: "".join(f"&#x{ord(c):x};" for c in secret),
    "as HTML hex numbers, upper case": lambda secret: "".join(f"&#x{ord(c):X};" for c in secret),
    "all percent escapes, lower case": lambda secret: "".join(f"%{byte:02x}" for byte in secret.encode()),
    "in a URL in a URL": lambda secret: quote(quote(secret, safe=""), safe=""),
    "in a CSV cell": lambda secret: '"' + secret.replace('"', '""') + '"',
    "as a bearer": lambda secret: f"Authorization: Bearer {secret}",
    "inside a word": lambda secret: f"xx{secret}yy",
    "in two lines": lambda secret: f"{secret[:18]}\n{secret[18:]}",
    "cut off in front": lambda secret: secret[6:],
    "backwards": lambda secret: secret[::-1],
    "backwards, in JSON": lambda secret: json.dumps(secret[::-1]),
    "cut short": lambda secret: secret[:-6],
}


def shown(shape: str) -> str:
    """Put both canaries into one text, in one shape."""
    return " and ".join(SHAPES[shape](canary) for canary in CANARIES)


def found_in(text: str) -> list[str]:
    """Name the views of a text in which one of the canaries, or most of it, can be read."""
    return [
        f"{view}: …{seen[max(0, at - 30) : at + 50]}…"
        for view, seen in _views(text)
        for canary in CANARIES
        for piece in (canary[:22], canary[-22:])
        if (at := seen.find(piece)) >= 0
    ]


def searched(folder: Path, but: frozenset[str] = frozenset()) -> Iterator[tuple[str, str]]:
    """Read every file below a folder, as bytes and, where it is a database, table by table."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.relative_to(folder).parts[0] in but:
            continue
        yield f"{path.relative_to(folder)}", path.read_bytes().decode("utf-8", "replace")
        if path.suffix == ".db":
            yield from _tables(path)


def _tables(path: Path) -> Iterator[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            for row in connection.execute(f"SELECT * FROM '{name}'"):
                plain = [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in row]
                yield f"{path.name} {name}", "\n".join(plain)


def _views(text: str) -> Iterator[tuple[str, str]]:
    """Read a text in every way one would try to read it."""
    yield "as it is", text
    yield "backwards", text[::-1]
    unescaped = text
    for depth in range(3):
        unescaped = _unescaped(unescaped)
        yield f"unescaped {depth + 1}", unescaped
        yield f"unescaped {depth + 1}, backwards", unescaped[::-1]
    yield "joined", text.replace("\n", "")
    yield "unescaped, joined", unescaped.replace("\n", "")
    yield "CSV", text.replace('""', '"')
    yield "URL", unquote_plus(text)
    yield "URL twice", unquote_plus(unquote_plus(text))
    yield "URL, plus kept", unquote_plus(text.replace("+", "%2B"))
    yield "HTML", html.unescape(text)
    yield "hex", "\n".join(_hex(text))
    yield "hex, backwards", "\n".join(_hex(text[::-1]))
    for name, read in (("base64", text), ("base64 unescaped", unescaped), ("base64, backwards", text[::-1])):
        yield name, (seen := "\n".join(_unbase64(read)))
        yield f"{name}, URL", unquote_plus(seen)


def _unescaped(text: str) -> str:
    """Take one level of backslash escapes away."""
    named = {"n": "\n", "r": "\r", "t": "\t"}
    return re.sub(
        r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))",
        lambda m: chr(int(m[1] or m[2], 16)) if m[1] or m[2] else named.get(m[3], m[3]),
        text,
        flags=re.DOTALL,
    )


def _hex(text: str) -> Iterator[str]:
    for run in re.findall(r"(?:[0-9a-fA-F]{2}[: ]?){11,}", text):
        yield bytes.fromhex(re.sub("[: ]", "", run)).decode("utf-8", "replace")


def _unbase64(text: str) -> Iterator[str]:
    """Read every run of base64 letters from each of the four places it may begin at, over line ends."""
    for joined in (text, re.sub(r"\s+", "", text)):
        for run in dict.fromkeys(re.findall(r"[A-Za-z0-9+/_-]{24,}", joined)):
            for at in range(4):
                letters = run[at:].replace("-", "+").replace("_", "/")
                letters = letters[: len(letters) // 4 * 4]
                yield base64.b64decode(letters).decode("utf-8", "replace")
