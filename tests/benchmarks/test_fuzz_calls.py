"""A short form of `fuzz_calls`: random malformed tool calls, and a fuzzer that sees what is wrong."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from benchmarks import fuzz_calls
from benchmarks.spoiled_calls import Reply, make_reply


@pytest.mark.long
def test_no_random_reply_runs_what_it_should_not(tmp_path: Path) -> None:
    assert asyncio.run(fuzz_calls.fuzz(600, 7, tmp_path)) == []


@pytest.mark.long
def test_no_random_reply_breaks_a_whole_run(tmp_path: Path) -> None:
    assert fuzz_calls.fuzz_runs(40, 7, tmp_path) == []


def test_a_reply_that_runs_something_else_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def expecting_one_more(rng: random.Random) -> Reply:
        reply = make_reply(rng)
        return Reply(reply.fields, [*reply.runs, ("disk__wipe", {"name": "a"})])

    monkeypatch.setattr(fuzz_calls, "make_reply", expecting_one_more)
    assert len(asyncio.run(fuzz_calls.fuzz(5, 7, tmp_path))) == 5
