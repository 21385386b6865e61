"""A chat model by the import path of its class: what it is made with, and what is said where it cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.domain.errors import SetupError
from planwright.models.providers.clients import client_of, close_client
from planwright.models.providers.langchain_class import class_model
from planwright.settings.providers import ProviderSettings

ANTHROPIC = "langchain_anthropic:ChatAnthropic"


def provider(path: str = ANTHROPIC, **more: Any) -> ProviderSettings:
    """Settings of a model that is asked by a class."""
    fields = {"class": path, "model": "claude-sonnet-4-6", "api_key": "key-of-tests", **more}
    return ProviderSettings.model_validate(fields)


@pytest.mark.long
async def test_two_lines_and_a_key_make_a_model() -> None:
    from langchain_anthropic import ChatAnthropic  # three seconds, which collecting the tests need not take

    made = class_model("claude", provider(base_url="http://127.0.0.1:1", reply_timeout_s=7))
    assert isinstance(made, ChatAnthropic)
    assert (made.model, made.max_retries, made.default_request_timeout) == ("claude-sonnet-4-6", 0, 7)
    assert (made.anthropic_api_url, made.thinking) == ("http://127.0.0.1:1", None)
    assert made.anthropic_api_key.get_secret_value() == "key-of-tests"
    await close_client(made)


@pytest.mark.parametrize(
    ("set_up", "field", "value"),
    [
        ({"thinking": "off"}, "thinking", {"type": "disabled"}),
        ({"thinking": "low"}, "reasoning_effort", "low"),
        ({"thinking_tokens": 2_000}, "thinking", {"type": "enabled", "budget_tokens": 2_000}),
        ({"options": {"thinking": {"type": "adaptive"}}}, "thinking", {"type": "adaptive"}),
    ],
)
async def test_thinking_is_asked_for_by_the_arguments_of_the_class(
    set_up: dict[str, Any], field: str, value: object
) -> None:
    made = class_model("claude", provider(**set_up))
    assert getattr(made, field) == value
    await close_client(made)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"path": "nowhere_at_all:Chat"}, "nowhere_at_all cannot be imported"),
        ({"path": "langchain_mistralai:ChatMistralAI"}, r"planwright\[mistral\]"),
        (
            {"path": "langchain_anthropic:AnthropicLLM"},
            "AnthropicLLM of langchain_anthropic is no chat",
        ),
        ({"path": "langchain_anthropic:Nothing"}, "Nothing of langchain_anthropic is no chat model"),
        ({"options": {"max_tokens": "many"}}, "ChatAnthropic cannot be made"),
    ],
)
def test_a_class_that_cannot_be_made_is_told_with_what_to_do(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(SetupError, match=says):
        class_model("claude", provider(**fields))


def test_a_key_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    keyless = provider(api_key=None)
    with pytest.raises(SetupError, match="set ANTHROPIC_API_KEY"):
        client_of("claude", keyless)


async def test_a_connection_of_its_own_reads_no_proxy_and_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    made: Any = client_of("claude", provider())
    connection = made._async_client._client
    assert connection is made.__dict__["http_async_client"]
    assert connection.trust_env is False
    await close_client(made)
    assert connection.is_closed
