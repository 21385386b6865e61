"""Proposals: each is made once, whatever became of it, and decided on once."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime

import pytest

from planwright.domain.errors import RunError
from planwright.domain.lease import Lease
from planwright.domain.memory_proposal import Candidate, Proposal, content_id
from planwright.records.memories import Memory
from planwright.records.stores import Stores

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
TEA = Candidate(said="I prefer tea", text="I prefer tea", tags=("preference",), why="said so")


async def propose(
    stores: Stores, *found: Candidate, run: str = "run_1", tenant: str = "acme"
) -> list[Proposal]:
    return await stores.proposals.propose(lease_of(stores, run, tenant), found, NOW)


def lease_of(stores: Stores, run: str, tenant: str = "acme") -> Lease:
    """Write a run down that this process holds."""
    lease = Lease(tenant, f"thread of {run}", run, 1)
    row = (run, tenant, lease.thread_id)

    def job(connection: sqlite3.Connection) -> None:
        connection.execute(
            "INSERT OR IGNORE INTO runs (run_id, tenant, thread_id, status, request, messages, context,"
            " started_at, lease_token) VALUES (?,?,?,'running','','[]','{}','2026',1)",
            row,
        )

    stores.database.call("run", job)
    return lease


def memory_id(text: str) -> str:
    return content_id(text).replace("prop", "mem")


async def remember(stores: Stores, text: str, run: str = "run_9", tenant: str = "acme") -> None:
    await stores.memories.write(Memory.new(memory_id(text), text, [], NOW), tenant, run)


async def test_a_proposal_names_its_run_its_thread_and_what_was_said(stores: Stores) -> None:
    (made,) = await propose(stores, TEA)
    assert (made.run_id, made.thread_id, made.said) == ("run_1", "thread of run_1", "I prefer tea")
    assert (made.id, made.status, made.tags) == (content_id("I prefer tea"), "proposed", ("preference",))


async def test_the_same_run_proposes_once_also_when_it_would_say_something_else_now(stores: Stores) -> None:
    first = await propose(stores, TEA)
    other = Candidate(said="I prefer coffee", text="I prefer coffee")
    assert await propose(stores, other) == first


@pytest.mark.parametrize(
    "again",
    [
        TEA,
        Candidate(said="i  PREFER tea.", text="I prefer Tea!"),
        Candidate(said="I prefer tea", text="The user likes tea best"),
        Candidate(said="tea, always", text="I prefer tea"),
    ],
)
@pytest.mark.parametrize("fate", ["proposed", "rejected", "accepted"])
async def test_what_was_proposed_once_is_not_proposed_again(
    stores: Stores, again: Candidate, fate: str
) -> None:
    await propose(stores, TEA)
    if fate == "rejected":
        await stores.proposals.reject(content_id("I prefer tea"), "acme", "ann", NOW)
    if fate == "accepted":
        await remember(stores, "I prefer tea")
        await stores.proposals.settle(lease_of(stores, "run_9", "acme"), NOW)
    assert await propose(stores, again, run="run_2") == []


async def test_what_is_remembered_already_is_not_proposed(stores: Stores) -> None:
    await remember(stores, "I prefer tea!")
    await remember(stores, "I prefer tea and quiet")
    new = Candidate(said="I prefer quiet", text="I prefer quiet")
    assert [made.text for made in await propose(stores, TEA, new)] == ["I prefer quiet"]


async def test_words_that_no_search_takes_are_proposed_all_the_same(stores: Stores) -> None:
    odd = Candidate(said="?? !!", text='"NEAR( AND *')
    assert [made.text for made in await propose(stores, odd)] == ['"NEAR( AND *']


async def test_one_sentence_may_hold_two_facts(stores: Stores) -> None:
    said = "I prefer tea and live in Bern"
    found = [Candidate(said=said, text=text) for text in ("I prefer tea", "I live in Bern", "I prefer tea")]
    assert [made.text for made in await propose(stores, *found)] == ["I prefer tea", "I live in Bern"]


async def test_a_tenant_sees_no_proposal_of_another(stores: Stores) -> None:
    await propose(stores, TEA)
    (theirs,) = await propose(stores, TEA, run="run_2", tenant="other")
    await stores.proposals.reject(theirs.id, "other", "eve", NOW)
    assert (await stores.proposals.reject(theirs.id, "acme", "ann", NOW)).decided_by == "ann"


@pytest.mark.parametrize("rejected", [False, True])
async def test_what_a_run_writes_to_memory_is_accepted(stores: Stores, rejected: bool) -> None:
    await propose(stores, TEA)
    if rejected:
        await stores.proposals.reject(content_id("I prefer tea"), "acme", "ann", NOW)
    await remember(stores, "I prefer tea.")
    (made,) = await stores.proposals.settle(lease_of(stores, "run_9", "acme"), NOW)
    assert (made.status, made.memory_id, made.decided_by) == ("accepted", memory_id("I prefer tea"), "run_9")
    assert await stores.proposals.settle(lease_of(stores, "run_9", "acme"), NOW) == [made]
    assert await stores.proposals.settle(lease_of(stores, "run_9", "other"), NOW) == []


async def test_a_proposal_is_decided_on_once(stores: Stores) -> None:
    (made,) = await propose(stores, TEA)
    await stores.proposals.reject(made.id, "acme", "ann", NOW)
    with pytest.raises(RunError, match="is rejected already"):
        await stores.proposals.reject(made.id, "acme", "ben", NOW)
    with pytest.raises(RunError, match="there is no proposal prop_x"):
        await stores.proposals.reject("prop_x", "acme", "ben", NOW)


async def test_a_memory_that_is_forgotten_takes_the_words_of_its_proposal_with_it(stores: Stores) -> None:
    (made,) = await propose(stores, TEA)
    await remember(stores, "I prefer tea")
    await stores.proposals.settle(lease_of(stores, "run_9", "acme"), NOW)
    assert await stores.memories.forget(memory_id("I prefer tea"), "acme", "run_3", "key", NOW)
    (gone,), _ = await stores.proposals.of_run("run_1")
    assert (gone.id, gone.status) == (made.id, "forgotten")
    assert "tea" not in gone.model_dump_json()
    assert await propose(stores, TEA, run="run_4") == []


async def test_a_run_that_wrote_or_forgot_memories_has_dealt_with_its_own(stores: Stores) -> None:
    await remember(stores, "I prefer tea", run="run_1")
    await stores.memories.forget(memory_id("I prefer tea"), "acme", "run_2", "key", NOW)
    await remember(stores, "I prefer tea", run="run_1")
    assert [(await stores.proposals.of_run(f"run_{n}"))[1] for n in (1, 2, 3)] == [True, True, False]
