"""A conversation that is too long for its model: what is left out, and what stands in its place.

Nothing is deleted. The messages stay on their thread; the model sees what `within` returns.
"""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AnyMessage, HumanMessage
from pydantic import BaseModel, ConfigDict

SUMMARY_ID = "summary_until_"


class Compaction(BaseModel):
    """The messages up to the one with the id `upto` are left out, all but `kept`; `summary` tells of them."""

    model_config = ConfigDict(frozen=True)
    upto: str
    """Id of the last message that is left out."""
    summary: str = ""
    """What a model says of the messages left out; "" where they were cut off without one."""
    kept: str = ""
    """Id of the message with the request, which stays though it is among the old; "" for none."""
    left_out: int = 0
    """How many messages are left out by now, over all shortenings."""
    done: tuple[str, ...] = ()
    """What the calls among them did and brought, one a line, by what is on record and not by a model."""


def visible_messages(messages: Sequence[AnyMessage], compacted: Compaction | None) -> list[AnyMessage]:
    """List what a model sees of a conversation: the summary, the request if it is among the old, the rest."""
    ids = [message.id for message in messages]
    if compacted is None or compacted.upto not in ids:
        return list(messages)
    start = ids.index(compacted.upto) + 1
    summary_text = compacted.summary or f"{compacted.left_out} earlier messages are left out here."
    done = f"\n[Done so far, by the record]\n{chr(10).join(compacted.done)}" if compacted.done else ""
    summary = HumanMessage(
        f"[Summary of the conversation so far] {summary_text}{done}", id=f"{SUMMARY_ID}{compacted.upto}"
    )
    return [summary, *(m for m in messages[:start] if m.id == compacted.kept), *messages[start:]]
