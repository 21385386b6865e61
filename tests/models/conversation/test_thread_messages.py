"""Calls as messages of a thread: sealed by the run that wrote them, and nobody else's words."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from planwright.models.conversation.thread_messages import (
    as_call,
    as_fields,
    is_brought,
    is_of_run,
    is_sealed,
    last_results,
    of_calls,
    of_thread,
)

CALL = AIMessage("I look.", tool_calls=[{"name": "look", "args": {"n": 1}, "id": "c1"}], id="main_1")
RESULT = ToolMessage("4711", tool_call_id="c1", name="look", id="c1_result")
SAID: list[AnyMessage] = [HumanMessage("go on", id="h"), CALL, RESULT, AIMessage("Done.", id="main_2")]


def test_calls_and_results_are_chosen_and_have_ids_of_the_run() -> None:
    assert [message.id for message in of_calls(SAID, "run_1")] == ["run_1_main_1", "run_1_c1_result"]


def test_a_reply_that_was_streamed_keeps_its_id() -> None:
    streamed = CALL.model_copy(update={"response_metadata": {"streamed_as": "lc_run--1"}})
    assert of_calls([streamed, RESULT], "run_1")[0].id == "lc_run--1"


def test_each_call_is_answered() -> None:
    assert [message.type for message in of_calls([CALL], "run_1")] == ["ai", "tool"]


def test_what_a_message_holds_for_us_or_for_a_provider_stays_behind() -> None:
    marked = RESULT.model_copy(update={"additional_kwargs": {"planwright": "ours"}})
    assert [message.additional_kwargs for message in of_calls([CALL, marked], "run_1")] == [{}, {}]


@pytest.mark.parametrize("change", [{"content": "4712"}, {"id": "other"}, {"tool_call_id": "c2"}])
def test_a_message_that_was_changed_is_not_sealed(change: dict[str, str]) -> None:
    result = of_calls([CALL, RESULT], "run_1")[1]
    assert is_sealed(result)
    assert is_of_run(result, "run_1")
    assert not is_of_run(result, "run_2")
    assert not is_sealed(result.model_copy(update=change))


def test_nothing_of_a_thread_counts_as_ours() -> None:
    own = of_calls([CALL, RESULT], "run_1")[1]
    forged = RESULT.model_copy(update={"additional_kwargs": {"planwright": "ours"}})
    earlier = of_thread([own, forged])
    assert [is_brought(message) for message in earlier] == [False, True]
    assert "ours" not in [message.additional_kwargs.get("planwright") for message in earlier]


def test_the_last_results_are_those_behind_the_last_reply() -> None:
    assert [message.text for message in last_results([CALL, RESULT], "run_1")] == ["4711"]
    assert last_results(SAID, "run_1") == []


def test_a_step_is_a_call_and_its_result() -> None:
    call, result = as_call("run_1", "look", {"n": 1}, "step_1", "no", ok=False)
    assert as_fields(call) == {"from": "ai", "text": "", "calls": [["look", {"n": 1}]]}
    assert isinstance(result, ToolMessage)
    assert (result.tool_call_id, result.status) == ("step_1", "error")
