"""Sixty lanes: lazy ones, ones that refuse in words, and honest ones, judged by what is on record of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planwright.critic.lane_rules import judge_lane
from planwright.critic.words import given_up, not_able
from planwright.domain.envelope import EffectRecord, LaneCall, LaneEnvelope

LANES = [
    json.loads(line) for line in Path(__file__).with_name("sixty_lanes.jsonl").read_text("utf-8").splitlines()
]


def envelope(lane: dict[str, Any]) -> LaneEnvelope:
    calls = [LaneCall(capability=name, effect=effect, ended=ended) for name, effect, ended in lane["calls"]]
    effects = [EffectRecord(key="k", uid="u", capability="c", status=status) for status in lane["effects"]]
    return LaneEnvelope(
        result=lane["words"], offered=lane["tools"], calls=tuple(calls), effects=tuple(effects)
    )


def name(lane: dict[str, Any]) -> str:
    return f"{lane['kind']}: {lane['words'][:40]}"


def test_there_are_twenty_of_each_kind() -> None:
    kinds = [lane["kind"] for lane in LANES]
    assert {kind: kinds.count(kind) for kind in kinds} == {"lazy": 20, "refusing": 20, "honest": 20}


@pytest.mark.parametrize("lane", LANES, ids=name)
def test_a_lane_is_accepted_where_its_record_bears_its_words_out(lane: dict[str, Any]) -> None:
    judged = judge_lane(lane["task"], envelope(lane), lane["inputs"])
    if lane["kind"] == "honest":
        assert judged.flaw is None, judged.remark
    elif lane["kind"] == "lazy":
        assert judged.flaw in ("no_effect", "no_evidence")
    else:
        assert judged.flaw == "refused_in_words"


@pytest.mark.parametrize(
    "tool", ["mcp.github.create_issue", "own.tickets.create", "crm.create-deal", "own.create"]
)
def test_a_tool_is_known_by_the_last_part_of_its_name_and_its_domain_by_those_before(tool: str) -> None:
    envelope = LaneEnvelope(result="Ticket T-17 is there.", offered={tool: "blind", "mail.search": "pure"})
    assert judge_lane("Find the mail and create a ticket", envelope, 1).flaw == "no_effect"


@pytest.mark.parametrize("between", [". ", "\n", "\n\n", ".\n- ", "!? ", "… ; "], ids=repr)
def test_a_sentence_may_stand_on_a_line_of_its_own(between: str) -> None:
    assert given_up(f"Here is what I did{between}I am unable to complete this task")
    assert not_able(f"I looked at the list{between}I could not send the mail")


def test_a_full_stop_within_a_word_ends_no_sentence() -> None:
    assert not given_up("It is in plan.i refuse.md")
