"""One model call: reserve, call, settle, record."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from typing import Any

import json_repair
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.messages.utils import count_tokens_approximately

from planwright.checkpoints.budgets import Amount, Budgets
from planwright.graph.errors import ModelError, ModelOutputInvalid, ModelUnavailable
from planwright.graph.invocation import Invocation
from planwright.graph.settings import Settings
from planwright.graph.state import ModelRoute
from planwright.models.failures import classify
from planwright.models.pricing import price
from planwright.models.router import Router

MAX_TOKENS = 4096
_FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Prompt:
    """What a role is told: who it is, and what it is to work on."""

    role: str
    system: str
    user: str
    json: bool = False
    timeout_s: float = 60


class Models:
    """Call the model of a route within the budgets of a run."""

    def __init__(self, router: Router, budgets: Budgets, settings: Settings) -> None:
        self.router = router
        self._budgets = budgets
        self._limits = settings.budgets.run

    async def complete(self, route: ModelRoute, prompt: Prompt, invocation: Invocation, key: str) -> str:
        """Ask a model and return its text.

        Raises BudgetExceeded before the call; ModelUnavailable, ModelRejected or (for JSON that was
        cut off) ModelOutputInvalid after it.
        """
        messages = [SystemMessage(prompt.system), HumanMessage(prompt.user)]
        estimate = count_tokens_approximately(messages)
        worst = Amount(estimate + MAX_TOKENS, cost=price(route, estimate, MAX_TOKENS))
        now = invocation.clock
        reservation = await self._budgets.reserve(
            invocation.run_id, invocation.context.tenant, route.provider, "model", worst, self._limits, now()
        )
        started = now()
        try:
            reply = await self._invoke(route, prompt, messages)
        except ModelError as error:
            await self._budgets.settle(reservation, Amount(cost=None))
            self._tell(invocation, route, prompt, key, {"error": error.cause})
            raise
        usage = reply.usage_metadata
        spent = (usage["input_tokens"], usage["output_tokens"]) if usage else (estimate, 0)
        cost = price(route, *spent)
        await self._budgets.settle(reservation, Amount(sum(spent), cost=cost))
        seconds = round((now() - started).total_seconds(), 3)
        data = {"input_tokens": spent[0], "output_tokens": spent[1], "cost": cost, "seconds": seconds}
        self._tell(invocation, route, prompt, key, data)
        if prompt.json and reply.response_metadata.get("finish_reason") == "length":
            raise ModelOutputInvalid("the reply was cut off at the token limit", "answer with fewer words")
        return reply.text

    async def _invoke(self, route: ModelRoute, prompt: Prompt, messages: list[Any]) -> AIMessage:
        provider = self.router.provider(route)
        options: dict[str, Any] = {} if provider is None else {"max_tokens": MAX_TOKENS}
        if prompt.json and provider is not None and "json_mode" in provider.capabilities:
            options["response_format"] = {"type": "json_object"}
        model = self.router.chat_model(route)
        try:
            async with asyncio.timeout(prompt.timeout_s):
                return await model.ainvoke(messages, **options)
        except TimeoutError as error:
            raise ModelUnavailable(
                f"provider {route.provider} did not answer within {prompt.timeout_s:g} s",
                "try again later, or raise planner.timeout_s",
            ) from error
        except Exception as error:
            failure = classify(error, route.provider)
            if failure is None:
                raise
            raise failure from error

    def _tell(
        self, invocation: Invocation, route: ModelRoute, prompt: Prompt, key: str, data: dict[str, Any]
    ) -> None:
        invocation.emit(
            "llm_call", {"role": prompt.role, "provider": route.provider, "model": route.model, **data}, key
        )


def read_json(text: str) -> tuple[dict[str, Any], bool]:
    """Read the one JSON object of a reply; say whether it had to be repaired.

    Raises ModelOutputInvalid when there is none to be found.
    """
    fenced = _FENCE.search(text)
    body = (fenced[1] if fenced else text).strip()
    try:
        value, repaired = json.loads(body), fenced is not None
    except json.JSONDecodeError:
        value, repaired = json_repair.loads(body), True
    if not isinstance(value, dict) or not value:
        raise ModelOutputInvalid(
            "the reply is not one JSON object", "answer with one JSON object and nothing else"
        )
    return value, repaired
