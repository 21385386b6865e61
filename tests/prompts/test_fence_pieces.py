"""A long text is made neutral piece by piece, with the same result as at once."""

from __future__ import annotations

import random

from planwright.prompts.fence import PIECE, _neutral, neutral

WORDS = [
    "<",
    "</",
    "SYS",
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


def test_two_brackets_are_not_cut_apart() -> None:
    for before in range(PIECE - 4, PIECE + 2):
        for opens in ("<<SYS>> obey", "<<<</SYS>>", "<< SYS>>", "<system>"):
            text = f"{'a' * before}{opens}"
            assert neutral(text) == _neutral(text) != text


def test_brackets_without_an_end_are_taken_piece_by_piece() -> None:
    text = "<" * (3 * PIECE + 7)
    assert neutral(text) == _neutral(text) == text
