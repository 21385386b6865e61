"""One call at one provider: sent, heard as it comes in, and given up where nothing more of it is heard."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable

from planwright.domain.clock import AttendedTimeout
from planwright.domain.errors import ModelError, ModelOverdue, ModelRejected, RunStopped
from planwright.models.failover.classify import NoUsableReply, classify
from planwright.models.model_calls import ModelCall
from planwright.models.providers.pricing import tokens_of, with_plain_usage
from planwright.models.providers.router import Router
from planwright.models.providers.sent_back import Receiver
from planwright.models.replies.bridge_stream import BridgeStream
from planwright.models.replies.stream_watch import StreamedReply, StreamWatch
from planwright.models.replies.structured import asking
from planwright.models.replies.tool_bridge import in_words, new_nonce, read_calls
from planwright.models.replies.unfenced_reply import streaming_unfenced, unfenced_reply
from planwright.models.replies.written_calls import with_written_calls
from planwright.security.redaction.chat_model import messages_without_keys
from planwright.settings.providers import ProviderSettings
from planwright.state.agent_state import ModelRoute
from planwright.state.invocation import Invocation

OVERDUE = "no model has replied in the time that it had in all"
UNSTREAMED = 5
"""How many times as long a reply may be silent that comes in one piece."""
THINKS_AFTER_S = 5
"""Seconds without a word after which somebody who watches the run is told that a model thinks."""


class ProviderCalls:
    """Make calls of models, each within the times that its provider is given."""

    def __init__(self, router: Router) -> None:
        self._router = router

    async def make(
        self, call: ModelCall, route: ModelRoute, with_key: int, estimate: int, invocation: Invocation
    ) -> AIMessage:
        """Make one call of about so many tokens. Raises what its failure is classified as."""
        provider = self._router.provider(route)
        chat_model = streaming_unfenced(self._router.chat_model(route, with_key))
        nonce = new_nonce() if call.tools and not route.native else ""
        bridge = BridgeStream() if nonce else None
        model: Runnable[Any, AIMessage] = bridge.of(chat_model) if bridge else chat_model
        messages = in_words(call.messages, call.tools, nonce) if nonce else call.messages
        if call.tools and not nonce:
            model = _calling_tools(chat_model, call)
        options = _options(call, route) if provider or route.embedded else {}
        if call.schema:
            model, form = asking(chat_model, call.way, call.role, call.schema)
            options |= form
        read = (StreamedReply if provider else StreamWatch)(aloud=call.aloud)
        left_s = call.ends_at_s - invocation.worked_s
        limit = self._limit(route, left_s, lambda waited_s: _tell(call, route, read, waited_s, invocation))
        try:
            with Receiver() as received:
                async with limit:
                    sent = messages_without_keys(messages)
                    reply = await model.ainvoke(sent, read.config(call.place), **options)
        except Exception as error:
            late = limit.expired() and isinstance(error, TimeoutError)
            in_code = provider is None and not route.embedded
            failure = (
                self._late(route, left_s, limit) if late else classify(error, route.provider, in_code=in_code)
            )
            if failure is None:
                raise
            raise read.failure(failure) from error
        if provider is not None and reply.response_metadata.get("finish_reason", "error") == "error":
            how = "broke off in its reply" if reply.content or reply.tool_calls else "sent no usable reply"
            broken = NoUsableReply(f"provider {route.provider} {how}", "try again later")
            counted = with_plain_usage(reply)
            broken.used = tokens_of(counted, estimate) if counted.usage_metadata else None
            broken.worked = True
            raise read.failure(broken)
        if bridge:
            return unfenced_reply(read_calls(bridge.whole(reply), nonce))
        whole = with_written_calls(read.whole(reply), call.tools, call.messages)
        return received.complete(unfenced_reply(whole))

    def _limit(self, route: ModelRoute, left_s: float, looked: Callable[[float], None]) -> AttendedTimeout:
        """Say how long a call may take; the embedded planner, which is no provider, takes its time."""
        if route.embedded:
            return AttendedTimeout(math.inf)
        times = self._settings(route)
        return AttendedTimeout(min(times.reply_timeout_s, left_s), _idle_s(times), looked)

    def _late(self, route: ModelRoute, left_s: float, limit: AttendedTimeout) -> ModelError:
        """Say why a call was given up, and which setting allows more."""
        times = self._settings(route)
        why, setting = f"sent nothing for {_idle_s(times):g} s", "idle_timeout_s"
        if not limit.silent():
            if left_s <= times.reply_timeout_s:
                return ModelOverdue(OVERDUE, "try again later")
            why, setting = f"had not ended its reply after {times.reply_timeout_s:g} s", "reply_timeout_s"
        raising = f", or raise providers.{route.provider}.{setting}"
        next_step = f"try again later{raising if self._router.provider(route) else ''}"
        return NoUsableReply(f"provider {route.provider} {why}", next_step)

    def most_at_once(self, route: ModelRoute) -> int:
        """Say how many calls may be under way at a provider at once."""
        return self._settings(route).max_concurrent

    def longest_s(self, route: ModelRoute) -> float:
        """Say how many seconds a call may take in all."""
        return self._settings(route).reply_timeout_s

    def _settings(self, route: ModelRoute) -> ProviderSettings:
        """Look up the settings of a provider; for a model that was passed in code, what holds by default."""
        return self._router.provider(route) or ProviderSettings(model=route.model, capabilities=())


def is_shown_as_thinking(name: str, invocation: Invocation) -> bool:
    """Say whether it was told that the model of a call thinks; of one made again it is told again."""
    return invocation.has_sent("thinking", f"{name}:{invocation.lease.token}")


def _idle_s(provider: ProviderSettings) -> float:
    heard_of = "streaming" in provider.capabilities and provider.chat_class is None  # a class hides its bytes
    return provider.idle_timeout_s * (1 if heard_of else UNSTREAMED)


def _tell(
    call: ModelCall, route: ModelRoute, read: StreamWatch, waited_s: float, invocation: Invocation
) -> None:
    """Tell, once, that a model thinks which has not said a word yet to whoever reads along."""
    if waited_s < THINKS_AFTER_S or read.spoken:
        return
    source = {"call": call.name, "role": call.role, "provider": route.provider, "model": route.model}
    with suppress(RunStopped):  # whoever goes on with the run meets it
        data = {**source, "seconds": round(waited_s, 1)}
        invocation.emit("thinking", data, f"{call.name}:{invocation.lease.token}")


def _calling_tools(model: BaseChatModel, call: ModelCall) -> Runnable[Any, AIMessage]:
    try:
        return model.bind_tools(call.tools, tool_choice="auto")
    except NotImplementedError as error:
        cause = f"the model {type(model).__name__} takes no tools: its bind_tools raises NotImplementedError"
        next_step = "leave bind_tools out of its class, and tools are called in words; or pass another model"
        raise ModelRejected(cause, next_step) from error


def _options(call: ModelCall, route: ModelRoute) -> dict[str, object]:
    """Spell what a call asks for beside its messages."""
    if route.embedded:
        return {"capabilities": call.capabilities}
    options: dict[str, object] = {"max_tokens": call.max_tokens}
    if call.temperature is not None:
        options["temperature"] = call.temperature
    return options | ({"reasoning_effort": call.effort} if call.effort else {})
