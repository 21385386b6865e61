"""What the user asked to be remembered."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.capability import Guide, capability
from planwright.checkpoints.memory import Memory


class Found(BaseModel):
    """Memories, best match first."""

    matches: list[Memory]
    count: int


@capability(
    "memory.search",
    mode="read_only",
    tags=("memory", "remember", "recall", "know", "told"),
    guide=Guide("Finds what was remembered earlier.", ("What do you remember about the Berlin office?",), 20),
)
async def search(
    query: Annotated[str, Field(description="words to look for")], call: CallContext, limit: int = 5
) -> Found:
    """Search what the user asked to be remembered."""
    matches = await call.memories.search(query, call.tenant, limit)
    return Found(matches=matches, count=len(matches))


@capability(
    "memory.write",
    mode="local_write",
    risk="Medium",
    effect="idempotent",
    tags=("memory", "remember", "memorize", "note"),
    guide=Guide("Keeps one fact for later.", ("Remember that the Berlin office closes at six",), 20),
)
async def write(
    text: Annotated[str, Field(description="the fact to keep, as the user said it", min_length=1)],
    call: CallContext,
    tags: list[str] = [],  # noqa: B006 - pydantic copies defaults
) -> Memory:
    """Remember a fact for later conversations."""
    id_ = f"mem_{call.idempotency_key[:12]}"
    return await call.memories.write(id_, call.tenant, call.run_id, text, tags, call.now())
