"""When each call of a reply is made, and behind what it is not."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from planwright.domain.plan import PlanStep
from planwright.domain.risk import Effect
from planwright.domain.verified_step import VerifiedStep
from planwright.planning.reply_order import due, failed_calls, has_later, held_back, in_stages, open_calls
from planwright.state.loop_state import LoopState, ToolCall

EFFECTS: dict[str, Effect] = {"r": "pure", "w": "idempotent", "b": "blind"}


def call(kind: str, index: int) -> ToolCall:
    """Write a call: `r` reads, `w` and `b` change, `x` and the reading `X` cannot be verified, `a` asks."""
    fields = {"call_id": f"c{index}", "index": index, "name": f"{kind}{index}"}
    if kind in "xX":
        return ToolCall(**fields, error="why", unverified="why", reads=kind == "X")
    name = "clarify" if kind == "a" else "some.tool"
    effect = EFFECTS.get(kind, "pure")
    checked = VerifiedStep(
        step=PlanStep(id=f"s{index}", capability=name, params={}),
        uid=f"u{index}",
        needs=(),
        effect=effect,
        mode="local_write",
        risk="Low",
        gated=False,
    )
    return ToolCall(**fields, checked=checked)


def reply(kinds: str) -> list[ToolCall]:
    return in_stages([call(kind, index) for index, kind in enumerate(kinds)])


@pytest.mark.parametrize(
    ("kinds", "stages"),
    [
        ("rrr", [0, 0, 0]),
        ("ww", [0, 1]),
        ("rwrr", [0, 1, 2, 2]),
        ("rrwbr", [0, 0, 1, 2, 3]),
        ("wxr", [0, 1, 2]),
        ("wXr", [0, 1, 1]),
    ],
)
def test_an_effect_has_a_stage_of_its_own_and_reads_share_theirs(kinds: str, stages: list[int]) -> None:
    assert [one.stage for one in reply(kinds)] == stages


def test_what_is_not_made_takes_no_stage() -> None:
    first, question, last = reply("raw")
    assert (first.stage, question.to_make, last.stage) == (0, False, 1)
    assert [one.stage for one in reply("xrX")] == [0, 0, 0]


def test_what_cannot_be_verified_is_told_now_unless_an_effect_stands_before_it() -> None:
    early, write, late = reply("xwx")
    assert (early.error, early.late) == ("why", False)
    assert (write.late, late.error, late.late, late.to_make) == (False, "", True, True)


def test_those_are_due_whose_stage_it_is_and_that_have_no_answer() -> None:
    calls = reply("rrwr")
    said = AIMessage("", tool_calls=[{"name": one.name, "args": {}, "id": one.call_id} for one in calls])
    state = LoopState(calls=calls, conversation=[said, ToolMessage("so", tool_call_id="c0")])
    assert [one.call_id for one in due(state)] == ["c1"]
    assert [one.call_id for one in due({**state, "stage": 2})] == ["c3"]
    assert [one.call_id for one in open_calls(state)] == ["c1", "c2", "c3"]
    assert [has_later(calls, stage) for stage in range(3)] == [True, True, False]


def test_no_effect_is_made_behind_one_that_failed_and_every_read_is() -> None:
    calls = reply("wrwr")
    answers = [ToolMessage("no", tool_call_id="c0", status="error"), ToolMessage("so", tool_call_id="c1")]
    failed = failed_calls(LoopState(conversation=[*answers]))
    assert failed == {"c0"}
    assert [bool(held_back(one, calls, failed)) for one in calls] == [False, False, True, False]
    assert "w0" in held_back(calls[2], calls, failed)


def test_a_read_that_failed_holds_nothing_back_and_a_call_of_an_unknown_tool_does() -> None:
    assert held_back(reply("rw")[1], reply("rw"), {"c0"}) == ""
    assert held_back(reply("Xw")[1], reply("Xw"), ()) == ""
    assert "x0" in held_back(reply("xw")[1], reply("xw"), ())
