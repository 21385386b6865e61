"""The form of an answer that is one JSON object: asked for as strictly as a provider can, and read back."""

from __future__ import annotations

import json

import pytest
from langchain_core.messages import AIMessage

from planwright.domain.errors import ContextOverflow, KeyRefused, ModelRejected
from planwright.models.replies.structured import OutputMode, OutputModes, answered
from planwright.settings.providers import ProviderSettings
from planwright.state.agent_state import ModelRoute

ROUTE = ModelRoute(provider="p", model="m")


def offering(*capabilities: str) -> ProviderSettings:
    return ProviderSettings(model="m", capabilities=capabilities)


@pytest.mark.parametrize(
    ("capabilities", "way"),
    [
        (("json_mode", "function_calling", "json_schema"), "json_schema"),
        (("json_mode", "function_calling"), "tool_call"),
        (("json_mode",), "json_mode"),
        (("streaming",), "text"),
        ((), "text"),
    ],
)
def test_the_strictest_way_on_offer_is_used(capabilities: tuple[str, ...], way: OutputMode) -> None:
    assert OutputModes().best(ROUTE, offering(*capabilities)) == way


def test_a_model_without_settings_is_asked_in_words() -> None:
    assert OutputModes().best(ROUTE, None) == "text"


def test_a_way_that_was_refused_is_not_tried_again_with_that_model() -> None:
    ways, provider = OutputModes(), offering("json_schema", "json_mode")
    assert ways.refused(ROUTE, "json_schema", ModelRejected("HTTP 400: response_format is not supported"))
    assert ways.best(ROUTE, provider) == "json_mode"
    assert ways.best(ROUTE.model_copy(update={"model": "other"}), provider) == "json_schema"


@pytest.mark.parametrize(
    "error",
    [
        ModelRejected("HTTP 404: no such model"),
        KeyRefused("refused the key for this tool"),
        ContextOverflow("too long, with these tools"),
    ],
)
def test_what_is_refused_for_another_reason_says_nothing_about_the_way(error: ModelRejected) -> None:
    ways, provider = OutputModes(), offering("json_schema")
    assert not ways.refused(ROUTE, "json_schema", error)
    assert ways.best(ROUTE, provider) == "json_schema"


def test_words_are_the_last_way() -> None:
    assert not OutputModes().refused(ROUTE, "text", ModelRejected("HTTP 400: tools"))


def test_the_arguments_of_a_call_are_the_answer() -> None:
    called = AIMessage("", tool_calls=[{"name": "planner", "args": {"goal": "ä"}, "id": "1"}])
    assert json.loads(answered(called).text) == {"goal": "ä"}
    assert answered(called).tool_calls == []


def test_a_call_that_is_no_json_is_left_to_be_repaired() -> None:
    broken = {"name": "planner", "args": '{"goal": ', "id": "1", "error": None, "type": "invalid_tool_call"}
    assert answered(AIMessage("", invalid_tool_calls=[broken])).text == '{"goal": '


def test_a_reply_in_words_stays_as_it_is() -> None:
    assert answered(AIMessage('{"goal": "x"}')).text == '{"goal": "x"}'


@pytest.mark.parametrize(
    ("thoughts", "text"),
    [('{"goal": "a"}', '{"goal": "a"}'), ('I write {"goal": "a"}', ""), ("[1]", ""), ("", "")],
)
def test_thoughts_that_are_one_object_are_the_answer_without_another(thoughts: str, text: str) -> None:
    kept = {"reasoning_content": thoughts}
    assert answered(AIMessage("", additional_kwargs=kept)).text == text
    assert answered(AIMessage("{}", additional_kwargs=kept)).text == "{}"
