"""What the user asked to be remembered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Guide
from planwright.capabilities.declaration import capability
from planwright.capabilities.descriptions import MISSING, ArgumentDescription, Deed
from planwright.domain.errors import CapabilityRejected
from planwright.domain.plan import Compensation
from planwright.records.memories import Memory

_MEMORIES = ("memories",)


class Forgotten(BaseModel):
    """A memory that is gone; what it said is not told again."""

    id: str
    """Id of the memory that is gone."""
    forgotten: bool = True
    """Always true: no call returns otherwise."""


class MemoryMatches(BaseModel):
    """Memories, best match first."""

    model_config = ConfigDict(title="Found")
    matches: list[Memory]
    """Memories that match."""
    count: int
    """Number of those memories."""


@capability(
    "memory.search",
    mode="read_only",
    tags=("memory", "remember", "recall", "know", "told"),
    guide=Guide("Finds what was remembered earlier.", ("What do you remember about the Berlin office?",), 20),
    reads=_MEMORIES,
)
async def search(
    query: Annotated[str, Field(description="words to look for")],
    call: CallContext,
    limit: Annotated[int, Field(ge=1, le=100)] = 5,
) -> MemoryMatches:
    """Search what the user asked to be remembered."""
    matches = await call.memories.search(query, call.tenant, limit)
    return MemoryMatches(matches=matches, count=len(matches))


@capability(
    "memory.write",
    mode="local_write",
    risk="Medium",
    effect="idempotent",
    tags=("memory", "remember", "memorize", "note"),
    guide=Guide("Keeps one fact for later.", ("Remember that the Berlin office closes at six",), 20),
    compensation=Compensation(capability="memory.forget", params={"id": "{{output.id}}"}),
    trusted_result=True,
    deed=Deed("remember", "fact"),
    adds=_MEMORIES,
)
async def write(
    text: Annotated[str, Field(description="the fact to keep, as the user said it", min_length=1)],
    call: CallContext,
    tags: list[str] = [],  # noqa: B006 - pydantic copies defaults
) -> Memory:
    """Remember a fact for later conversations."""
    id_ = f"mem_{call.idempotency_key[:12]}"
    memory = Memory.new(id_, text, tags, call.now())
    return await call.memories.write(memory, call.tenant, call.run_id, call.lease)


async def _described(args: Mapping[str, JsonValue], call: CallContext) -> Mapping[str, ArgumentDescription]:
    """Say which memory is meant, by what it says: named by its id, or by words that it alone holds."""
    if isinstance(id_ := args.get("id"), str):
        memory = await call.memories.read(id_, call.tenant)
        return {"id": ArgumentDescription(memory.text) if memory else MISSING}
    if not isinstance(query := args.get("query"), str):
        return {}
    matches = await call.memories.holding(query, call.tenant)
    if len(matches) == 1:
        return {"query": ArgumentDescription(f"{matches[0].id}, {matches[0].text}")}
    return {"query": ArgumentDescription(f"{len(matches) or 'no'} memories hold all of it", missing=True)}


@capability(
    "memory.forget",
    mode="local_write",
    risk="High",
    effect="idempotent",
    tags=("memory", "forget", "unlearn"),
    guide=Guide(
        "Deletes one fact for good, by `id`, or by words that only one fact holds all of.",
        ("Forget that the Berlin office closes at six",),
        22,
    ),
    trusted_result=True,
    deed=Deed("forget", "fact"),
    describe=_described,
    writes=_MEMORIES,
)
async def forget(
    call: CallContext,
    id: Annotated[str | None, Field(description="the id of a memory, as memory.search tells it")] = None,
    query: Annotated[str | None, Field(description="words that only this memory holds")] = None,
) -> Forgotten:
    """Forget one remembered fact for good."""
    if (id is None) == (query is None):
        raise CapabilityRejected("either an id or a query says what to forget", "name one of them")
    memories, key = call.memories, call.idempotency_key
    if done := await memories.forgotten(key):
        return Forgotten(id=done)
    if id is None:
        id = await _the_one(query or "", call)
    if not await memories.forget(id, call.tenant, call.run_id, key, call.now(), call.lease):
        raise CapabilityRejected(f"there is no memory {id}", "find it with: memory.search")
    return Forgotten(id=id)


async def _the_one(query: str, call: CallContext) -> str:
    """Find the one memory that holds all words of a query. Raises CapabilityRejected for none or several."""
    matches = await call.memories.holding(query, call.tenant)
    if len(matches) != 1:
        lines = "".join(f"\n  {memory.id}: {memory.text[:80]}" for memory in matches[:5])
        raise CapabilityRejected(
            f"{len(matches) or 'no'} memories hold all of {query!r}{lines}", "name one by its id"
        )
    return matches[0].id
