"""A long text is made neutral piece by piece, with the same result as at once."""

from __future__ import annotations

import random

from planwright.prompts.fence import PIECE, _neutral, neutral

WORDS = [
    "<",
    "</",
    " ",
    "\n",
    "system",
    "tool_",
    "User",
    ":",
    "[INST]",
    '"',
    "\u200b",
    "é",
    "\u200d",
    "\r",
    "x",
]


def test_a_long_text_reads_the_same_piece_by_piece() -> None:
    chance = random.Random(7)
    for _ in range(5):
        text = "".join(chance.choices(WORDS, k=PIECE))
        assert len(text) > 2 * PIECE
        assert neutral(text) == _neutral(text)
