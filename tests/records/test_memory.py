"""Memory: full text that no query can break."""

from __future__ import annotations

import string
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planwright.records.memories import Memories, Memory
from planwright.records.stores import Stores, open_stores

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ODD = [
    '"', "'", "''", '"berlin', "berlin*", "*", "-office", "office OR", "AND", "NOT NOT", "NEAR(a b, 3)",
    "text:berlin", "{text tags}: x", "^berlin", "a + b", "(((", ")", "\\", "%", "_", "__", "a_b",
    "\0berlin\0", "\ud800", "\ufeff", "²", "日本語", "naïve café", "🧾 invoice",
    "; DROP TABLE memories; --", "a" * 100_000, " ".join(f"w{n}" for n in range(5_000)), "\n\t ", "...",
]  # fmt: skip


@pytest.fixture(scope="module")
def memories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memories]:
    stores = open_stores(Path(tmp_path_factory.mktemp("memory")))
    yield stores.memories
    stores.close()


async def fill(memories: Memories) -> None:
    for id_, tenant, text, tags in (
        ("m1", "acme", "The Berlin office closes at six", ["office"]),
        ("m2", "acme", "Priya pays invoices on Fridays; the office in Berlin knows", ["finance"]),
        ("m3", "acme", "Zürich: parking is in the Straße behind", []),
        ("m4", "other", "The Berlin office of somebody else", []),
    ):
        await memories.write(Memory.new(id_, text, tags, NOW), tenant, "run_1")


@pytest.mark.parametrize("query", ODD, ids=lambda query: ascii(query[:12]))
async def test_an_odd_query_never_raises(memories: Memories, query: str) -> None:
    await fill(memories)
    found = await memories.search(query, "acme", 5)
    assert {memory.id for memory in found} <= {"m1", "m2", "m3"}


@settings(
    max_examples=150,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    query=st.text(
        alphabet=st.one_of(st.sampled_from(string.punctuation + " abAB"), st.characters()), max_size=40
    )
)
async def test_no_text_is_a_query_that_raises(memories: Memories, query: str) -> None:
    await fill(memories)
    assert len(await memories.search(query, "acme", 2)) <= 2


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("berlin", ["m1", "m2"]),
        ("BERLIN office", ["m1", "m2"]),
        ("invoice", ["m2"]),
        ("finance", ["m2"]),
        ("zurich", ["m3"]),
        ("When does the parking open?", ["m3"]),
        ("nothing of the kind", []),
    ],
)
async def test_words_find_the_memories_that_share_them(
    memories: Memories, query: str, expected: list[str]
) -> None:
    await fill(memories)
    found = [memory.id for memory in await memories.search(query, "acme", 5)]
    assert set(expected) <= set(found)
    assert sorted(found[: len(expected)]) == expected


async def test_a_tenant_never_finds_anothers_memories(memories: Memories) -> None:
    await fill(memories)
    assert [memory.id for memory in await memories.search("berlin", "other", 5)] == ["m4"]
    assert await memories.search("berlin", "nobody", 5) == []
    assert [memory.id for memory in await memories.search("", "other", 5)] == ["m4"]


async def test_without_words_the_newest_come_first(memories: Memories) -> None:
    await fill(memories)
    assert [memory.id for memory in await memories.search("?!", "acme", 2)] == ["m3", "m2"]


async def test_the_same_id_again_changes_nothing(stores: Stores) -> None:
    await stores.memories.write(Memory.new("m1", "first", ["a"], NOW), "acme", "run_1")
    await stores.memories.write(Memory.new("m1", "second", [], NOW), "acme", "run_1")
    (found,) = await stores.memories.search("first second", "acme", 5)
    assert (found.text, found.tags, found.created_at) == ("first", ["a"], "2026-11-21T12:00:00+00:00")


@pytest.mark.sqlite
async def test_a_forgotten_memory_is_gone_from_the_index_too(stores: Stores) -> None:
    for id_, text in (("m1", "The alarm code is 1234"), ("m2", "The alarm rings at six")):
        await stores.memories.write(Memory.new(id_, text, ["alarm"], NOW), "acme", "run_1")
    assert await stores.memories.forget("m1", "acme", "run_2", "key-1", NOW)
    assert [found.id for found in await stores.memories.search("code 1234 alarm", "acme", 5)] == ["m2"]
    look = "SELECT count(*) FROM memories_fts WHERE memories_fts MATCH '1234'"
    assert stores.database.call("read", lambda c: c.execute(look).fetchone()[0]) == 0
    check = "INSERT INTO memories_fts (memories_fts, rank) VALUES ('integrity-check', 1)"
    stores.database.call("check", lambda c: c.execute(check).rowcount)


async def test_only_ones_own_memory_is_forgotten_and_once(stores: Stores) -> None:
    await stores.memories.write(Memory.new("m1", "The alarm code is 1234", [], NOW), "acme", "run_1")
    assert not await stores.memories.forget("m1", "other", "run_2", "key-1", NOW)
    assert await stores.memories.forget("m1", "acme", "run_2", "key-2", NOW)
    assert not await stores.memories.forget("m1", "acme", "run_2", "key-3", NOW)
    assert [await stores.memories.forgotten(f"key-{n}") for n in (1, 2, 3)] == [None, "m1", None]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("berlin office", ["m1", "m2"]),
        ("berlin six", ["m1"]),
        ("BERLIN fridays", ["m2"]),
        ("berl", []),
        ("berlin nothing", []),
        ("", []),
        ('" OR "', []),
    ],
)
async def test_memories_that_hold_every_word_are_found(
    memories: Memories, query: str, ids: list[str]
) -> None:
    await fill(memories)
    assert [memory.id for memory in await memories.holding(query, "acme")] == ids
