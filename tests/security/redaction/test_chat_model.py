"""A model behind a redactor is the same model, and neither hears nor says a secret."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel, FakeListChatModel
from langchain_core.messages import AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatResult

from benchmarks.canaries import PLAIN, SHAPES, found_in, shown
from benchmarks.leaks import Dripping, calls
from planwright.models.scripted import ScriptedModel
from planwright.security.redaction.chat_model import redacting
from planwright.security.redaction.redactor import Redactor

CLEAN = Redactor({"PLAIN": PLAIN, "ODD": shown("as it is").split(" and ", 1)[1]})


def test_without_secrets_it_is_the_model_itself() -> None:
    model = ScriptedModel(replies=["a"])
    assert redacting(model, Redactor()) is model


def test_it_can_do_what_the_model_can_and_nothing_else() -> None:
    for model in (ScriptedModel(replies=["a"]), FakeListChatModel(responses=["a"])):
        behind = redacting(model, CLEAN)
        assert isinstance(behind, type(model))
        assert type(behind).__name__ == type(model).__name__
        for name in ("_astream", "_stream", "bind_tools"):
            base = getattr(BaseChatModel, name)
            assert (getattr(type(behind), name) is base) == (getattr(type(model), name) is base)


async def test_each_keeps_its_own_secrets_though_their_class_is_made_once() -> None:
    model = ScriptedModel(replies=[f"{PLAIN} other-secret-7"])
    first, second = redacting(model, CLEAN), redacting(model, Redactor({"OTHER": "other-secret-7"}))
    assert type(first) is type(second)
    assert (await first.ainvoke("a")).text == "[REDACTED PLAIN] other-secret-7"
    both = redacting(second, CLEAN)
    assert (await both.ainvoke("a")).text == "[REDACTED PLAIN] [REDACTED OTHER]"
    assert (await second.ainvoke("a")).text == f"{PLAIN} [REDACTED OTHER]"


@pytest.mark.parametrize("shape", SHAPES)
async def test_no_streamed_reply_shows_a_secret_in_whatever_pieces(shape: str) -> None:
    text = shown(shape)
    model = redacting(Dripping(replies=[calls("save", {"text": text}, f"It is {text}.")]), CLEAN)
    whole, said = None, ""
    async for chunk in model.astream("hello"):
        assert isinstance(chunk, AIMessageChunk)
        said += chunk.text
        assert found_in(said) == []
        whole = chunk if whole is None else whole + chunk
    assert isinstance(whole, AIMessageChunk)
    assert found_in(f"{whole!r}") == []
    assert whole.text.startswith("It is ")
    assert whole.text.endswith(".")
    (call,) = whole.tool_calls
    assert call["name"] == "save"
    assert "[REDACTED PLAIN]" in call["args"]["text"]


async def test_it_does_not_hear_a_secret_and_what_was_sent_is_not_changed() -> None:
    model = ScriptedModel(replies=[f"You said {PLAIN}"])
    sent = HumanMessage(f"Use {PLAIN}")
    reply = await redacting(model, CLEAN).ainvoke([sent])
    assert reply.text == "You said [REDACTED PLAIN]"
    assert model.prompts[0][0].text == "Use [REDACTED PLAIN]"
    assert sent.text == f"Use {PLAIN}"


async def test_its_errors_do_not_say_a_secret() -> None:
    class Failing(ScriptedModel):
        def _generate(self, *given: Any, **more: Any) -> ChatResult:
            raise ConnectionError(f"401: wrong key {PLAIN}")

    with pytest.raises(ConnectionError, match=r"wrong key \[REDACTED PLAIN\]"):
        await redacting(Failing(replies=["never"]), CLEAN).ainvoke("hello")
