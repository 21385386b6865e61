"""One model call: reserve, call, settle, record."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TypeVar

from langchain_core.messages import AIMessage, AnyMessage, SystemMessage
from langchain_core.messages.utils import count_tokens_approximately

from planwright.domain.clock import Timer
from planwright.domain.errors import (
    ModelError,
    ModelInterrupted,
    ModelOutputInvalid,
    ModelOverdue,
    ModelRejected,
    ModelUnavailable,
    ProviderResting,
)
from planwright.models.budget_warnings import warn
from planwright.models.conversation.plain_calls import PlainCalls
from planwright.models.conversation.provider_data import returned, size_of, with_provider_data
from planwright.models.failover.admission import Admission
from planwright.models.failover.failover import Failover
from planwright.models.model_calls import ChatPrompt, ModelCall, Prompt
from planwright.models.provider_call import OVERDUE, ProviderCalls, is_shown_as_thinking
from planwright.models.providers.pricing import cached, price, tokens_of, used_in_vain, with_plain_usage
from planwright.models.providers.router import Router
from planwright.models.providers.thinking import ThinkingRoom, thoughts_in
from planwright.models.replies.structured import OutputModes, answered, with_form
from planwright.models.replies.truncated import why_unfinished
from planwright.models.roles import SERVED_BY, can_read
from planwright.prompts.fence import Fences
from planwright.records.budget_usage import Amount, BudgetedCall
from planwright.records.budgets import Budgets
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
        self._calls = ProviderCalls(router)
        self._admission = Admission(self._calls.most_at_once)
        self._fences = Fences()
        self._ways = OutputModes()
        self._plain_calls, self._room = PlainCalls(), ThinkingRoom()

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
        (ModelOutputInvalid for JSON that was cut off, ModelInterrupted for an answer that was, ModelOverdue
        where its time is over, ModelCancelled where its run was cancelled before it was its turn).
        """
        call = ModelCall(
            role=prompt.role,
            messages=prompt.messages,
            ends_at_s=_ends_at(prompt, invocation),
            schema=prompt.schema,
            schema_in_words=prompt.schema_in_words,
            aloud=prompt.aloud,
            max_tokens=prompt.max_tokens,
            temperature=prompt.temperature,
            lanes=lanes,
            capabilities=prompt.capabilities,
        )
        reply = await self._serve(call, route, invocation, key)
        why = why_unfinished(reply)
        if prompt.schema and why:
            raise ModelOutputInvalid(why, "answer with fewer words")
        if prompt.aloud and why:
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
            tools=prompt.tools,
            lanes=lanes,
            place=prompt.place,
        )
        return await self._serve(call, route, invocation, key)

    async def persist(self, ask: Callable[[int], Awaitable[T]]) -> T:
        """Ask again with backoff while no provider serves; `ask` is told how often it was.

        Raises what came last; of a provider that rests after replies of no use, the last of those.
        """
        failures, unusable = 0, None
        while True:
            try:
                return await ask(failures)
            except ModelUnavailable as error:
                failures += 1
                if isinstance(error, ProviderResting):
                    raise unusable or error from None
                if failures >= self._planner.attempts:
                    raise
                unusable = None if error.is_away else error
                backoff = 0.25 * self._planner.backoff ** (failures - 1)
                await asyncio.sleep(max(backoff, min(error.retry_after, LONGEST_WAIT_S)))

    async def _serve(self, call: ModelCall, route: ModelRoute, invocation: Invocation, key: str) -> AIMessage:
        """Make a call at the provider of a route, or of the call's role, or at the next that can."""
        route = self._of_role(call, route)
        calls, events = invocation.calls[key], itertools.count()

        def unused() -> str:
            """Name a call as none was that the run has told of, also before it was paused."""
            names = (f"{key}:{number}" for number in calls)
            return next(name for name in names if not invocation.has_sent("llm_call", name))

        @asynccontextmanager
        async def admit(at: ModelRoute) -> AsyncIterator[None]:
            if at.embedded:  # no provider: it takes as many as there are
                yield
                return
            async with self._admission.turn(at, invocation):
                if invocation.worked_s >= call.ends_at_s:
                    raise ModelOverdue(OVERDUE, "try again later")
                yield

        async def attempt(at: ModelRoute, with_key: int) -> AIMessage:
            if call.schema is None:

                async def ask(messages: list[AnyMessage]) -> AIMessage:
                    own = replace(call, messages=messages)
                    return await self._spend(own, at, with_key, invocation, unused())

                return await self._plain_calls.ask(call.messages, at, ask, invocation, key)
            while True:
                way = self._ways.best(at, self.router.provider(at))
                shaped, name = replace(call, way=way), unused()
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

        routes = self.router.successors(route)
        return await self._failover.serve(routes, attempt, tell, self._deadline_s, admit)

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
        """Make a call; once more with twice the room where its reply was cut off before it was seen."""
        provider = self.router.provider(route)
        call = self._room.with_room(call, route, provider)
        reply = await self._once(call, route, with_key, invocation, key)
        if (roomy := self._room.with_more(call, route, provider, reply)) is not None:
            key = f"{key}.again"
            reply = await self._once(roomy, route, with_key, invocation, key)
        return with_provider_data(reply, route, invocation, key)

    async def _once(
        self, call: ModelCall, route: ModelRoute, with_key: int, invocation: Invocation, key: str
    ) -> AIMessage:
        """Reserve, call, settle and tell, in a span of its own."""
        if route.embedded and call.capabilities:
            call = replace(call, messages=[SystemMessage(f"Role: {call.role}"), *call.messages[1:]])
        elif call.schema_in_words and call.way in ("text", "json_mode"):
            call = replace(call, messages=with_form(call.messages, call.schema))
        with invocation.spans.chat(call.role, route.provider, route.model, call.max_tokens):
            return await self._settled(call, route, with_key, invocation, key)

    async def _settled(
        self, call: ModelCall, route: ModelRoute, with_key: int, invocation: Invocation, key: str
    ) -> AIMessage:
        invocation.check_time()
        provider = self.router.provider(route)
        prices = provider.prices if provider else None
        call = replace(call, messages=returned(call.messages, route, invocation, key))
        estimate = count_tokens_approximately(call.messages, tools=list(call.tools)) + size_of(call.messages)
        priced = partial(price, route, prices=prices)
        worst = Amount(estimate + call.max_tokens, cost=priced(estimate, call.max_tokens))
        now, lease, limits = invocation.clock, invocation.lease, invocation.profile.limits
        names = (lease.run_id, lease.tenant, route.provider)
        budgeted = BudgetedCall(*names, "model", worst, call.lanes, lasts_s=2 * self._calls.longest_s(route))
        reservation = await self._budgets.reserve(budgeted, limits, now(), within=provider, lease=lease)
        started = invocation.seconds()
        try:
            reply = await self._calls.make(replace(call, name=key), route, with_key, estimate, invocation)
        except ModelError as error:
            spent = used_in_vain(error, (estimate, call.max_tokens))
            await self._budgets.settle(reservation, Amount(sum(spent), cost=priced(*spent)), lease)
            tokens = {"input_tokens": spent[0], "output_tokens": spent[1], "cost": priced(*spent)}
            self._tell(invocation, route, call.role, key, {**tokens, "error": error.cause})
            raise
        reply = with_plain_usage(reply)
        spent = tokens_of(reply, estimate)
        cost = priced(*spent)
        await self._budgets.settle(reservation, Amount(sum(spent), cost=cost), lease)
        seconds = round(invocation.seconds() - started, 3)
        data = {"input_tokens": spent[0], "output_tokens": spent[1], "cost": cost, "seconds": seconds}
        invocation.paid.append(key)
        if call.aloud:
            invocation.streamed = reply
        data |= cached(reply) | ({"thought_tokens": thought} if (thought := thoughts_in(reply)) else {})
        self._tell(invocation, route, call.role, key, data)
        await warn(self._budgets, invocation, route.provider, provider)
        return reply

    def _tell(
        self, invocation: Invocation, route: ModelRoute, role: str, key: str, data: Mapping[str, object]
    ) -> None:
        named = {"call": key} if is_shown_as_thinking(key, invocation) else {}
        source = {"role": role, "provider": route.provider, "model": route.model}
        invocation.emit("llm_call", {**source, **named, **data}, key)


def _ends_at(prompt: Prompt, invocation: Invocation) -> float:
    return math.inf if prompt.timeout_s is None else invocation.worked_s + prompt.timeout_s
