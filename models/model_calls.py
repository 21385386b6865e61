"""What a model is asked: a prompt of one text, a conversation with tools, and the call either becomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AnyMessage

from planwright.models.replies.structured import OutputMode, Schema
from planwright.state.loop_budget import LoopBudget

MAX_TOKENS = 4096


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
    timeout_s: float = 60
    """Seconds that one reply may take."""
    max_tokens: int = MAX_TOKENS
    """Most tokens of the reply."""
    temperature: float | None = None
    """Temperature that is asked for; None for that of the provider."""
    capabilities: Sequence[Mapping[str, object]] = ()
    """What the embedded planner reads instead of the system message: capabilities as they are described."""


@dataclass(frozen=True)
class ChatPrompt:
    """A conversation that a role goes on with, and the tools that it may call."""

    role: str
    """Who asks, such as `agent`; it chooses the model and names the call in events."""
    messages: list[AnyMessage]
    """The conversation so far, with the system message."""
    tools: Sequence[dict[str, Any]] = ()
    """Tools that the model may call, as the provider spells them; empty for none."""
    timeout_s: float = 120
    """Seconds that the reply may take."""
    place: Mapping[str, Any] | None = None
    """Node as whose words the reply is streamed; None for the present one."""


@dataclass(frozen=True)
class ModelCall:
    """One call as it is made, at whichever provider."""

    role: str
    """Who asks; it chooses the model and names the call in events."""
    messages: list[AnyMessage]
    """Messages that are sent."""
    timeout_s: float
    """Seconds that the reply may take."""
    schema: Schema | None = None
    """JSON schema of the answer; None for an answer in words."""
    way: OutputMode = "text"
    """How an answer by schema is asked for."""
    schema_in_words: bool = False
    """Whether a model that is held to no schema reads it in the system message."""
    aloud: bool = True
    """Whether the reply is streamed to the user."""
    max_tokens: int = MAX_TOKENS
    """Most tokens of the reply."""
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
