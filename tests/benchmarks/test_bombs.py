"""A short form of `bombs`: one bomb of each kind ends within the limits, and a bad one is seen."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from benchmarks import bombs
from benchmarks.bomb_table import Bomb, every_bomb

SAMPLE = {
    "policy: nested all": "cannot be evaluated: it takes more than",
    "success_criteria: nested all over its own lists": "cannot be evaluated: it takes more than",
    "success_criteria: a criterion of 1 MB": "200,000 are allowed",
    "sql.query: counting for ever": "the statement was stopped",
    "sql.execute: printf of 1 GB": "nothing has changed",
    "calendar: every day, every second of it": "it takes more than",
    "mail.search: quotes in the sender": "'subject': 'good'",
    "mail.search: 1 MB of digits in the body": "'sender': 'a@example.com'",
    "text.extract amount: digits": "the text holds no amount",
    "a reply with calls in words: tool tags": "Block",
    "a request that says something: dots": "False",
    "a plan: 40,000 levels": "more than 10,000 lists and objects",
    "a plan: 9,000 levels": "nested too deeply",
    "a plan: deep": "200,000 are allowed",
    "references: references that double": "bring in more than 5 MB",
    "policy.toml: 100,000 levels": "nested too deeply",
}


@pytest.fixture(scope="module")
def named() -> dict[str, Bomb]:
    """All bombs, by room and name."""
    return {f"{bomb.room}: {bomb.name}": bomb for bomb in every_bomb()}


@pytest.mark.long
@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SAMPLE)
def test_a_bomb_ends_with_a_clear_error(name: str, named: dict[str, Bomb], tmp_path: Path) -> None:
    """In a child that is killed where it needs more than `GIVEN_UP_S` of CPU."""
    figures = bombs.measure(named[name], port=1)
    assert SAMPLE[name] in figures.ended
    assert not bombs.UNCLEAR.search(figures.ended)


def test_there_are_enough_bombs_and_none_twice(named: dict[str, Bomb]) -> None:
    assert len(named) == len(every_bomb()) >= 300


@pytest.mark.long
@pytest.mark.parametrize(("cpu_s", "ended"), [(0.6, "0.6"), (10, "died")], ids=["ends", "is killed"])
def test_what_uses_too_much_is_seen(cpu_s: float, ended: str) -> None:
    def busy(folder: Path, port: int) -> str:
        sys.setswitchinterval(100)  # seconds in which no other thread gets the interpreter
        until = time.process_time() + cpu_s
        while time.process_time() < until:
            pass
        return str(cpu_s)

    figures = bombs.measure(Bomb("a", "b", busy), port=1, given_up_s=2).judge()
    assert "held" in figures.over
    assert figures.ended.startswith(ended)


def test_what_ends_the_process_is_seen() -> None:
    figures = bombs.measure(Bomb("a", "b", lambda folder, port: sys.exit(3) or ""), port=1).judge()
    assert figures.over == ["end"]
