"""The short form of `tool_blocks`: all that is written, and some of what is fuzzed."""

from __future__ import annotations

from benchmarks.tool_blocks import damaged, failures, fuzzed, written


def test_no_malformed_block_becomes_a_call() -> None:
    count, failed = failures(written())
    assert count >= 200
    assert failed == []


def test_no_spoiled_block_becomes_a_call() -> None:
    count, failed = failures(text for text in fuzzed(500, seed=2) if damaged(text))
    assert count > 400
    assert failed == []
