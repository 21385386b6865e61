"""Names of capabilities for the tools of MCP servers: readable, valid, and no two the same."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

SERVER, TOOL = 20, 40  # characters: with `__` between them below the 64 that providers take
_WORD_BEGINS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_OTHER = re.compile(r"[^a-z0-9-]+")


def plain_name(name: str) -> str:
    """Spell a name as one part of a capability's: `getFileInfo` and `Get file.info` are `get_file_info`.

    A run of other characters is one underscore, so that no part holds the `__` that stands for the
    dot in function calling.
    """
    spelled = _OTHER.sub("_", _WORD_BEGINS.sub("_", name).lower()).strip("_-")
    return spelled if spelled[:1].isalpha() else f"x_{spelled}".rstrip("_")


def plain_names(names: Iterable[str], longest: int) -> dict[str, str]:
    """Map names to plain ones, each to its own, whatever their order.

    A name that is plain already stays as it is. Others that would be spelled alike, or longer than
    `longest` characters, end in six or more digits of their hash.
    """
    ordered = sorted(set(names))
    wanted = {name: plain_name(name) for name in ordered}
    alike = Counter(wanted.values())
    chosen = {name: name for name in ordered if wanted[name] == name and len(name) <= longest}
    unchanged = set(chosen)
    for name in ordered:
        spelled = wanted[name]
        if name not in unchanged and (alike[spelled] > 1 or len(spelled) > longest):
            taken = {*chosen.values(), *wanted.values()}
            chosen[name] = next(other for other in _marked(spelled, name, longest) if other not in taken)
        else:
            chosen[name] = spelled
    return chosen


def _marked(spelled: str, name: str, longest: int) -> Iterable[str]:
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()
    for digits in range(6, longest - 1):
        yield f"{spelled[: longest - digits - 1].rstrip('_-')}_{digest[:digits]}"
