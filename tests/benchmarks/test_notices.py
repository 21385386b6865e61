"""A short form of `notices`, and a judge that sees a message that two living processes sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import notices
from planwright.approvals.notices.notifier import AT_ONCE
from tests.notice_receiver import Posted


@pytest.mark.long
@pytest.mark.enable_socket
def test_every_gate_is_told_under_one_id_whoever_is_killed(tmp_path: Path) -> None:
    outcome = notices.play(tmp_path, 300, seed=7, longest_s=0.05)
    assert outcome.holds, outcome
    assert outcome.kills > notices.SENDERS
    assert outcome.posts >= outcome.gates == 300


def post(key: str, path: str, at_s: float) -> Posted:
    return Posted(key, {}, path, at_s)


def test_a_message_that_arrives_again_is_explained_by_a_sender_that_was_dead() -> None:
    twice = [post("notice_1", "/a", 1.0), post("notice_1", "/b", 2.0)]
    assert notices.unexplained(twice, {}) == 1
    assert notices.unexplained(twice, {"/a": 2.5, "/b": 2.5}) == 1
    assert notices.unexplained(twice, {"/c": 1.5}) == 1
    assert notices.unexplained(twice, {"/a": 1.5}) == 0


def test_one_process_never_sends_a_message_twice() -> None:
    twice = [post("notice_1", "/a", 1.0), post("notice_1", "/a", 2.0)]
    assert notices.unexplained(twice, {"/a": 1.5}) == 1


def test_a_dead_sender_explains_no_more_than_it_sends_at_one_time() -> None:
    keys = [f"notice_{number}" for number in range(AT_ONCE + 2)]
    posts = [post(key, path, at_s) for path, at_s in (("/a", 1.0), ("/b", 2.0)) for key in keys]
    assert notices.unexplained(posts, {"/a": 1.5}) == 2
