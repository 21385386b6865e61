"""What a provider wants back is kept under its name and its model's, and given to nobody else."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from planwright.models.conversation.history import normalise
from planwright.models.conversation.provider_data import (
    MOST_KEPT,
    PROVIDER_DATA,
    belongs_to,
    returned,
    size_of,
    with_provider_data,
)
from planwright.models.providers.sent_back import SENT_BACK
from planwright.security.redaction.redactor import Redactor
from planwright.state.agent_state import ModelRoute
from tests.models.heard import heard

HERE = ModelRoute(provider="here", model="m")
OWN = {"message": {"reasoning_content": "Let me see."}, "calls": {"call_1": {"extra": 1}}}
CALL = {"name": "f", "args": {}, "id": "call_1"}


def reply(own: Any = OWN, **more: Any) -> AIMessage:
    """A reply that its server wants back."""
    return AIMessage(
        "", tool_calls=[CALL], additional_kwargs={SENT_BACK: own, "reasoning_content": "x"}, **more
    )


async def test_it_is_kept_under_who_sent_it_and_what_is_shown_of_thoughts_is_not() -> None:
    invocation, events = heard()
    message = with_provider_data(reply(), HERE, invocation, "k")
    assert message.additional_kwargs == {PROVIDER_DATA: {"provider": "here", "model": "m", SENT_BACK: OWN}}
    assert events == []
    assert with_provider_data(AIMessage("Four."), HERE, invocation, "k").additional_kwargs == {}


@pytest.mark.parametrize(
    ("own", "why"),
    [
        ({"message": {"reasoning": "It is key-of-tests."}}, "it holds the secret API_KEY"),
        ({"message": {"reasoning": "x" * MOST_KEPT}}, "it is longer than 1,000,000 characters"),
        ({"message": {"reasoning": "\ud800"}}, "it cannot be stored"),
    ],
)
async def test_what_cannot_be_kept_is_told(own: Any, why: str) -> None:
    invocation, events = heard(Redactor({"API_KEY": "key-of-tests"}))
    assert with_provider_data(reply(own), HERE, invocation, "k").additional_kwargs == {}
    assert [event["data"] for event in events] == [{"provider": "here", "model": "m", "cause": why}]
    assert events[0]["type"] == "provider_data_dropped"


@pytest.mark.parametrize(
    "route", [ModelRoute(provider="there", model="m"), ModelRoute(provider="here", model="other")]
)
async def test_it_goes_back_to_the_same_provider_and_model_alone(route: ModelRoute) -> None:
    invocation, _ = heard()
    message = with_provider_data(reply(), HERE, invocation, "k")
    conversation: list[AnyMessage] = [HumanMessage("Hello"), message]
    assert returned(conversation, HERE, invocation, "k")[1].additional_kwargs == {SENT_BACK: OWN}
    assert returned(conversation, route, invocation, "k")[1].additional_kwargs == {}
    assert (belongs_to(message, HERE), belongs_to(message, route)) == (True, False)
    assert PROVIDER_DATA in message.additional_kwargs  # no message was changed


async def test_a_secret_that_is_known_only_now_keeps_it_back() -> None:
    message = with_provider_data(reply(), HERE, heard()[0], "k")
    invocation, events = heard(Redactor({"LATE": "Let me see."}))
    (sent,) = returned([message], HERE, invocation, "k")
    assert sent.additional_kwargs == {}
    assert [event["data"]["cause"] for event in events] == ["it holds the secret LATE"]


async def test_calls_that_get_another_id_are_found_by_it() -> None:
    invocation, _ = heard()
    clean, _ = normalise(with_provider_data(reply(), HERE, invocation, "k"), "main_2", taken={"call_1"})
    assert clean.tool_calls[0]["id"] == "main_2_0"
    own = clean.additional_kwargs[PROVIDER_DATA][SENT_BACK]
    assert own == {"message": {"reasoning_content": "Let me see."}, "calls": {"main_2_0": {"extra": 1}}}


async def test_what_is_sent_back_counts() -> None:
    invocation, _ = heard()
    message = with_provider_data(reply({"message": {"reasoning": "x" * 4_000}}), HERE, invocation, "k")
    assert size_of([HumanMessage("Hello"), message]) > 1_000
    assert size_of([HumanMessage("Hello")]) == 0
