"""Reading a model's reply, pricing a call, and the model that replies from a script."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages.ai import UsageMetadata
from pydantic import ValidationError

from planwright.domain.errors import (
    ModelError,
    ModelInterrupted,
    ModelOutputInvalid,
    ModelRejected,
    ModelUnavailable,
)
from planwright.domain.results import MICRO_CENTS_PER_DOLLAR
from planwright.models.json_reply import read_json
from planwright.models.providers.pricing import (
    estimated_reply_tokens,
    price,
    tokens_of,
    used_in_vain,
    with_plain_usage,
)
from planwright.models.providers.router import EMBEDDED
from planwright.models.scripted import ScriptedModel
from planwright.settings.provider_budget import PriceSettings
from planwright.state.agent_state import ModelRoute

WANTED = {"goal": "g", "steps": [{"id": "s1"}]}


@pytest.mark.parametrize(
    "text",
    ['{"goal": "g", "steps": [{"id": "s1"}]}', '\n  {"steps":[{"id":"s1"}],"goal":"g"}  \n'],
    ids=["plain", "with space around"],
)
def test_one_object_is_read_as_it_is(text: str) -> None:
    assert read_json(text) == (WANTED, False)


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"goal": "g", "steps": [{"id": "s1"}]}\n```',
        '```\n{"goal": "g", "steps": [{"id": "s1"}]}\n```',
        'Here is the plan:\n```json\n{"goal": "g", "steps": [{"id": "s1"}]}\n```\nAnything else?',
        "{'goal': 'g', 'steps': [{'id': 's1'}]}",
        '{"goal": "g", "steps": [{"id": "s1"},],}',
        '{goal: "g", steps: [{id: "s1"}]}',
        'The plan: {"goal": "g", "steps": [{"id": "s1"}]}',
        '{"goal": "g", // a remark\n "steps": [{"id": "s1"}]}',
    ],
    ids=[
        "fenced",
        "fenced without a language",
        "fenced in talk",
        "single quotes",
        "trailing commas",
        "bare keys",
        "after talk",
        "with a remark",
    ],
)
def test_a_damaged_object_is_repaired_and_said_to_be(text: str) -> None:
    assert read_json(text) == (WANTED, True)


@pytest.mark.parametrize(
    "text",
    ["", "   ", "I cannot do that.", "[]", "{}", "null", "42", '"text"', "```json\n```", "[1, 2]", "<plan/>"],
)
def test_what_holds_no_object_is_refused(text: str) -> None:
    with pytest.raises(ModelOutputInvalid, match="the reply is not one JSON object"):
        read_json(text)


def route(model: str) -> ModelRoute:
    return ModelRoute(provider="mine", model=model)


@pytest.mark.parametrize("model", ["nobody-has-this-model", "", "llama-local-finetune", "scripted"])
def test_an_unknown_price_is_unknown_and_not_nothing(model: str) -> None:
    assert price(route(model), 1000, 1000) is None


def test_the_embedded_planner_costs_nothing() -> None:
    assert price(EMBEDDED, 1000, 1000) == 0


@pytest.mark.parametrize("model", ["gpt-4o-mini", "gpt-5-mini"])
def test_a_known_price_grows_with_the_tokens(model: str) -> None:
    none, some, more = (price(route(model), tokens, tokens) for tokens in (0, 1000, 2000))
    assert none == 0
    assert some is not None
    assert more is not None
    assert more == pytest.approx(2 * some, abs=1)
    assert 0 < some < MICRO_CENTS_PER_DOLLAR


def test_output_costs_more_than_input() -> None:
    dear, cheap = price(route("gpt-4o-mini"), 0, 1000), price(route("gpt-4o-mini"), 1000, 0)
    assert dear is not None
    assert cheap is not None
    assert dear > cheap > 0


PRICES = PriceSettings.model_validate({"input_per_million": "0.15", "output_per_million": 0.6})


@pytest.mark.parametrize(
    ("sent", "came_back", "cost"),
    [(0, 0, 0), (1_000_000, 0, 15_000_000), (0, 1_000_000, 60_000_000), (1000, 500, 45_000), (1, 0, 15)],
)
def test_a_stated_price_is_exact_to_the_micro_cent(sent: int, came_back: int, cost: int) -> None:
    assert price(route("nobody-has-this-model"), sent, came_back, PRICES) == cost


def test_a_stated_price_goes_before_the_public_list() -> None:
    assert (
        price(
            route("gpt-4o-mini"), 0, 1_000_000, PriceSettings(**dict.fromkeys(PriceSettings.model_fields, 0))
        )
        == 0
    )


def test_a_part_of_a_micro_cent_counts_as_a_whole_one() -> None:
    tiny = PriceSettings.model_validate({"input_per_million": "0.001", "output_per_million": 0})
    assert [price(route("m"), tokens, 0, tiny) for tokens in (0, 1, 10, 11)] == [0, 1, 1, 2]


WORST = (5000, 4096)


def timed_out() -> ModelUnavailable:
    error = ModelUnavailable("too slow")
    error.__cause__ = TimeoutError()
    return error


@pytest.mark.parametrize(
    ("error", "counts"),
    [
        (ModelUnavailable("HTTP 503"), (0, 0)),
        (ModelRejected("HTTP 400"), (0, 0)),
        (timed_out(), WORST),
        (ModelInterrupted("it broke off", "", "half a"), WORST),
    ],
    ids=["unavailable", "refused", "too slow", "broke off"],
)
def test_a_failed_call_counts_where_its_provider_may_have_worked(
    error: ModelError, counts: tuple[int, int]
) -> None:
    assert used_in_vain(error, WORST) == counts


@pytest.mark.parametrize(
    ("reply", "tokens"),
    [
        (AIMessage("four char"), 3),
        (AIMessage(""), 0),
        (AIMessage.model_construct(content=[{"type": "text", "text": 7}], tool_calls=[]), 8),
    ],
    ids=["words", "nothing", "nonsense"],
)
def test_a_reply_without_a_count_is_counted_by_its_length(reply: AIMessage, tokens: int) -> None:
    assert estimated_reply_tokens(reply) == tokens


@pytest.mark.parametrize(
    ("sent", "returned", "tokens"), [(7, 5, (7, 5)), (-7, 5, (100, 3)), (7, -5, (100, 3)), (0, 0, (100, 3))]
)
def test_a_count_that_cannot_be_is_estimated(sent: int, returned: int, tokens: tuple[int, int]) -> None:
    usage = UsageMetadata(input_tokens=sent, output_tokens=returned, total_tokens=sent + returned)
    assert tokens_of(AIMessage("four char", usage_metadata=usage), 100) == tokens


@pytest.mark.parametrize("sent", [2**62, 10**30, 1e300])
def test_counts_that_no_call_can_have_are_dropped(sent: float) -> None:
    usage = UsageMetadata(input_tokens=7, output_tokens=5, total_tokens=12)
    plain = AIMessage("four", usage_metadata=usage, response_metadata={"finish_reason": "stop"})
    assert with_plain_usage(plain) is plain
    wild = plain.model_copy(update={"usage_metadata": {**usage, "input_tokens": sent}})
    assert with_plain_usage(wild).usage_metadata is None
    more = {"finish_reason": "stop", "token_usage": {"prompt_tokens_details": {"cached_tokens": sent}}}
    wild = plain.model_copy(update={"response_metadata": more})
    assert with_plain_usage(wild).response_metadata == {"finish_reason": "stop"}


def test_a_script_is_replied_in_order_and_its_end_repeated() -> None:
    model = ScriptedModel(replies=["one", "two"])
    assert [model.invoke(text).text for text in ("a", "b", "c")] == ["one", "two", "two"]
    assert [[message.text for message in asked] for asked in model.prompts] == [["a"], ["b"], ["c"]]


async def test_a_script_is_the_same_one_asked_from_an_event_loop() -> None:
    model = ScriptedModel(replies=["one", "two"])
    first = await model.ainvoke([HumanMessage("a")])
    assert (first.text, model.invoke("b").text) == ("one", "two")
    assert first.usage_metadata == {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}


@pytest.mark.parametrize("replies", [[], None, [1]])
def test_a_script_without_replies_is_refused(replies: Any) -> None:
    with pytest.raises(ValidationError):
        ScriptedModel(replies=replies)
