"""Random templates: references that lead somewhere or nowhere, and pieces of all template languages."""

from __future__ import annotations

import random
from typing import Any

_ROOTS = ("input", "input", "steps.1.output", "steps.first.output", "previous_result", "previous_result")
_NAMES = (
    "text count yes none list object trap traps nested open close half key deep ümlaut missing a b 0 1 2 -1"
    " 00 99 999999999 9999999999 ٣ ² a-b __class__ __dict__ __globals__ items keys real upper thing canary"
).split()
_PIECES = (
    *("{{", "}}", "{", "}", "{{{", "}}}", "{%", "%}", "{#", "#}", "${", "$", "%s", "%(a)s", "{0}", "{0.a}"),
    *("｛｛", "｝｝", "|", "||", "!r", ":>30", "(", ")", "'", '"', "\\", "\n", "\t", " ", "\u00a0", "\u200b"),
    *("input", "steps", "previous_result", "output", "self", ".", "..", "[", "]", "[0]", "[-1]", "~", "+"),
    *("x", "7*7", "\x00", "\ufeff", "ä", "🙂", "\u202e", "</task>", "{{input.text}}", "{{input.canary"),
)


def random_template(rng: random.Random, depth: int = 0) -> Any:
    """Make a template: mostly a text, sometimes a list or an object of templates, or a plain value."""
    kind = rng.random()
    if depth < 3 and kind < 0.08:
        return [random_template(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    if depth < 3 and kind < 0.16:
        keys = (
            rng.choice(("a", "b", "__class__", "", "{{input.text}}", "ü")) for _ in range(rng.randint(0, 3))
        )
        return {key: random_template(rng, depth + 1) for key in keys}
    if kind < 0.2:
        return rng.choice((None, True, 0, -1, 2**53, 0.5, "", "plain"))
    if kind < 0.5:
        return _padded(rng, _reference(rng))
    texts = (_reference(rng) if rng.random() < 0.4 else _noise(rng) for _ in range(rng.randint(1, 6)))
    return "".join(texts)


def _reference(rng: random.Random) -> str:
    """Write a reference, well or not quite well formed."""
    path = rng.choice(_ROOTS) if rng.random() < 0.9 else rng.choice(_PIECES)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 8))):
        name = rng.choice(_NAMES)
        path += f"[{name}]" if rng.random() < 0.2 else f".{name}"
    if rng.random() < 0.1:
        place = rng.randint(0, len(path))
        path = path[:place] + rng.choice(_PIECES) + path[place:]
    opening, closing = rng.choice(
        (("{{", "}}"),) * 12 + (("{{{", "}}}"), ("{", "}"), ("{{", "}"), ("{{{{", "}}}}"))
    )
    return f"{opening}{_padded(rng, path)}{closing}"


def _padded(rng: random.Random, text: str) -> str:
    space = rng.choice(("",) * 6 + (" ", "\n", "\u00a0", "  "))
    return f"{space}{text}{space}"


def _noise(rng: random.Random) -> str:
    if rng.random() < 0.1:
        return "".join(chr(rng.choice((rng.randint(32, 126), rng.randint(0xA0, 0x2FF)))) for _ in range(5))
    return "".join(rng.choice(_PIECES) for _ in range(rng.randint(1, 5)))
