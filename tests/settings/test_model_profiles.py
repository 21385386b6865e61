"""What LangChain knows of a model counts where nobody has said otherwise."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from pydantic import ValidationError

from planwright.settings.model_profiles import install_of, is_installed, known_of
from planwright.settings.providers import ProviderSettings


def provider(**fields: Any) -> ProviderSettings:
    """Settings of a provider, as a file has them."""
    return ProviderSettings.model_validate(fields)


def test_a_known_model_brings_context_and_abilities() -> None:
    served = provider(model="gpt-5-mini").serving("gpt-5-mini")
    assert served.context == 272_000
    assert {"function_calling", "json_schema", "json_mode", "reasoning", "streaming"} <= {
        *served.capabilities
    }
    claude = provider(**{"class": "langchain_anthropic:ChatAnthropic", "model": "claude-sonnet-4-6"})
    (served,) = claude.served
    assert {"function_calling", "json_schema", "reasoning"} <= {*served.capabilities}
    assert "json_mode" not in served.capabilities
    assert (served.context, served.max_output) == (1_000_000, 128_000)


def test_what_is_set_counts_more_and_each_model_has_its_own() -> None:
    own = provider(
        model="gpt-5-mini",
        context=50_000,
        models={"gpt-4o": {"capabilities": ["function_calling"]}, "unheard-of": {}},
    )
    served = {each.model: each for each in own.served}
    assert [served[name].context for name in served] == [50_000] * 3
    assert served["gpt-4o"].capabilities == ("function_calling",)
    assert "reasoning" in served["gpt-5-mini"].capabilities
    assert served["unheard-of"].capabilities == ("function_calling", "streaming", "json_mode")
    origins = [own.origin_of("capabilities", name) for name in served]
    assert origins == ["LangChain's profile", "set", "default"]
    assert own.origin_of("context", "gpt-4o") == "set"


def test_of_a_model_that_is_not_known_nothing_is_said() -> None:
    assert known_of("langchain_openai", "unheard-of") == {}
    assert known_of("nowhere_at_all", "gpt-5-mini") == {}
    unknown = provider(**{"class": "nowhere_at_all:Chat", "model": "m"}).serving("m")
    assert unknown.capabilities == ("function_calling", "streaming")


def test_no_client_is_loaded_for_it() -> None:
    loaded = {name for name in sys.modules if name.startswith("langchain_anthropic.")}
    known_of("langchain_anthropic", "claude-sonnet-4-6")
    assert {name for name in sys.modules if name.startswith("langchain_anthropic.")} == loaded


def test_packages_and_how_to_get_them() -> None:
    assert is_installed("langchain_openai")
    assert not is_installed("nowhere_at_all")
    assert install_of("langchain_ollama") == "pip install 'planwright[ollama]'"
    assert "nowhere_at_all" in install_of("nowhere_at_all")


@pytest.mark.parametrize(
    ("fields", "key", "needed"),
    [
        ({}, "OPENAI_API_KEY", True),
        ({"base_url": "http://127.0.0.1:1"}, "OPENAI_API_KEY", False),
        ({"class": "langchain_anthropic:ChatAnthropic"}, "ANTHROPIC_API_KEY", True),
        ({"class": "langchain_ollama:ChatOllama"}, "", False),
        ({"class": "langchain_ollama:ChatOllama", "api_key_env": "X"}, "", True),
    ],
)
def test_the_key_that_is_usual(fields: dict[str, Any], key: str, needed: bool) -> None:
    own = provider(model="m", **fields)
    assert (own.usual_key, own.needs_key) == (key, needed)


@pytest.mark.parametrize(
    "path", ["langchain_anthropic", "langchain_anthropic.ChatAnthropic", "a:b:c", "a b:C"]
)
def test_a_class_is_named_by_module_and_name(path: str) -> None:
    with pytest.raises(ValidationError, match="a class is named by its module"):
        provider(**{"class": path, "model": "m"})
