"""How a conversation is shortened: a model sums up its oldest part, or that part is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.runnables import RunnableConfig

from planwright.domain.errors import ContextOverflow, LimitExceeded, ModelError, SetupError
from planwright.models.calling import Models
from planwright.models.conversation.calls_done import lines_of_calls, newest_lines
from planwright.models.conversation.provider_data import size_of
from planwright.models.conversation.thread_messages import as_fields, of_thread
from planwright.models.model_calls import Prompt
from planwright.prompts import as_data, render
from planwright.settings.context import ContextSettings
from planwright.state.agent_state import AgentState, AgentUpdate, ModelRoute
from planwright.state.compaction import SUMMARY_ID, Compaction, visible_messages
from planwright.state.invocation import Invocation, invocation_of
from planwright.state.loop_budget import LoopBudget
from planwright.state.node import Node

SUMMARY_TOKENS = 1024
ROOM = 2  # a character for the calls that are left out for so many tokens of the rest: an eighth of it


class Shortening:
    """Shorten conversations to what the model of a route can read."""

    def __init__(self, models: Models, limits: ContextSettings) -> None:
        self._models = models
        self._limits = limits

    def once(self, node: Node[AgentState, AgentUpdate]) -> Node[AgentState, AgentUpdate]:
        """Run a node again, with a shorter conversation, whose model says that it was asked too much."""

        async def shortened(state: AgentState, config: RunnableConfig) -> AgentUpdate:
            try:
                return await node(state, config)
            except ContextOverflow:
                before, invocation = state.get("compacted"), invocation_of(config)
                key = f"{shortened.__name__}.context"
                messages = of_thread(state["messages"])
                compacted = await self.of(messages, before, state["route"], invocation, key)
                if compacted == before:
                    raise
                return {"compacted": compacted, **await node({**state, "compacted": compacted}, config)}

        shortened.__name__ = getattr(node, "__name__", "node")
        return shortened

    def needed(
        self, seen: Sequence[AnyMessage], route: ModelRoute, tools: Sequence[Mapping[str, Any]] = ()
    ) -> bool:
        """Say whether a conversation fills more of the context than it should."""
        size = count_tokens_approximately(seen, tools=[dict(tool) for tool in tools])
        size += size_of(seen)
        return not route.embedded and size > self._limits.compact_at * route.context

    async def of(
        self,
        messages: Sequence[AnyMessage],
        compacted: Compaction | None,
        route: ModelRoute,
        invocation: Invocation,
        key: str,
        lanes: Sequence[LoopBudget] = (),
    ) -> Compaction | None:
        """Leave out the oldest part: a model sums it up, or, should it fail, it goes without.

        Returns what was given when there is nothing that may go.
        """
        seen = visible_messages(messages, compacted)
        before = count_tokens_approximately(seen)
        shorter = await self._summed_up(seen, compacted, route, invocation, key, lanes)
        overflowed = before <= self._limits.compact_at * route.context  # the model holds less than is said
        most = int(self._limits.truncate_to * (before if overflowed else route.context))
        if shorter is None or count_tokens_approximately(visible_messages(messages, shorter)) > most:
            shorter = cut_off(messages, compacted, shorter, most)
        if shorter is None or shorter == compacted:
            return compacted
        data = {"by": "model" if shorter.summary else "truncation", "left_out": shorter.left_out}
        after = count_tokens_approximately(visible_messages(messages, shorter))
        invocation.emit("context_compacted", {**data, "tokens_before": before, "tokens_after": after}, key)
        return shorter

    async def _summed_up(
        self,
        seen: list[AnyMessage],
        compacted: Compaction | None,
        route: ModelRoute,
        invocation: Invocation,
        key: str,
        lanes: Sequence[LoopBudget],
    ) -> Compaction | None:
        """Let a model sum up the oldest part; None when it cannot, or when nothing may go."""
        at = boundary(seen, self._limits.compact_oldest)
        if at == 0:
            return None
        prompt = Prompt(
            role="compaction",
            system=render("compaction"),
            user=as_data([as_fields(message) for message in seen[:at]]),
            timeout_s=self._limits.compact_timeout_s,
            max_tokens=SUMMARY_TOKENS,
        )
        try:
            summary = await self._models.complete(route, prompt, invocation, key, lanes)
        except (ModelError, LimitExceeded, SetupError):
            return None
        room = int(self._limits.truncate_to * route.context) // ROOM
        return leaving_out(seen, at, compacted, summary.strip(), room) if summary.strip() else None


def boundary(seen: Sequence[AnyMessage], share: float) -> int:
    """Count how many of the oldest messages may go: about a share, never a call without its results."""
    wanted = int(len(seen) * share)
    places = [place for place in places_to_cut(seen) if place <= wanted]
    return max(places, default=0)


def places_to_cut(seen: Sequence[AnyMessage]) -> list[int]:
    """List where a conversation may begin: never with the result of a call, never after its last message."""
    return [at for at in range(1, len(seen)) if not isinstance(seen[at], ToolMessage)]


def cut_off(
    messages: Sequence[AnyMessage], compacted: Compaction | None, summed: Compaction | None, most: int
) -> Compaction | None:
    """Leave out as little as makes the rest fit, and in the end all but the newest exchange."""
    newest = summed or compacted
    seen, shorter = visible_messages(messages, newest), newest
    for at in places_to_cut(seen):
        shorter = leaving_out(seen, at, newest, newest.summary if newest else "", most // ROOM)
        if count_tokens_approximately(visible_messages(messages, shorter)) <= most:
            break
    return shorter


def leaving_out(
    seen: Sequence[AnyMessage], at: int, before: Compaction | None, summary: str, room: int
) -> Compaction | None:
    """Leave out the first messages of what is seen; the newest request stays, wherever it stands.

    What their calls did is told in at most `room` characters.
    """
    own = [message for message in seen if not str(message.id).startswith(SUMMARY_ID)]
    retained = next((str(message.id) for message in reversed(own) if message.type == "human"), "")
    cut = [str(message.id) for message in own[: at - (len(seen) - len(own))] if message.id != retained]
    if not cut:
        return before
    earlier, done = (before.left_out, before.done) if before else (0, ())
    gone = [message for message in own if str(message.id) in cut]
    done = newest_lines([*done, *lines_of_calls(gone)], room)
    return Compaction(upto=cut[-1], summary=summary, kept=retained, left_out=earlier + len(cut), done=done)
