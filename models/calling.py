"""One model call: reserve, call, settle, record."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.runnables import Runnable

from planwright.checkpoints.budget_usage import Amount, BudgetedCall
from planwright.checkpoints.budgets import Budgets
from planwright.domain.clock import Timer
from planwright.domain.errors import (
    ModelError,
    ModelInterrupted,
    ModelOutputInvalid,
    ModelRejected,
    ModelUnavailable,
    ProviderResting,
)
from planwright.models.budget_warnings import warn
from planwright.models.failover.classify import classify
from planwright.models.failover.failover import Failover
from planwright.models.model_calls import ChatPrompt, ModelCall, Prompt
from planwright.models.providers.common_form import REASONING, without_reasoning
from planwright.models.providers.pricing import price, tokens_of, used_in_vain, with_plain_usage
from planwright.models.providers.router import Router
from planwright.models.replies.bridge_stream import BridgeStream
from planwright.models.replies.stream_watch import StreamWatch
from planwright.models.replies.structured import OutputModes, answered, asking
from planwright.models.replies.tool_bridge import in_words, new_nonce, read_calls
from planwright.models.replies.truncated import why_unfinished
from planwright.models.roles import SERVED_BY, can_read
from planwright.prompts import as_data, render
from planwright.prompts.fence import Fences
from planwright.settings.settings import Settings
from planwright.state.agent_state import ModelRoute
from planwright.state.invocation import Invocation
from planwright.state.loop_budget import LoopBudget

T = TypeVar("T")
LONGEST_WAIT_S = 60


class Models:
    """Call the model of a route, or who takes its place, within the budgets of a run."""

    def __init__(
        self, router: Router, budgets: Budgets, settings: Settings, timer: Timer | None = None
    ) -> None:
        self.router = router
        self._budgets = budgets
        self._planner = settings.planner
        self._deadline_s = settings.execution.step_timeout_s
        self._failover = Failover(
            router.count_keys,
            settings.failover,
            settings.breaker,
            clock=timer.seconds if timer else time.monotonic,
        )
        self._fences = Fences()
        self._ways = OutputModes()

    async def complete(
        self,
        route: ModelRoute,
        prompt: Prompt,
        invocation: Invocation,
        key: str,
        lanes: Sequence[LoopBudget] = (),
    ) -> str:
        """Ask a model and return its text.

        Raises BudgetExceeded before the call; ModelError, once nobody else may be asked, after it
        (ModelOutputInvalid for JSON that was cut off, ModelInterrupted for an answer that was).
        """
        call = ModelCall(
            role=prompt.role,
            messages=[SystemMessage(prompt.system), HumanMessage(prompt.user)],
            timeout_s=prompt.timeout_s,
            schema=prompt.schema,
            schema_in_words=prompt.schema_in_words,
            aloud=prompt.aloud,
            max_tokens=prompt.max_tokens,
            temperature=prompt.temperature,
            lanes=lanes,
            capabilities=prompt.capabilities,
        )
        reply = await self._serve(call, route, invocation, key)
        if prompt.schema and reply.response_metadata.get("finish_reason") == "length":
            raise ModelOutputInvalid("the reply was cut off at the token limit", "answer with fewer words")
        if prompt.aloud and (why := why_unfinished(reply)):
            raise ModelInterrupted(why, "ask for less, or in parts", reply.text)
        return reply.text

    async def chat(
        self,
        route: ModelRoute,
        prompt: ChatPrompt,
        invocation: Invocation,
        key: str,
        lanes: Sequence[LoopBudget] = (),
    ) -> AIMessage:
        """Ask a model that may call tools, within the budgets of its lanes, and return its whole reply.

        What tools returned is fenced. Raises as `complete` does. While it comes in, `stream_mode="messages"`
        yields it from here, or from the node that its `place` names.
        """
        call = ModelCall(
            prompt.role,
            self._fences.around(prompt.messages),
            prompt.timeout_s,
            tools=prompt.tools,
            lanes=lanes,
            place=prompt.place,
        )
        return await self._serve(call, route, invocation, key)

    async def persist(self, ask: Callable[[int], Awaitable[T]]) -> T:
        """Ask again with backoff while no provider serves; `ask` is told how often it was."""
        failures = 0
        while True:
            try:
                return await ask(failures)
            except ModelUnavailable as error:
                failures += 1
                if failures >= self._planner.attempts or isinstance(error, ProviderResting):
                    raise
                backoff = 0.25 * self._planner.backoff ** (failures - 1)
                await asyncio.sleep(max(backoff, min(error.retry_after, LONGEST_WAIT_S)))

    async def _serve(self, call: ModelCall, route: ModelRoute, invocation: Invocation, key: str) -> AIMessage:
        """Make a call at the provider of a route, or of the call's role, or at the next that can."""
        route = self._of_role(call, route)
        calls, events = invocation.calls[key], itertools.count()

        async def attempt(at: ModelRoute, with_key: int) -> AIMessage:
            if call.schema is None:
                return await self._spend(call, at, with_key, invocation, f"{key}:{next(calls)}")
            while True:
                way = self._ways.best(at, self.router.provider(at))
                shaped, name = replace(call, way=way), f"{key}:{next(calls)}"
                try:
                    return answered(await self._spend(shaped, at, with_key, invocation, name))
                except ModelRejected as error:
                    if not self._ways.refused(at, way, error):
                        raise
                    then = self._ways.best(at, self.router.provider(at))
                    source = {"role": call.role, "provider": at.provider, "model": at.model}
                    data = {**source, "refused": way, "next": then, "cause": error.cause}
                    invocation.emit("structured_output", data, name)

        def tell(data: dict[str, object]) -> None:
            invocation.emit("failover", {"role": call.role, **data}, f"{key}:{next(events)}")

        return await self._failover.serve(self.router.successors(route), attempt, tell, self._deadline_s)

    def _of_role(self, call: ModelCall, route: ModelRoute) -> ModelRoute:
        """Choose who makes a call: the model of its role, unless the call is too long for it."""
        role = SERVED_BY.get(call.role)
        if role is None or (named := self.router.role(role, route)) is None:
            return route
        size = count_tokens_approximately(call.messages) + call.max_tokens
        return named if can_read(named, route, size) else route

    async def _spend(
        self, call: ModelCall, route: ModelRoute, with_key: int, invocation: Invocation, key: str
    ) -> AIMessage:
        """Reserve, call, settle and tell, in a span of its own."""
        if route.embedded and call.capabilities:
            call = replace(call, messages=[SystemMessage(f"Role: {call.role}"), *call.messages[1:]])
        elif call.schema_in_words and call.way in ("text", "json_mode"):
            call = replace(call, messages=_with_form(call))
        with invocation.spans.chat(call.role, route.provider, route.model, call.max_tokens):
            return await self._settled(call, route, with_key, invocation, key)

    async def _settled(
        self, call: ModelCall, route: ModelRoute, with_key: int, invocation: Invocation, key: str
    ) -> AIMessage:
        invocation.check_time()
        provider = self.router.provider(route)
        prices = provider.prices if provider else None
        estimate = count_tokens_approximately(call.messages, tools=list(call.tools))
        priced = partial(price, route, prices=prices)
        worst = Amount(estimate + call.max_tokens, cost=priced(estimate, call.max_tokens))
        now, lease, limits = invocation.clock, invocation.lease, invocation.profile.limits
        names = (lease.run_id, lease.tenant, route.provider)
        budgeted = BudgetedCall(*names, "model", worst, call.lanes, lasts_s=2 * call.timeout_s)
        reservation = await self._budgets.reserve(budgeted, limits, now(), within=provider, lease=lease)
        started = invocation.seconds()
        try:
            reply = await self._invoke(call, route, with_key, estimate)
        except ModelError as error:
            await self._budgets.settle(reservation, used_in_vain(error, worst, priced), lease)
            self._tell(invocation, route, call.role, key, {"error": error.cause})
            raise
        reply = with_plain_usage(reply)
        usage = reply.usage_metadata
        spent = tokens_of(reply, estimate)
        cost = priced(*spent)
        await self._budgets.settle(reservation, Amount(sum(spent), cost=cost), lease)
        seconds = round(invocation.seconds() - started, 3)
        data = {"input_tokens": spent[0], "output_tokens": spent[1], "cost": cost, "seconds": seconds}
        invocation.paid.append(key)
        if call.aloud:
            invocation.streamed = reply
        data |= _cached(usage)
        self._tell(invocation, route, call.role, key, data)
        await warn(self._budgets, invocation, route.provider, provider)
        return without_reasoning(reply) if REASONING in reply.additional_kwargs else reply

    async def _invoke(self, call: ModelCall, route: ModelRoute, with_key: int, estimate: int) -> AIMessage:
        """Make one call of about so many tokens. Raises what its failure is classified as."""
        provider = self.router.provider(route)
        chat_model = self.router.chat_model(route, with_key)
        nonce = new_nonce() if call.tools and not route.native else ""
        bridge = BridgeStream()
        model: Runnable[Any, AIMessage] = bridge.of(chat_model) if nonce else chat_model
        messages = in_words(call.messages, call.tools, nonce) if nonce else call.messages
        if call.tools and not nonce:
            model = _calling_tools(chat_model, call)
        options = _options(call, route) if provider or route.embedded else {}
        if call.schema:
            model, form = asking(chat_model, call.way, call.role, call.schema)
            options |= form
        read = StreamWatch(aloud=call.aloud)
        try:
            async with asyncio.timeout(call.timeout_s):
                reply = await model.ainvoke(messages, read.config(call.place), **options)
        except TimeoutError as error:
            raise read.failure(_too_slow(route, call.timeout_s)) from error
        except Exception as error:
            failure = classify(error, route.provider)
            if failure is None:
                raise
            raise read.failure(failure) from error
        if provider is not None and reply.response_metadata.get("finish_reason", "error") == "error":
            broken = ModelUnavailable(f"provider {route.provider} broke off in its reply", "try again later")
            broken.used = tokens_of(with_plain_usage(reply), estimate)
            raise read.failure(broken)
        return read_calls(bridge.whole(reply), nonce) if nonce else read.whole(reply)

    def _tell(
        self, invocation: Invocation, route: ModelRoute, role: str, key: str, data: Mapping[str, object]
    ) -> None:
        invocation.emit(
            "llm_call", {"role": role, "provider": route.provider, "model": route.model, **data}, key
        )


