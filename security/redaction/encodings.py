"""The encodings_of in which a secret leaves a program: as it is, quoted, encoded, escaped, backwards.

Of a spelling each half gives the whole away: what was cut, or wrapped in the middle, is found by the half
that is left.
"""

from __future__ import annotations

import base64
import html
import json
import math
import shlex
import unicodedata
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

WORTH = 16  # characters of a secret that give it away


def encodings_of(secret: str) -> set[str]:
    """List every spelling of a secret that is searched for."""
    quoted = {form for text in {secret, secret[::-1], *_respelled(secret)} for form in _quoted(text)}
    data = secret.encode()
    encoded = {*_percent(secret), *_base64(data), *_base64(quote(secret, safe="").encode())}
    encoded |= {data.hex(), data.hex().upper(), data.hex(" "), data.hex(":"), data.hex()[::-1]}
    encoded |= {form[::-1] for form in _base64(data)} | {_joined(data, "\\x{:02x}")}
    encoded |= {form for text in (*_percent(secret),) for form in _percent(text) if text != secret}
    return {form for form in quoted | encoded if len(form) >= min(8, len(secret))}


def enough(spelling: str, secret: str) -> int:
    """Say how much of a spelling gives the secret away: half of it, and no less than 16 characters' worth."""
    return min(len(spelling), math.ceil(len(spelling) * max(0.5, WORTH / len(secret))))


def _respelled(secret: str) -> Iterator[str]:
    """Spell a secret as it is typed: accents in one character or two, and in capitals where it is no word."""
    yield from (unicodedata.normalize("NFC", secret), unicodedata.normalize("NFD", secret))
    if len(secret) >= WORTH:
        yield from (secret.upper(), secret.lower())


def _quoted(text: str) -> Iterator[str]:
    """Spell a text as programs quote it, once: JSON, Python, shell, HTML."""
    escaped = {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
    escaped |= {form.replace("/", "\\/") for form in escaped}
    escaped |= {
        form.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026") for form in escaped
    }
    yield from (text, *escaped)
    yield from (repr(text)[1:-1], text.replace("'", "\\'"), text.replace('"', '\\"'), text.replace('"', '""'))
    yield from (shlex.quote(text).strip("'"), html.escape(text), html.escape(text, quote=False))
    for pattern in ("\\u{:04x}", "\\u{:04X}", "&#{};", "&#x{:x};", "&#x{:X};"):
        yield _joined((ord(character) for character in text), pattern)


def _percent(text: str) -> Iterator[str]:
    """Spell a text as it stands in URLs and forms, as little and as much escaped as there is."""
    for form in (quote(text, safe=""), quote(text), quote_plus(text), _joined(text.encode(), "%{:02X}")):
        yield form
        yield _lower(form)


def _base64(data: bytes) -> Iterator[str]:
    """Spell bytes as the middle of a longer base64: at each of the three places they may begin at."""
    for before in range(3):
        whole = base64.b64encode(bytes(before) + data).decode()
        first, last = (before * 8 + 5) // 6, (before + len(data)) * 8 // 6
        yield whole[first:last]
        yield whole[first:last].replace("+", "-").replace("/", "_")


def _joined(codes: Iterable[int], pattern: str) -> str:
    return "".join(pattern.format(code) for code in codes)


def _lower(text: str) -> str:
    """Spell percent escapes in lower case, and nothing else."""
    head, *rest = text.split("%")
    return "%".join((head, *(part[:2].lower() + part[2:] for part in rest)))
