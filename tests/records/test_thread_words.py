"""The words of a thread are those of its user on it, and of what it was forked from until then."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from planwright.domain.lease import Lease
from planwright.records.forks import Fork
from planwright.records.runs import Run
from planwright.records.stores import Stores

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def runs(make_run: Callable[..., Run]) -> Callable[[int, str], Run]:
    """Make a run that began a minute after the one before it, with a request of its own."""

    def run(n: int, thread_id: str) -> Run:
        started = (NOON + timedelta(minutes=n)).isoformat()
        made = make_run(f"run_{n}", thread_id)
        return made.model_copy(update={"request": f"request {n}", "started_at": started})

    return run


async def test_a_fork_has_the_words_before_what_was_forked_and_none_after_it(
    stores: Stores, runs: Callable[[int, str], Run]
) -> None:
    def end(lease: Lease) -> None:
        stores.runs.end(lease, "completed", "done", NOON)

    for n in (1, 2, 3):
        end(await stores.leases.take(runs(n, "first"), 60))
    for n, thread, source in ((4, "fork", "run_2"), (5, "fork of the fork", "run_4")):
        fork = Fork(run_id=f"run_{n}", source_run=source, task={"task": "Do it"})
        await stores.forks.begin(runs(n, thread), fork, [], NOON)
        end(await stores.leases.take(runs(n, thread), 60))
    assert await stores.runs.words_of("first") == "request 3\n\nrequest 2\n\nrequest 1"
    assert await stores.runs.words_of("fork") == "request 4\n\nrequest 2\n\nrequest 1"
    twice = "request 5\n\nrequest 4\n\nrequest 2\n\nrequest 1"
    assert await stores.runs.words_of("fork of the fork") == twice
    assert await stores.runs.words_of("elsewhere") == ""