def _calling_tools(model: BaseChatModel, call: ModelCall) -> Runnable[Any, AIMessage]:
    try:
        return model.bind_tools(call.tools, tool_choice="auto")
    except NotImplementedError as error:
        cause = f"the model {type(model).__name__} takes no tools: its bind_tools raises NotImplementedError"
        next_step = "leave bind_tools out of its class, and tools are called in words; or pass another model"
        raise ModelRejected(cause, next_step) from error


def _options(call: ModelCall, route: ModelRoute) -> dict[str, Any]:
    """Spell what a call asks for beside its messages."""
    if route.embedded:
        return {"capabilities": call.capabilities}
    options: dict[str, Any] = {"max_tokens": call.max_tokens}
    if call.temperature is not None:
        options["temperature"] = call.temperature
    return options


def _cached(usage: UsageMetadata | None) -> dict[str, int]:
    """Read how much of a prompt the provider had in its cache; nothing where it says none."""
    tokens = usage.get("input_token_details", {}).get("cache_read", 0) if usage else 0
    return {"cached_tokens": tokens} if tokens else {}


def _with_form(call: ModelCall) -> list[AnyMessage]:
    """Spell the form of the answer below the system message."""
    system, *rest = call.messages
    return [SystemMessage(f"{system.text}{render('form', form=as_data(call.schema))}"), *rest]


def _too_slow(route: ModelRoute, timeout_s: float) -> ModelUnavailable:
    return ModelUnavailable(
        f"provider {route.provider} did not answer within {timeout_s:g} s",
        "try again later, or raise planner.timeout_s",
    )
