"""What an endpoint can really do: a few small calls, within its budget, instead of trust in its settings."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.utils import count_tokens_approximately

from planwright.domain.errors import ModelError, ModelOutputInvalid, ModelUnavailable
from planwright.models.failover.classify import classify
from planwright.models.json_reply import read_json
from planwright.models.providers.clients import client_of, close_client
from planwright.models.providers.matching import route_of
from planwright.models.providers.pricing import price
from planwright.models.providers.refused_parameters import AdaptedRequests
from planwright.models.providers.thinking import budget_of, thoughts_in
from planwright.models.replies.structured import asking
from planwright.models.replies.truncated import why_unfinished
from planwright.records.budget_usage import Amount, BudgetedCall
from planwright.records.budgets import Budgets
from planwright.settings.agents import RunBudgetSettings
from planwright.settings.providers import ProviderSettings

TIMEOUT_S, TOKENS = 300, 256
OPTIONAL = {"anyOf": [{"type": "string"}, {"type": "null"}]}
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
PARAMETERS = {
    "type": "object",
    "properties": {"word": {"type": "string"}, "note": OPTIONAL},
    "required": ["word"],
    "additionalProperties": False,
}
TOOL = {"type": "function", "function": {"name": "ping", "description": "Ping.", "parameters": PARAMETERS}}
ABILITIES = ("function_calling", "json_schema", "json_mode", "streaming")
JSON = 'Answer with the JSON object {"word": "ok"} and nothing else.'


@dataclass(frozen=True)
class ModelAbility:
    """Whether an endpoint answers at all, or can do one thing; `why` it cannot."""

    name: str
    """What was tried: `answers`, a capability of models, or whether it takes `all parameters`."""
    can: bool | None
    """Whether it worked; None where the reply was cut off, and nobody knows."""
    why: str = ""
    """What was wrong with the reply; "" where it worked."""
    seconds: float = 0
    """Seconds that the reply took; 0 where nothing was asked."""
    thought: int = 0
    """Tokens of the reply that the model thought; 0 where it did not, or does not say."""


class Probe:
    """Try out the endpoint of one provider, with room for what its model thinks."""

    def __init__(
        self, name: str, provider: ProviderSettings, budgets: Budgets, now: Callable[[], datetime]
    ) -> None:
        self._name = name
        self._provider = provider
        self._budgets = budgets
        self._now = now
        room = TOKENS + budget_of(provider)
        self._tokens = min(room, provider.max_output or room)

    async def abilities(self) -> AsyncIterator[ModelAbility]:
        """Try one thing after the other; after an endpoint that does not answer at all, nothing.

        Raises SetupError without a key or a class, and BudgetExceeded where the provider's limit is reached.
        """
        able = self._provider.model_copy(update={"capabilities": ABILITIES})
        transport = AdaptedRequests(self._name, proxy=able.proxy)
        model = client_of(self._name, able, transport=transport)
        try:
            answers = await self._try("answers", lambda: self._says(model))
            yield answers
            if answers.can is False:
                return
            yield await self._try("function_calling", lambda: self._calls(model))
            yield await self._try("json_schema", lambda: self._shapes(model, "json_schema"))
            yield await self._try("json_mode", lambda: self._shapes(model, "json_mode"))
            yield await self._try("streaming", lambda: self._streams(model))
            refused = ", ".join(transport.refused)
            yield ModelAbility("all parameters", not refused, refused and f"it refuses {refused}")
        finally:
            await close_client(model)

    async def _try(self, name: str, call: Callable[[], Awaitable[tuple[AIMessage, str]]]) -> ModelAbility:
        """Make a call within the provider's budget; `call` returns the reply, and what was wrong with it."""
        route, provider = route_of(self._name, self._provider), self._provider
        sent = count_tokens_approximately([JSON], tools=[TOOL])
        worst = Amount(sent + self._tokens, cost=price(route, sent, self._tokens, provider.prices))
        budgeted = BudgetedCall(f"probe_{self._name}", "default", self._name, "model", worst)
        now, limits = self._now(), RunBudgetSettings()
        reservation = await self._budgets.reserve(budgeted, limits, now, within=provider)
        began, can, thought = time.monotonic(), None, 0
        try:
            async with asyncio.timeout(TIMEOUT_S):
                reply, wrong = await call()
            thought, cut = thoughts_in(reply), why_unfinished(reply)
            can, wrong = (None, f"{cut} ({self._tokens:,})") if wrong and cut else (not wrong, wrong)
        except TimeoutError:
            wrong = f"no answer within {TIMEOUT_S} s"
        except Exception as error:
            failure = classify(error, self._name) if not isinstance(error, ModelError) else error
            if failure is None:
                raise
            can, wrong = False, failure.cause
        finally:
            await self._budgets.settle(reservation, worst)
        return ModelAbility(name, can, wrong, round(time.monotonic() - began, 1), thought)

    async def _says(self, model: BaseChatModel) -> tuple[AIMessage, str]:
        reply = await model.ainvoke("Answer with the word ok.", max_tokens=self._tokens)
        usable = "finish_reason" in reply.response_metadata and bool(reply.text.strip())
        return reply, "" if usable else "it sent no usable reply"

    async def _calls(self, model: BaseChatModel) -> tuple[AIMessage, str]:
        bound = model.bind_tools([TOOL], tool_choice="auto")
        reply = await bound.ainvoke("Call the tool ping with the word ok.", max_tokens=self._tokens)
        return reply, "" if reply.tool_calls else "it was offered a tool and called none"

    async def _shapes(self, model: BaseChatModel, way: str) -> tuple[AIMessage, str]:
        shaped, form = asking(model, "json_schema" if way == "json_schema" else "json_mode", "probe", SCHEMA)
        reply = await shaped.ainvoke(JSON, max_tokens=self._tokens, **form)
        wrong = "its answer does not follow the form"
        with contextlib.suppress(ModelOutputInvalid):
            value, repaired = read_json(reply.text)
            wrong = "" if "word" in value and not repaired else wrong
        return reply, wrong

    async def _streams(self, model: BaseChatModel) -> tuple[AIMessage, str]:
        wish = "Answer with the words one two three."
        pieces = [piece async for piece in model.astream(wish, max_tokens=self._tokens)]
        if not pieces:
            raise ModelUnavailable("it streamed nothing")
        whole: AIMessageChunk = pieces[0] + pieces[1:] if pieces[1:] else pieces[0]
        return whole, "" if whole.text else "it streamed nothing"
