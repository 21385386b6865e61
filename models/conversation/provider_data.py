"""What a provider sent with a reply and wants back: kept with the message, for that provider and model alone.

It lies in `additional_kwargs` of the message, where every store, copy and fork of it takes it along. Nobody
else is told: neither another provider nor another role.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from langchain_core.messages import AIMessage, AnyMessage

from planwright.models.conversation.call_arguments import flaw_of
from planwright.models.providers.common_form import REASONING
from planwright.models.providers.sent_back import SENT_BACK
from planwright.security.redaction.redactor import Redactor
from planwright.state.agent_state import ModelRoute
from planwright.state.invocation import Invocation

PROVIDER_DATA = "provider_data"
MOST_KEPT = 1_000_000  # characters of JSON
_SECRET = "it holds the secret {}"
_OWN = (PROVIDER_DATA, SENT_BACK, REASONING)


def with_provider_data(reply: AIMessage, route: ModelRoute, invocation: Invocation, key: str) -> AIMessage:
    """Keep of a reply what its provider wants back, under who that is; what cannot be kept is told.

    What is there to be shown of its thinking is left out: it was streamed, and no state holds it twice. Where
    it is all that there is, it stays, to be told.
    """
    own, thoughts = reply.additional_kwargs.get(SENT_BACK), reply.additional_kwargs.get(REASONING)
    rest = {name: held for name, held in reply.additional_kwargs.items() if name not in _OWN}
    if own and (why := _why_not(own, invocation.redactor)):
        invocation.emit("provider_data_dropped", {**_names(route), "cause": why}, key)
    elif own:
        rest[PROVIDER_DATA] = {**_names(route), SENT_BACK: own}
    if thoughts and not (reply.text.strip() or reply.tool_calls):
        rest[REASONING] = thoughts
    return reply.model_copy(update={"additional_kwargs": rest})


def returned(
    messages: Sequence[AnyMessage], route: ModelRoute, invocation: Invocation, key: str
) -> list[AnyMessage]:
    """Give each message back what its provider sent with it, where that is who is asked, and nothing else."""
    whole = [_returned(message, route) if isinstance(message, AIMessage) else message for message in messages]
    for message in whole:
        own = message.additional_kwargs.get(SENT_BACK)
        if own and (secret := invocation.redactor.held_in(own)):  # one that was none when it came
            del message.additional_kwargs[SENT_BACK]
            cause = _SECRET.format(secret)
            invocation.emit("provider_data_dropped", {**_names(route), "cause": cause}, key)
    return whole


def size_of(messages: Sequence[AnyMessage]) -> int:
    """Estimate the tokens of what messages hold for their providers, four characters each."""
    held = (
        message.additional_kwargs.get(SENT_BACK) or message.additional_kwargs.get(PROVIDER_DATA)
        for message in messages
    )
    return sum(len(json.dumps(own)) for own in held if own) // 4


def carried(reply: AIMessage, renamed: Mapping[str, str]) -> dict[str, object]:
    """Take along what a reply holds for its provider; calls that got another id are found by it."""
    data = reply.additional_kwargs.get(PROVIDER_DATA)
    return {PROVIDER_DATA: _renamed(data, renamed) if renamed else data} if data else {}


def holds_data(message: AnyMessage) -> bool:
    """Say whether a message holds what some provider wants back."""
    return PROVIDER_DATA in message.additional_kwargs


def belongs_to(message: AnyMessage, route: ModelRoute) -> bool:
    """Say whether a message holds what the provider of a route wants back for its model."""
    data = message.additional_kwargs.get(PROVIDER_DATA)
    return isinstance(data, Mapping) and _names(route).items() <= data.items()


def _names(route: ModelRoute) -> dict[str, str]:
    return {"provider": route.provider, "model": route.model}


def _returned(message: AIMessage, route: ModelRoute) -> AIMessage:
    rest = {name: held for name, held in message.additional_kwargs.items() if name not in _OWN}
    if belongs_to(message, route):
        rest[SENT_BACK] = message.additional_kwargs[PROVIDER_DATA][SENT_BACK]
    return message.model_copy(update={"additional_kwargs": rest})


def _why_not(own: object, redactor: Redactor) -> str:
    if secret := redactor.held_in(own):
        return _SECRET.format(secret)
    if flaw_of(own):
        return "it cannot be stored"
    return f"it is longer than {MOST_KEPT:,} characters" if len(json.dumps(own)) > MOST_KEPT else ""


def _renamed(held: object, ids: Mapping[str, str]) -> object:
    """Put the new ids of calls in the place of their own, as names and as values."""
    if isinstance(held, Mapping):
        return {ids.get(name, name): _renamed(value, ids) for name, value in held.items()}
    if isinstance(held, list):
        return [_renamed(value, ids) for value in held]
    return ids.get(held, held) if isinstance(held, str) else held
