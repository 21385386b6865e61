"""LangChain's standard tests, for the embedded model and for the scripted one."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_tests.integration_tests import ChatModelIntegrationTests
from langchain_tests.unit_tests import ChatModelUnitTests

from planwright.extras.offline.model import OfflineModel
from planwright.models.scripted import ScriptedModel


@pytest.fixture
def vcr() -> None:
    """Recorded replies: none, and the one test that replays them says that it is skipped for that."""


class Plain:
    """What both models are: text in, text out; no tools, no structured output, no model names."""

    @property
    def has_tool_calling(self) -> bool:
        return False

    @property
    def has_structured_output(self) -> bool:
        return False

    @property
    def supports_json_mode(self) -> bool:
        return False

    @property
    def supports_model_override(self) -> bool:
        return False


class Offline(Plain):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return OfflineModel

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {}


class Scripted(Plain):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ScriptedModel

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"replies": ["the first reply", "the second reply"]}


class TestOfflineUnit(Offline, ChatModelUnitTests):
    """Declare, bind and trace."""


class TestScriptedUnit(Scripted, ChatModelUnitTests):
    """Declare, bind and trace."""


class TestOfflineIntegration(Offline, ChatModelIntegrationTests):
    """Invoke, stream, batch and converse."""


class TestScriptedIntegration(Scripted, ChatModelIntegrationTests):
    """Invoke, stream, batch and converse."""
