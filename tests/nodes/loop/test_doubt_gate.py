"""The gate of effects in doubt in a loop: its card, where the loop goes on, and how it ends."""

from __future__ import annotations

import pytest
from langchain_core.messages import ToolMessage

from planwright.domain.chain import Chain, ChainCall
from planwright.domain.doubt import Doubt
from planwright.domain.plan import PlanStep
from planwright.domain.verified_step import VerifiedStep
from planwright.models.conversation.final_text import with_doubts
from planwright.nodes.loop.doubt_gate import after_doubts, doubt_card
from planwright.state.agent_state import ModelRoute
from planwright.state.loop_state import CallDoubt, LoopOutcome, LoopState, LoopTask, ToolCall, calls_in_doubt

LOOP = LoopTask(lane="main", goal="post it", route=ModelRoute(provider="p", model="m"), tools=())
POST = ChainCall(id="1", capability="work.post", arguments={})
CHAIN = Chain(name="c", description="d", inputs={}, calls=(POST,))


def call(id_: str, chain: Chain | None = None) -> ToolCall:
    step = PlanStep(id=f"main.1.{id_}", capability="work.post", params={})
    checked = VerifiedStep(
        step=step, uid=f"step_{id_}", needs=(), effect="blind", mode="local_write", risk="Low", gated=False
    ).model_copy(update={"chain": chain})
    return ToolCall(call_id=id_, index=0, name="work__post", checked=checked)


def state(*doubts: CallDoubt, answered: str = "") -> LoopState:
    return LoopState(
        loop=LOOP,
        batch="b",
        calls=[call("a"), call("b", CHAIN)],
        conversation=[ToolMessage("so", tool_call_id=answered)] if answered else [],
        doubts={doubt.call_id: doubt for doubt in doubts},
    )


def said(id_: str, status: str) -> CallDoubt:
    return CallDoubt.model_validate({"call_id": id_, "uid": f"step_{id_}", "status": status})


def test_only_open_doubts_wait_for_a_person() -> None:
    assert calls_in_doubt(LoopState()) == {}
    assert calls_in_doubt(state(said("a", "open"), said("b", "left"))).keys() == {"step_a"}


def test_a_chain_goes_on_when_its_part_is_decided_and_the_model_otherwise() -> None:
    sent = after_doubts(state(said("a", "decided"), said("b", "decided"), answered="a"))
    assert isinstance(sent, list)
    assert [(one.node, one.arg["call"].call_id) for one in sent] == [("chain_call", "b")]
    assert after_doubts(state(said("b", "decided"), answered="b")) == "llm_invoker"
    assert after_doubts(state(said("a", "decided"), said("b", "left"), answered="a")) == "llm_invoker"


@pytest.mark.parametrize(
    ("status", "doubts", "ends"),
    [
        ("completed", ["left"], "escalated"),
        ("failed", ["left", "decided"], "escalated"),
        ("completed", ["decided"], "completed"),
        ("cancelled", ["left"], "cancelled"),
    ],
)
def test_nothing_is_complete_while_a_doubt_was_left(status: str, doubts: list[str], ends: str) -> None:
    outcome = LoopOutcome.model_validate({"status": status, "text": "All done."})
    ended = with_doubts(outcome, [said("a", one) for one in doubts])
    assert ended.status == ends
    assert ("Nobody knows" in ended.text) == (ends == "escalated")


def test_a_card_names_each_effect_and_asks_as_grave_as_the_gravest_call() -> None:
    doubts = [
        Doubt(
            key=id_ * 64,
            uid=f"step_{id_}",
            step_id=f"main.1.{id_}",
            capability="work.post",
            args={"name": id_},
            sent_at="2026-11-22T06:00:00+00:00",
            why="no answer",
        )
        for id_ in ("a", "b")
    ]
    card = doubt_card("post it", doubts, [call("a"), call("b")])
    assert card["in_doubt"] == ["main.1.a", "main.1.b"]
    assert [effect["args"] for effect in card["effects"]] == [{"name": "a"}, {"name": "b"}]
    assert [effect["why"] for effect in card["effects"]] == ["no answer"] * 2
    assert (card["risk"], "each of them" in card["description"]) == ("Low", True)
