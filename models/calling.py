"""One model call: reserve, call, settle, record."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import json_repair
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.runnables import Runnable

from planwright.checkpoints.budgets import Amount, Budgets
from planwright.graph.errors import ModelError, ModelOutputInvalid, ModelUnavailable
from planwright.graph.invocation import Invocation
from planwright.graph.lane_budget import LaneBudget
from planwright.graph.settings import Settings
from planwright.graph.state import ModelRoute
from planwright.models.failures import classify
from planwright.models.pricing import price
from planwright.models.router import Router

T = TypeVar("T")
MAX_TOKENS = 4096
LONGEST_WAIT_S = 60
_FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Prompt:
    """What a role is told: who it is, and what it is to work on."""

    role: str
    system: str
    user: str
    json: bool = False
    timeout_s: float = 60
    max_tokens: int = MAX_TOKENS
    temperature: float | None = None


class Models:
    """Call the model of a route within the budgets of a run."""

    def __init__(self, router: Router, budgets: Budgets, settings: Settings) -> None:
        self.router = router
        self._budgets = budgets
        self._settings = settings.planner

    async def complete(self, route: ModelRoute, prompt: Prompt, invocation: Invocation, key: str) -> str:
        """Ask a model and return its text.

        Raises BudgetExceeded before the call; ModelUnavailable, ModelRejected or (for JSON that was
        cut off) ModelOutputInvalid after it.
        """
        messages: list[AnyMessage] = [SystemMessage(prompt.system), HumanMessage(prompt.user)]
        provider = self.router.provider(route)
        json_mode = prompt.json and provider is not None and "json_mode" in provider.capabilities
        options: dict[str, Any] = {"response_format": {"type": "json_object"}} if json_mode else {}
        if provider is not None:
            options["max_tokens"] = prompt.max_tokens
            options |= {} if prompt.temperature is None else {"temperature": prompt.temperature}
        model = self.router.chat_model(route)
        reply = await self._spend(
            model, route, messages, invocation, key, prompt.role, prompt.timeout_s, options
        )
        if prompt.json and reply.response_metadata.get("finish_reason") == "length":
            raise ModelOutputInvalid("the reply was cut off at the token limit", "answer with fewer words")
        return reply.text

    async def chat(
        self,
        route: ModelRoute,
        messages: list[AnyMessage],
        invocation: Invocation,
        key: str,
        *,
        role: str,
        tools: Sequence[dict[str, Any]] = (),
        lanes: Sequence[LaneBudget] = (),
        timeout_s: float = 120,
        place: Mapping[str, Any] | None = None,
    ) -> AIMessage:
        """Ask a model that may call tools, within the budgets of its lanes, and return its whole reply.

        Raises as `complete` does. While it comes in, `stream_mode="messages"` yields it from here, or from
        the node that `place` names.
        """
        model = self.router.chat_model(route)
        bound = model.bind_tools(tools, tool_choice="auto") if tools else model
        return await self.persist(
            lambda failures: self._spend(
                bound, route, messages, invocation, f"{key}:{failures}", role, timeout_s, {}, lanes, place
            )
        )

    async def persist(self, ask: Callable[[int], Awaitable[T]]) -> T:
        """Ask again with backoff while the provider is unavailable; `ask` is told how often it was (S3)."""
        failures = 0
        while True:
            try:
                return await ask(failures)
            except ModelUnavailable as error:
                failures += 1
                if failures >= self._settings.attempts:
                    raise
                backoff = 0.25 * self._settings.backoff ** (failures - 1)
                await asyncio.sleep(max(backoff, min(error.retry_after, LONGEST_WAIT_S)))

    async def _spend(
        self,
        model: Runnable[Any, AIMessage],
        route: ModelRoute,
        messages: list[AnyMessage],
        invocation: Invocation,
        key: str,
        role: str,
        timeout_s: float,
        options: dict[str, Any],
        lanes: Sequence[LaneBudget] = (),
        place: Mapping[str, Any] | None = None,
    ) -> AIMessage:
        """Reserve, call, settle and tell."""
        estimate = count_tokens_approximately(messages)
        worst = Amount(estimate + MAX_TOKENS, cost=price(route, estimate, MAX_TOKENS))
        now, run, tenant = invocation.clock, invocation.run_id, invocation.context.tenant
        reservation = await self._budgets.reserve(
            run,
            tenant,
            route.provider,
            "model",
            worst,
            invocation.profile.limits,
            now(),
            lanes=lanes,
        )
        started = now()
        try:
            reply = await self._invoke(model, route, messages, timeout_s, options, place)
        except ModelError as error:
            await self._budgets.settle(reservation, Amount(cost=None))
            self._tell(invocation, route, role, key, {"error": error.cause})
            raise
        usage = reply.usage_metadata
        spent = (usage["input_tokens"], usage["output_tokens"]) if usage else (estimate, 0)
        cost = price(route, *spent)
        await self._budgets.settle(reservation, Amount(sum(spent), cost=cost))
        seconds = round((now() - started).total_seconds(), 3)
        data = {"input_tokens": spent[0], "output_tokens": spent[1], "cost": cost, "seconds": seconds}
        self._tell(invocation, route, role, key, data)
        return reply

    async def _invoke(
        self,
        model: Runnable[Any, AIMessage],
        route: ModelRoute,
        messages: list[AnyMessage],
        timeout_s: float,
        options: dict[str, Any],
        place: Mapping[str, Any] | None = None,
    ) -> AIMessage:
        if self.router.provider(route) is not None:
            options = {"max_tokens": MAX_TOKENS, **options}
        try:
            async with asyncio.timeout(timeout_s):
                reply = await model.ainvoke(messages, {"metadata": dict(place or {})}, **options)
        except TimeoutError as error:
            raise ModelUnavailable(
                f"provider {route.provider} did not answer within {timeout_s:g} s",
                "try again later, or raise planner.timeout_s",
            ) from error
        except Exception as error:
            failure = classify(error, route.provider)
            if failure is None:
                raise
            raise failure from error
        if self.router.provider(route) is not None and "finish_reason" not in reply.response_metadata:
            raise ModelUnavailable(f"provider {route.provider} broke off in its reply", "try again later")
        return reply

    def _tell(
        self, invocation: Invocation, route: ModelRoute, role: str, key: str, data: dict[str, Any]
    ) -> None:
        invocation.emit(
            "llm_call", {"role": role, "provider": route.provider, "model": route.model, **data}, key
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
