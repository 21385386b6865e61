"""What an endpoint can really do: a few small calls, within its budget, instead of trust in its settings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from langchain_core.language_models import BaseChatModel
from langchain_core.messages.utils import count_tokens_approximately

from planwright.checkpoints.budget_usage import Amount, BudgetedCall
from planwright.checkpoints.budgets import Budgets
from planwright.domain.errors import ModelError, ModelUnavailable
from planwright.models.failover.classify import classify
from planwright.models.json_reply import read_json
from planwright.models.providers.matching import route_of
from planwright.models.providers.openai_compatible import chat_model
from planwright.models.providers.pricing import price
from planwright.models.providers.refused_parameters import AdaptedRequests
from planwright.models.replies.structured import asking
from planwright.settings.agents import RunBudgetSettings
from planwright.settings.providers import ProviderSettings

TIMEOUT_S, TOKENS = 20, 64
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
    can: bool
    """Whether it worked."""
    why: str = ""
    """What was wrong with the reply; "" where it worked."""


class Probe:
    """Try out the endpoint of one provider."""

    def __init__(
        self, name: str, provider: ProviderSettings, budgets: Budgets, now: Callable[[], datetime]
    ) -> None:
        self._name = name
        self._provider = provider
        self._budgets = budgets
        self._now = now

    async def abilities(self) -> AsyncIterator[ModelAbility]:
        """Try one thing after the other; after an endpoint that does not answer at all, nothing.

        Raises SetupError without a key, and BudgetExceeded where the provider's limit is reached.
        """
        able = self._provider.model_copy(update={"capabilities": ABILITIES})
        transport = AdaptedRequests(self._name, proxy=able.proxy)
        model = chat_model(self._name, able, transport=transport)
        try:
            answers = await self._try("answers", lambda: self._says(model))
            yield answers
            if not answers.can:
                return
            yield await self._try("function_calling", lambda: self._calls(model))
            yield await self._try("json_schema", lambda: self._shapes(model, "json_schema"))
            yield await self._try("json_mode", lambda: self._shapes(model, "json_mode"))
            yield await self._try("streaming", lambda: self._streams(model))
            refused = ", ".join(transport.refused)
            yield ModelAbility("all parameters", not refused, refused and f"it refuses {refused}")
        finally:
            await model.http_async_client.aclose()  # type: ignore[attr-defined]

    async def _try(self, name: str, call: Callable[[], Awaitable[str]]) -> ModelAbility:
        """Make a call within the provider's budget; `call` returns what was wrong with the reply."""
        route, provider = route_of(self._name, self._provider), self._provider
        sent = count_tokens_approximately([JSON], tools=[TOOL])
        worst = Amount(sent + TOKENS, cost=price(route, sent, TOKENS, provider.prices))
        budgeted = BudgetedCall(f"probe_{self._name}", "default", self._name, "model", worst)
        now, limits = self._now(), RunBudgetSettings()
        reservation = await self._budgets.reserve(budgeted, limits, now, within=provider)
        try:
            async with asyncio.timeout(TIMEOUT_S):
                wrong = await call()
        except TimeoutError:
            wrong = f"no answer within {TIMEOUT_S} s"
        except Exception as error:
            failure = classify(error, self._name) if not isinstance(error, ModelError) else error
            if failure is None:
                raise
            wrong = failure.cause
        finally:
            await self._budgets.settle(reservation, worst)
        return ModelAbility(name, not wrong, wrong)

    async def _says(self, model: BaseChatModel) -> str:
        reply = await model.ainvoke("Answer with the word ok.", max_tokens=TOKENS)
        return "" if "finish_reason" in reply.response_metadata else "it sent no usable reply"

    async def _calls(self, model: BaseChatModel) -> str:
        bound = model.bind_tools([TOOL], tool_choice="auto")
        reply = await bound.ainvoke("Call the tool ping with the word ok.", max_tokens=TOKENS)
        return "" if reply.tool_calls else "it was offered a tool and called none"

    async def _shapes(self, model: BaseChatModel, way: str) -> str:
        shaped, form = asking(model, "json_schema" if way == "json_schema" else "json_mode", "probe", SCHEMA)
        reply = await shaped.ainvoke(JSON, max_tokens=TOKENS, **form)
        value, repaired = read_json(reply.text)
        return "" if "word" in value and not repaired else "its answer does not follow the form"

    async def _streams(self, model: BaseChatModel) -> str:
        pieces = [
            piece async for piece in model.astream("Answer with the words one two three.", max_tokens=TOKENS)
        ]
        text = "".join(piece.text for piece in pieces)
        if not text:
            raise ModelUnavailable("it streamed nothing")
        return ""
