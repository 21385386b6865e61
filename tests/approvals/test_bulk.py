"""Many gates approved at once: each by itself, and only as it was listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from langgraph.types import Command

from planwright.approvals.bulk import BulkApprovals
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.run_context import RunContext
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.settings.settings import load

Ask = Callable[..., str]


class Clock:
    """A clock that a test sets forward."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 21, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def done() -> list[str]:
    """What the capabilities have done."""
    return []


@pytest.fixture
def own(done: list[str]) -> list[Capability]:
    """A call that asks at its plan, and one that asks at a gate of its own, too."""

    @capability("work.write", mode="local_write", effect="idempotent", risk="Medium")
    def write(name: str) -> str:
        """Write a thing."""
        if name == "broken":
            raise ValueError("it does not work")
        done.append(name)
        return name

    @capability("disk.wipe", mode="destructive", effect="idempotent")
    def wipe(name: str) -> str:
        """Wipe a disk."""
        done.append(name)
        return name

    return [write, wipe]


@pytest.fixture
def agent(tmp_path: Path, own: list[Capability], clock: Clock) -> Iterator[Agent]:
    settings = load(tmp_path, approval={"depth": "plan"})
    with build_graph(settings, capabilities=own, clock=clock) as agent:
        yield agent


@pytest.fixture
def ask(agent: Agent) -> Ask:
    """Ask for one call, and return the thread on which it waits."""

    def begin(name: str, capability: str = "work.write", tenant: str = "default") -> str:
        context = RunContext(tenant=tenant)
        config = agent.call(capability, {"name": name}, context=context)
        assert agent.invoke(None, config, context=context)["__interrupt__"]
        return str(config["configurable"]["thread_id"])

    return begin


def test_all_that_calls_it_is_approved_and_run(agent: Agent, ask: Ask, done: list[str]) -> None:
    threads = [ask("a"), ask("b"), ask("c", "disk.wipe")]
    bulk = agent.approve_all("work.*", by="kim")
    assert [(outcome.gate.thread_id, outcome.run_status) for outcome in bulk.approved] == [
        (threads[0], "completed"),
        (threads[1], "completed"),
    ]
    assert (bulk.left, done) == ((), ["a", "b"])
    assert [(outcome.did, outcome.waits) for outcome in bulk.outcomes[:2]] == [
        (('work.write "a"',), ()),
        (('work.write "b"',), ()),
    ]
    gates = agent.loop.call(lambda: agent.stores.gates.of_run(bulk.outcomes[0].gate.run_id))
    assert [(gate.decided_by, gate.channel) for gate in gates] == [("kim", "python")]


def test_a_destructive_call_asks_at_its_own_gate_again(agent: Agent, ask: Ask, done: list[str]) -> None:
    ask("disk", "disk.wipe")
    for status in ("waiting", "completed"):
        (outcome,) = agent.approve_all("disk.wipe").outcomes
        assert (outcome.end, outcome.run_status, outcome.problem) == ("approved", status, "")
        if status == "waiting":
            (waits,) = outcome.waits
            assert (waits.endswith(": disk.wipe"), outcome.did) == (True, ())
    assert (done, outcome.did, outcome.waits) == (["disk"], ('disk.wipe "disk"',), ())


def test_other_tenants_are_left_alone(agent: Agent, ask: Ask, done: list[str]) -> None:
    ask("mine"), ask("theirs", tenant="acme")
    assert len(agent.approve_all("work.write").approved) == 1
    assert agent.approve_all("work.write", tenant="other").outcomes == ()
    assert done == ["mine"]
    assert len(agent.approve_all("work.write", tenant="ac*").approved) == 1
    assert done == ["mine", "theirs"]


def test_a_run_that_fails_after_its_approval_is_approved_and_failed(agent: Agent, ask: Ask) -> None:
    ask("broken"), ask("fine")
    first, second = agent.approve_all("work.*").outcomes
    assert (first.end, second.end, second.run_status) == ("approved", "approved", "completed")
    assert first.run_status != "completed"


def bulk_of(agent: Agent) -> BulkApprovals:
    return BulkApprovals(agent, agent.stores)


def approve_after(agent: Agent, change: Callable[[str], object]) -> tuple[str, str]:
    """List one gate, change something, and approve what was listed; returns end and problem."""
    bulk = bulk_of(agent)
    (gate,) = agent.loop.call(lambda: bulk.pending("work.*", {})).gates
    change(gate.thread_id)
    outcome = agent.loop.call(lambda: bulk.approve(gate, {"by": "kim"}))
    return outcome.end, outcome.problem


def test_a_gate_that_expired_after_it_was_listed_is_not_approved(
    agent: Agent, ask: Ask, clock: Clock, done: list[str]
) -> None:
    ask("late")

    def wait(_: str) -> None:
        clock.now += timedelta(days=9)

    end, problem = approve_after(agent, wait)
    assert (end, done) == ("refused", [])
    assert "expired at" in problem


def test_an_expired_gate_is_left_and_stays_open_until_somebody_decides(
    agent: Agent, ask: Ask, clock: Clock
) -> None:
    thread = ask("late")
    clock.now += timedelta(days=9)
    bulk = agent.approve_all("work.*")
    assert bulk.outcomes == ()
    assert "expired at" in bulk.left[0].problem
    assert len(agent.loop.call(lambda: agent.stores.gates.of_thread(thread))) == 1


def test_a_gate_that_somebody_else_decided_is_not_approved(agent: Agent, ask: Ask, done: list[str]) -> None:
    ask("x")

    def reject(thread: str) -> None:
        answer: Command[str] = Command(resume={"type": "reject", "decided_by": "sam"})
        agent.invoke(answer, {"configurable": {"thread_id": thread}})

    end, problem = approve_after(agent, reject)
    assert (end, done) == ("refused", [])
    assert "nothing on thread" in problem


@pytest.mark.parametrize("column", ["card_hash", "shown_hash"])
def test_a_gate_that_shows_something_else_is_not_approved(
    agent: Agent, ask: Ask, done: list[str], column: str
) -> None:
    ask("x")

    def change(_: str) -> None:
        statement = f"UPDATE gates SET {column} = '{'b' * 64}'"
        agent.loop.call(lambda: agent.stores.database.run("change", lambda c: c.execute(statement)))

    end, problem = approve_after(agent, change)
    assert (end, done) == ("refused", [])
    assert "shows something else than was listed" in problem


def test_an_approval_of_several_counts_and_says_so(tmp_path: Path, own: list[Capability]) -> None:
    rule = '[[rule]]\nmatch.capability = "work.*"\ndecide = "ask"\nquorum = 2\n[[rule]]\ndecide = "allow"\n'
    (tmp_path / "policy.toml").write_text(rule, "utf-8")
    settings = load(tmp_path, approval={"depth": "plan"})
    with build_graph(settings, capabilities=own) as strict:
        config = strict.call("work.write", {"name": "x"})
        strict.invoke(None, config)
        assert strict.approve_all("work.*", by="kim").approved
        (outcome,) = strict.approve_all("work.*", by="kim").outcomes
        assert (outcome.end, outcome.problem) == ("counted", "more people have to approve")
        (left,) = strict.approve_all("work.*", by="kim").left
        assert "kim has approved" in left.problem
        (outcome,) = strict.approve_all("work.*", by="sam").outcomes
        assert (outcome.end, outcome.run_status) == ("approved", "completed")


def test_nothing_that_waits_is_nothing_to_approve(agent: Agent) -> None:
    bulk = agent.approve_all("*")
    assert (bulk.outcomes, bulk.left) == ((), ())
