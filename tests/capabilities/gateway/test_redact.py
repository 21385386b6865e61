"""A book of an error is cut before it is looked through: in little time, and no secret shows at the cut."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from pydantic import JsonValue

from planwright.capabilities.gateway.redact import MOST_WORDS, redacted
from planwright.domain.errors import CapabilityRejected
from planwright.security.redaction.redactor import Redactor

SECRET = "sk-canary-7Qz1xW9vB3nM5kJ8hG2fD4sA6pL0tY"
REDACTOR = Redactor({"KEY": SECRET})
MOST_S = 2.0
"""Seconds of CPU that anything from outside may use."""
Fails = Callable[[str], Exception]


async def raised(error: Exception) -> str:
    """Let a call raise an error, and return what is left of it."""

    async def call() -> JsonValue:
        raise error

    with pytest.raises(type(error)) as left:
        await redacted(call(), REDACTOR)
    return str(left.value)


@pytest.mark.parametrize(
    "text",
    ["x" * 50_000_000, (SECRET[:9] + " ") * 500_000, "\\" * 20_000_000, (SECRET + " ") * 100_000],
    ids=["plain", "beginnings of a secret", "backslashes", "secrets"],
)
@pytest.mark.parametrize("fails", [ValueError, CapabilityRejected])
async def test_a_book_of_an_error_costs_little_and_little_of_it_is_left(text: str, fails: Fails) -> None:
    before = time.process_time()
    left = await raised(fails(text))
    assert time.process_time() - before < MOST_S
    assert left.endswith(f"… ({len(text):,} characters)")
    assert len(left) < MOST_WORDS + 100
    assert SECRET[:20] not in left


async def test_what_caused_it_is_cut_as_well() -> None:
    cause = ValueError("y" * 3_000_000, [SECRET, "z" * 3_000_000], 7)
    error = CapabilityRejected("not today")
    error.__cause__ = cause
    assert await raised(error) == "not today"
    first, second, third = cause.args
    assert (len(first) < MOST_WORDS + 100, second, third) == (True, "a list, too long", 7)


@pytest.mark.parametrize("spelled", [SECRET, f"{SECRET[:20]}\n{SECRET[20:]}"], ids=["whole", "wrapped"])
async def test_a_secret_at_the_cut_does_not_show(spelled: str) -> None:
    for seen in range(1, len(spelled)):
        left = await raised(ValueError("x" * (MOST_WORDS - seen) + spelled + " and so on" * 1_000))
        assert re.fullmatch(r"x+… \([\d,]+ characters\)", left)


async def test_a_secret_before_the_cut_is_marked() -> None:
    left = await raised(ValueError(f"the key {SECRET} is wrong " + "x" * MOST_WORDS))
    assert left.startswith("the key [REDACTED KEY] is wrong xxx")


async def test_a_short_error_stays_as_it_is() -> None:
    assert await raised(CapabilityRejected("not today", "tomorrow")) == "not today\ntomorrow"
