"""Find patterns whose work grows faster than their text: one long text holds up every run of a process."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import pairwise
from time import thread_time_ns

from tests.house.rooms import SOURCES

PIECES = (
    *" \n\t.-/\\=;,:_|'\"#*`([{<$aé1",
    *("a ", "a.", "a-", ".a", "a@", "1,", ", ", ". ", "and ", "<a ", "</a", "{{", "[[", "${"),
)
ENDS = ("\x01", "x")
LENGTHS = (250, 1_000, 4_000)
STEEPEST = 9  # for a text four times as long: the work is 4 x as much where it is linear, 16 x where not
TRIES = 5  # what is slow by chance is not slow each time
FROM_THE_START = frozenset(("match", "fullmatch"))
# Modules whose patterns read what is short, or our own, and why that is so.
SHORT: Mapping[str, str] = {
    "extras.offline.": "the embedded planner reads what a person asks for in a few words",
    "extras.postgres.layout": "reads the tables of our own store",
}


def steep_patterns() -> list[str]:
    """List the patterns of our modules that a text of some length makes slow, each with that text."""
    return [
        f"{name}: {text}"
        for name, pattern, anywhere in compiled()
        if (text := steep(pattern, anywhere=anywhere))
    ]


def compiled() -> Iterator[tuple[str, re.Pattern[str], bool]]:
    """Walk the patterns of our modules: name, pattern, and whether it is looked for anywhere in a text."""
    texts = {module: path.read_text("utf-8") for module, path in SOURCES.items()}
    for module, text in texts.items():
        if "re.compile(" not in text or module.startswith(tuple(SHORT)):
            continue
        for name, value in vars(import_module(f"planwright.{module}")).items():
            if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                users = (
                    [text] if name.startswith("_") else [other for other in texts.values() if name in other]
                )
                yield f"{module}.{name}", value, any(name in _sought(user) for user in users)


@cache
def _sought(text: str) -> frozenset[str]:
    """List the names that a module uses in another way than to read a text from its start."""
    nodes = list(ast.walk(ast.parse(text)))
    started = {id(n.value) for n in nodes if isinstance(n, ast.Attribute) and n.attr in FROM_THE_START}
    names = (n for n in nodes if isinstance(n, ast.Name | ast.Attribute) and isinstance(n.ctx, ast.Load))
    return frozenset(n.id if isinstance(n, ast.Name) else n.attr for n in names if id(n) not in started)


def steep(pattern: re.Pattern[str], *, anywhere: bool) -> str:
    """Spell a text that takes a pattern more than linear time; "" where there is none among ours."""
    for piece in PIECES:
        for end in ENDS:
            texts = [f"{(piece * length)[:length]}{end}" for length in LENGTHS]
            if any(_is_steep(pattern, pair, anywhere=anywhere) for pair in pairwise(texts)):
                return repr(f"{piece * 3}…{end}")
    return ""


def _is_steep(pattern: re.Pattern[str], texts: tuple[str, str], *, anywhere: bool) -> bool:
    return all(
        _work(pattern, texts[1], anywhere=anywhere) > STEEPEST * _work(pattern, texts[0], anywhere=anywhere)
        for _ in range(TRIES)
    )


def _work(pattern: re.Pattern[str], text: str, *, anywhere: bool) -> int:
    """Measure the time of this thread alone: other processes do not count."""
    began = thread_time_ns()
    if anywhere:
        for _ in pattern.finditer(text):
            pass
    else:
        pattern.match(text)
    return thread_time_ns() - began + 1
