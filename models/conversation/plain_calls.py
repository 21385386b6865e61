"""Calls of a conversation that a server will not read, because what it wants back with them is not there.

Another provider made them, or what came with them was dropped. They are spelled in words then: which tool was
called with what, and what it returned. Who refuses them once is sent words from then on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from planwright.domain.errors import ContextOverflow, KeyRefused, ModelRejected
from planwright.models.conversation.provider_data import belongs_to, holds_data
from planwright.state.agent_state import ModelRoute
from planwright.state.invocation import Invocation

_WANTED = re.compile(r"reasoning|thinking|thought|signature|encrypted|passed back|required following", re.I)
Ask = Callable[[list[AnyMessage]], Awaitable[AIMessage]]


class PlainCalls:
    """Remember who refuses the calls of others, and send these words instead."""

    def __init__(self) -> None:
        self._refusing: set[tuple[str, str]] = set()

    async def ask(
        self, messages: list[AnyMessage], route: ModelRoute, ask: Ask, invocation: Invocation, key: str
    ) -> AIMessage:
        """Ask with a conversation; once more with calls in words where they may be why it is refused.

        That is told. Raises what `ask` raises.
        """
        at = (route.provider, route.model)
        if at in self._refusing:
            messages = in_plain_words(messages, route)
        try:
            return await ask(messages)
        except (KeyRefused, ContextOverflow):
            raise
        except ModelRejected as error:
            wanted = _WANTED.search(error.cause) is not None
            plain = in_plain_words(messages, route, of_all=wanted and not _foreign(messages, route))
            made_elsewhere = any(holds_data(m) and not belongs_to(m, route) for m in messages)
            if plain == messages or not (wanted or made_elsewhere):
                raise
            data = {"provider": route.provider, "model": route.model, "cause": error.cause}
            invocation.emit("provider_data_dropped", data, f"{key}:{route.provider}")
            reply = await ask(plain)
        self._refusing.add(at)
        return reply


def in_plain_words(
    messages: Sequence[AnyMessage], route: ModelRoute, *, of_all: bool = False
) -> list[AnyMessage]:
    """Spell the calls that are not of this provider and model in words, and what they returned."""
    spelled: list[AnyMessage] = []
    names: dict[str, str] = {}
    for message in messages:
        if (
            isinstance(message, AIMessage)
            and message.tool_calls
            and (of_all or not belongs_to(message, route))
        ):
            names |= {str(call["id"]): call["name"] for call in message.tool_calls}
            calls = (
                f"[called {call['name']} with {json.dumps(call['args'], ensure_ascii=False)}]"
                for call in message.tool_calls
            )
            spelled.append(AIMessage("\n".join(filter(None, (message.text, *calls))), id=message.id))
        elif isinstance(message, ToolMessage) and message.tool_call_id in names:
            result = f"[{names[message.tool_call_id]} returned]\n{message.text}"
            if names and isinstance(spelled[-1], HumanMessage) and spelled[-1].id == _RESULTS:
                result = f"{spelled.pop().text}\n{result}"
            spelled.append(HumanMessage(result, id=_RESULTS))
        else:
            spelled.append(message)
    return spelled


_RESULTS = "results_in_words"


def _foreign(messages: Sequence[AnyMessage], route: ModelRoute) -> bool:
    replies = (message for message in messages if isinstance(message, AIMessage) and message.tool_calls)
    return any(not belongs_to(message, route) for message in replies)
