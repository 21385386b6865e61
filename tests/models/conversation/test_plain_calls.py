"""Calls that a server will not read are told in words, once it has refused them."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from planwright.domain.errors import ContextOverflow, KeyRefused, ModelRejected
from planwright.models.conversation.plain_calls import PlainCalls, in_plain_words
from planwright.models.conversation.provider_data import PROVIDER_DATA
from planwright.state.agent_state import ModelRoute
from tests.models.heard import heard

HERE, THERE = ModelRoute(provider="here", model="m"), ModelRoute(provider="there", model="n")
DATA: dict[str, dict[str, object]] = {
    PROVIDER_DATA: {"provider": "here", "model": "m", "sent_back": {"message": {"reasoning": "x"}}}
}
SIGNED = "Function call is missing a thought_signature in functionCall parts."


def conversation(**extras: dict[str, object]) -> list[AnyMessage]:
    """A request, two calls in one reply, and what they returned."""
    calls = [{"name": "f", "args": {"a": "é"}, "id": "1"}, {"name": "g", "args": {}, "id": "2"}]
    results: list[AnyMessage] = [ToolMessage("four", tool_call_id="1"), ToolMessage("five", tool_call_id="2")]
    reply = AIMessage("I look.", tool_calls=calls, additional_kwargs=extras)
    return [HumanMessage("Hello"), reply, *results, HumanMessage("And?")]


def test_calls_and_results_in_words() -> None:
    first, reply, results, last = in_plain_words(conversation(), HERE)
    assert (first.text, last.text) == ("Hello", "And?")
    assert (reply.type, reply.text) == ("ai", 'I look.\n[called f with {"a": "é"}]\n[called g with {}]')
    assert (results.type, results.text) == ("human", "[f returned]\nfour\n[g returned]\nfive")


def test_calls_of_the_provider_that_is_asked_stay_calls() -> None:
    own = conversation(**DATA)
    assert in_plain_words(own, HERE) == own
    assert in_plain_words(own, THERE) != own
    assert in_plain_words(own, HERE, of_all=True) != own


class Server:
    """A server that refuses conversations with calls in them."""

    def __init__(self, refusal: ModelRejected) -> None:
        self.asked: list[list[AnyMessage]] = []
        self._refusal = refusal

    async def ask(self, messages: list[AnyMessage]) -> AIMessage:
        """Answer, where there are no calls."""
        self.asked.append(messages)
        if any(isinstance(message, AIMessage) and message.tool_calls for message in messages):
            raise self._refusal
        return AIMessage("Four.")


@pytest.mark.parametrize(
    ("cause", "extras", "route"),
    [
        (SIGNED, {}, HERE),
        ("The `reasoning_content` in the thinking mode must be passed back to the API.", DATA, THERE),
        ("no", DATA, THERE),
        ("Corrupted thought signature.", DATA, HERE),
    ],
)
async def test_a_refused_conversation_is_sent_once_more_in_words_and_that_is_told(
    cause: str, extras: dict[str, dict[str, object]], route: ModelRoute
) -> None:
    plain, server, (invocation, events) = PlainCalls(), Server(ModelRejected(cause)), heard()
    reply = await plain.ask(conversation(**extras), route, server.ask, invocation, "k")
    assert (reply.text, len(server.asked)) == ("Four.", 2)
    assert [event["data"]["cause"] for event in events] == [cause]


async def test_who_has_refused_once_is_sent_words_at_once() -> None:
    plain, server, (invocation, events) = PlainCalls(), Server(ModelRejected(SIGNED)), heard()
    for turn in range(3):
        await plain.ask(conversation(), HERE, server.ask, invocation, f"k{turn}")
    assert len(server.asked) == 4
    assert len(events) == 1


@pytest.mark.parametrize(
    ("refusal", "extras"),
    [
        (ModelRejected("there is no model of this name"), {}),
        (ModelRejected("there is no model of this name"), DATA),
        (KeyRefused("the key and its signature"), {}),
        (ContextOverflow("too much reasoning"), {}),
    ],
)
async def test_a_refusal_for_another_reason_stays_one(
    refusal: ModelRejected, extras: dict[str, dict[str, object]]
) -> None:
    plain, server, (invocation, events) = PlainCalls(), Server(refusal), heard()
    with pytest.raises(type(refusal)) as raised:
        await plain.ask(conversation(**extras), HERE, server.ask, invocation, "k")
    assert raised.value is refusal
    assert (len(server.asked), events) == (1, [])
