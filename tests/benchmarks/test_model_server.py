"""The benchmark's model follows from the conversation alone, so interleaved runs cannot mix it up."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.model_server import reply_to

SCRIPT: dict[str, Any] = {
    "plan": "{}",
    "answer": "done",
    "turns": [[["a__b", {"n": 1}]], [["a__b", {"n": 2}]]],
}
USER = {"role": "user", "content": "go"}
SAID = {"role": "assistant", "content": None}


@pytest.mark.parametrize(("system", "text"), [("Role: planner", "{}"), ("Role: respond", "done")])
def test_a_role_gets_its_own_reply(system: str, text: str) -> None:
    assert reply_to([{"role": "system", "content": system}, USER], SCRIPT)["content"] == text


def test_each_turn_gets_its_calls_and_the_last_one_the_answer() -> None:
    calls = [reply_to([USER, *[SAID] * turn], SCRIPT)["tool_calls"][0]["function"] for turn in (0, 1)]
    assert [call["arguments"] for call in calls] == ['{"n": 1}', '{"n": 2}']
    assert reply_to([USER, SAID, SAID], SCRIPT)["content"] == "done"
