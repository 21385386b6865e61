"""How much thinking is asked for, by each kind of server, and how many tokens it has."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage

from planwright.models.model_calls import ModelCall
from planwright.models.providers.thinking import ThinkingRoom, request_fields, thoughts_in
from planwright.settings.providers import ProviderSettings
from planwright.state.agent_state import ModelRoute

HERE = ModelRoute(provider="here", model="m")
CALL = ModelCall(role="agent", messages=[], aloud=False, max_tokens=100)
CUT = {"finish_reason": "length"}


def provider(**more: Any) -> ProviderSettings:
    """Settings of a model that nothing is known of."""
    return ProviderSettings(model="m", **more)


@pytest.mark.parametrize(
    ("address", "set_up", "fields"),
    [
        (None, {}, {}),
        (None, {"thinking": "medium"}, {"reasoning_effort": "medium"}),
        (None, {"thinking": "off"}, {"reasoning_effort": "none"}),
        (None, {"thinking_tokens": 9}, {}),
        ("https://api.deepseek.com", {"thinking": "off"}, {"thinking": {"type": "disabled"}}),
        (
            "https://api.deepseek.com",
            {"thinking": "high"},
            {"thinking": {"type": "enabled"}, "reasoning_effort": "high"},
        ),
        ("https://openrouter.ai/api/v1", {"thinking": "low"}, {"reasoning": {"effort": "low"}}),
        ("https://openrouter.ai/api/v1", {"thinking": "off"}, {"reasoning": {"enabled": False}}),
        ("https://openrouter.ai/api/v1", {"thinking_tokens": 9}, {"reasoning": {"max_tokens": 9}}),
        (
            "http://127.0.0.1:8000/v1",
            {"thinking": "off"},
            {"reasoning_effort": "none", "chat_template_kwargs": {"enable_thinking": False}},
        ),
        ("http://127.0.0.1:8000/v1", {"thinking": "low"}, {"reasoning_effort": "low"}),
    ],
)
def test_each_server_is_asked_in_its_own_words(
    address: str | None, set_up: dict[str, Any], fields: dict[str, Any]
) -> None:
    assert request_fields(provider(base_url=address, **set_up)) == fields


@pytest.mark.parametrize(
    ("set_up", "most"),
    [
        ({}, 100),
        ({"thinking": "off"}, 100),
        ({"thinking": "off", "capabilities": ("reasoning",)}, 100),
        ({"thinking": "low"}, 4_196),
        ({"thinking_tokens": 2_000}, 2_100),
        ({"capabilities": ("reasoning",)}, 8_292),
        ({"capabilities": ("reasoning",), "max_output": 1_000}, 1_000),
        ({"capabilities": ("reasoning",), "max_output": 50}, 50),
        ({"max_output": 50}, 50),
    ],
)
def test_thinking_has_its_tokens_on_top_of_the_answer(set_up: dict[str, Any], most: int) -> None:
    assert ThinkingRoom().with_room(CALL, HERE, provider(**set_up)).max_tokens == most


@pytest.mark.parametrize(
    ("reply", "more"),
    [
        (AIMessage("Four.", response_metadata={"finish_reason": "stop"}), None),
        (AIMessage("Four tick", response_metadata=CUT), 200),
        (AIMessage("", response_metadata=CUT), 8_292),
        (AIMessage("Four tick", response_metadata=CUT, additional_kwargs={"reasoning_content": "Hm."}), 200),
        (
            AIMessage(
                "Four tick", response_metadata=CUT, additional_kwargs={"reasoning_content": "Let me see."}
            ),
            8_292,
        ),
    ],
)
def test_a_reply_that_was_cut_gets_twice_the_room_and_more_where_it_thought(
    reply: AIMessage, more: int | None
) -> None:
    room = ThinkingRoom()
    roomy = room.with_more(CALL, HERE, provider(), reply)
    assert (roomy and roomy.max_tokens) == more
    learned = room.with_room(CALL, HERE, provider()).max_tokens
    assert learned == (8_292 if more == 8_292 else 100)


def test_no_more_is_asked_for_than_a_model_can_return() -> None:
    reply = AIMessage("Four tick", response_metadata=CUT)
    assert ThinkingRoom().with_more(CALL, HERE, provider(max_output=100), reply) is None
    assert ThinkingRoom().with_more(CALL, HERE, None, reply) is None


@pytest.mark.parametrize(("context", "more"), [(8_192, 200), (5_150, 150), (5_100, None)])
def test_no_more_is_asked_for_than_the_prompt_leaves_of_the_context(context: int, more: int | None) -> None:
    usage: Any = {"input_tokens": 5_000, "output_tokens": 100, "total_tokens": 5_100}
    reply = AIMessage("Four tick", response_metadata=CUT, usage_metadata=usage)
    roomy = ThinkingRoom().with_more(CALL, HERE, provider(context=context), reply)
    assert (roomy and roomy.max_tokens) == more


def test_thoughts_are_counted_by_the_provider_or_by_what_it_shows() -> None:
    usage: Any = {"input_tokens": 1, "output_tokens": 9, "total_tokens": 10}
    counted = {**usage, "output_token_details": {"reasoning": 7}}
    assert thoughts_in(AIMessage("Four.", usage_metadata=counted)) == 7
    assert thoughts_in(AIMessage("Four.", usage_metadata=usage)) == 0
    assert thoughts_in(AIMessage("Four.", additional_kwargs={"reasoning_content": "x" * 40})) == 10
