"""What a model is asked: a prompt of one text, a conversation with tools, and the call either becomes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage

from planwright.models.replies.structured import OutputMode, Schema
from planwright.state.loop_budget import LoopBudget

MAX_TOKENS = 4096
BRIEF_S = 300
LONGEST_REPLY = 20_000  # characters of a reply that its author is shown again


@dataclass(frozen=True)
class Prompt:
    """What a role is told, and what it is to work on."""

    role: str
    """Who asks, such as `planner` or `respond`; it chooses the model and names the call in events."""
    system: str
    """What the role is told, as the system message."""
    user: str
    """What it is to work on, as the user's message."""
    schema: Schema | None = None
    """JSON schema of the answer; None for an answer in words."""
    schema_in_words: bool = False
    """Whether a model that is held to no schema reads it in the system message."""
    aloud: bool = False
    """Whether the reply is streamed to the user."""
    timeout_s: float | None = BRIEF_S
    """Seconds until its reply has to be there, whoever is asked; None for what their settings allow."""
    max_tokens: int = MAX_TOKENS
    """Most tokens of the answer; what a model thinks before it comes on top."""
    temperature: float | None = None
    """Temperature that is asked for; None for that of the provider."""
    capabilities: Sequence[Mapping[str, object]] = ()
    """What the embedded planner reads instead of the system message: capabilities as they are described."""
    turns: Sequence[tuple[str, str]] = ()
    """What it answered before, and what it was told of that: pairs of a reply and the next message."""

    @property
    def messages(self) -> list[AnyMessage]:
        """All of it as a conversation."""
        pairs = ((AIMessage(reply), HumanMessage(next_)) for reply, next_ in self.turns)
        later = [message for pair in pairs for message in pair]
        return [SystemMessage(self.system), HumanMessage(self.user), *later]

    def going_on(self, reply: str, text: str) -> Prompt:
        """Answer a reply with another message; where there is none, the last message says it, too."""
        if reply:
            return replace(self, turns=(*self.turns, (reply[:LONGEST_REPLY], text)))
        if not self.turns:
            return replace(self, user=f"{self.user}\n{text}")
        *before, (last, message) = self.turns
        return replace(self, turns=(*before, (last, f"{message}\n{text}")))


@dataclass(frozen=True)
class ChatPrompt:
    """A conversation that a role goes on with, and the tools that it may call."""

    role: str
    """Who asks, such as `agent`; it chooses the model and names the call in events."""
    messages: list[AnyMessage]
    """The conversation so far, with the system message."""
    tools: Sequence[dict[str, Any]] = ()
    """Tools that the model may call, as the provider spells them; empty for none."""
    place: Mapping[str, Any] | None = None
    """Node as whose words the reply is streamed; None for the present one."""


@dataclass(frozen=True)
class ModelCall:
    """One call as it is made, at whichever provider."""

    role: str
    """Who asks; it chooses the model and names the call in events."""
    messages: list[AnyMessage]
    """Messages that are sent."""
    name: str = ""
    """Name of this one call in events; "" until it is made."""
    ends_at_s: float = math.inf
    """By when its reply has to be there, in seconds of work of its run; infinite for no such limit."""
    schema: Schema | None = None
    """JSON schema of the answer; None for an answer in words."""
    way: OutputMode = "text"
    """How an answer by schema is asked for."""
    schema_in_words: bool = False
    """Whether a model that is held to no schema reads it in the system message."""
    aloud: bool = True
    """Whether the reply is streamed to the user."""
    max_tokens: int = MAX_TOKENS
    """Most tokens of the reply, with those that are thought once the model is known."""
    effort: str = ""
    """How much the model is to think for this call; "" for as much as is set for its provider."""
    temperature: float | None = None
    """Temperature that is asked for; None for that of the provider."""
    tools: Sequence[dict[str, Any]] = ()
    """Tools that the model may call, as the provider spells them; empty for none."""
    lanes: Sequence[LoopBudget] = ()
    """Limits of the lanes that the call is made in, from the outermost."""
    place: Mapping[str, Any] | None = None
    """Node as whose words the reply is streamed; None for the present one."""
    capabilities: Sequence[Mapping[str, object]] = ()
    """What the embedded planner reads instead of the system message: capabilities as they are described."""
