"""A blocking call is late and goes on: nobody can say that it has not happened, until it has ended."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

import pytest

from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.clock import utc_now
from planwright.domain.errors import GateError, RunError
from planwright.domain.plan import Compensation
from planwright.domain.risk import Effect
from planwright.graph.agent import Agent
from planwright.records.consent.gate import Decision
from planwright.records.effects.late_calls import ENDED
from planwright.records.records import Records, open_records
from tests.opened_store import store_url
from tests.patience import PATIENCE_S
from tests.scenarios.conftest import Scene

pytestmark = pytest.mark.long

LATE_S = 0.5


class Bank:
    """A receiver that takes its time with the first payment, in a thread or in spite of being cancelled."""

    def __init__(self) -> None:
        self.goes_on = threading.Event()
        self.ended = threading.Event()
        self.paid: list[str] = []

    def pay(self, name: str) -> str:
        """Pay, when it goes on."""
        self.goes_on.wait(PATIENCE_S)
        self.paid.append(name)
        self.ended.set()
        return name

    async def pay_heedlessly(self, name: str) -> str:
        """Pay, when it goes on, whoever cancels it."""
        while not self.goes_on.is_set():
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)
        return self.pay(name)


@pytest.fixture
def bank() -> Iterator[Bank]:
    opened = Bank()
    yield opened
    opened.goes_on.set()


def slow(bank: Bank, effect: Effect, heedless: bool = False) -> Capability:
    """Declare a payment that is soon late; a queryable one is looked up in what was paid."""

    @capability("bank.paid", mode="read_only", trusted_result=True)
    def paid(name: str) -> str | None:
        """Look a payment up."""
        return name if name in bank.paid else None

    lookup = paid.function if effect == "queryable" else None
    declare = capability(
        "bank.pay", mode="local_write", effect=effect, timeout_s=LATE_S, trusted_result=True, lookup=lookup
    )
    return declare(bank.pay_heedlessly if heedless else bank.pay)


def late(scene: Scene, bank: Bank, effect: Effect, heedless: bool = False) -> tuple[Agent, str]:
    """Run a plan whose payment is late; return the agent and the gate that asks about it."""
    plan = scene.plan(scene.step("s1", "bank.pay", timeout_s=LATE_S))
    options: dict[str, Any] = {"capabilities": [slow(bank, effect, heedless)]}
    options |= {"planning": {"replan_budget": 0}}
    agent = scene.agent(plan, "the answer", "the answer", approval={"plan": "never"}, **options)
    scene.ask(agent)
    ((gate),) = scene.rows("SELECT gate_id FROM gates WHERE kind = 'escalation' AND status = 'open'")
    return agent, str(gate["gate_id"])


def deny(records: Records, gate_id: str) -> None:
    """Say that the payment has not happened, as another process would."""
    no = Decision(answer="approve", decided_by="ada", channel="cli")
    asyncio.run(records.gates.decide(gate_id, no, utc_now()))


def elsewhere(scene: Scene) -> Records:
    """Open the records alone."""
    return open_records(scene.workspace / ".planwright", url=store_url())


def status(scene: Scene) -> str:
    ((row),) = scene.rows("SELECT status FROM effects")
    return str(row["status"])


@pytest.mark.parametrize("heedless", [False, True])
@pytest.mark.parametrize("effect", ["blind", "queryable"])
def test_what_still_runs_cannot_be_said_not_to_have_happened(
    scene: Scene, bank: Bank, effect: Effect, heedless: bool
) -> None:
    agent, gate_id = late(scene, bank, effect, heedless)
    with closing(elsewhere(scene)) as records:
        with pytest.raises(GateError, match=r"this may still be sent: bank\.pay"):
            deny(records, gate_id)
        assert status(scene) == "intent"
        bank.goes_on.set()
        assert bank.ended.wait(PATIENCE_S)
        wait_until_in_doubt(scene)
        with pytest.raises(
            GateError, match=r"(?s)has ended since: bank\.pay.*look again whether it happened"
        ):
            deny(records, gate_id)
        assert status(scene) == "in_doubt"
        deny(records, gate_id)
    scene.recover(agent)
    assert bank.paid == [
        "s1",
        "s1",
    ]  # as somebody said, who was to look again, that the first had not happened


def test_a_card_shows_that_what_was_sent_has_ended(scene: Scene, bank: Bank) -> None:
    agent, _ = late(scene, bank, "blind")
    bank.goes_on.set()
    wait_until_in_doubt(scene)
    with pytest.raises(GateError, match="look again whether it happened"):
        scene.decide(agent, "approve")
    (gate,) = scene.recover(agent)["__interrupt__"]
    (effect,) = gate.value["shown"]["effects"]
    assert (effect["still_sent_by"], effect["why"]) == ("", ENDED)
    assert scene.decide(agent, "respond", "seen at the bank")["status"] == "completed"


def wait_until_in_doubt(scene: Scene) -> None:
    """Wait for the record that follows the end of a thread."""
    pause = threading.Event()
    for _ in range(int(PATIENCE_S / 0.01)):
        if status(scene) == "in_doubt":
            return
        pause.wait(0.01)
    raise AssertionError("the end of the call was never written down")


def test_what_still_runs_is_owned_by_its_process_after_its_agent_is_closed(scene: Scene, bank: Bank) -> None:
    agent, gate_id = late(scene, bank, "blind")
    agent.close()
    with closing(elsewhere(scene)) as records, pytest.raises(GateError, match="this may still be sent"):
        deny(records, gate_id)


def test_what_happened_while_it_ran_is_told_once(scene: Scene, bank: Bank) -> None:
    agent, _ = late(scene, bank, "blind")
    output = scene.decide(agent, "respond", "seen at the bank")
    bank.goes_on.set()
    assert bank.ended.wait(PATIENCE_S)
    assert (output["status"], status(scene)) == ("completed", "done")
    assert bank.paid == ["s1"]


def test_the_end_is_written_down_in_a_store_that_was_opened_again(scene: Scene, bank: Bank) -> None:
    plan = scene.plan(scene.step("s1", "bank.pay", timeout_s=LATE_S))
    options: dict[str, Any] = {"capabilities": [slow(bank, "blind")], "planning": {"replan_budget": 0}}
    agent = scene.agent(plan, "the answer", approval={"plan": "never"}, **options)
    agent.stores.close()
    scene.ask(agent)
    assert status(scene) == "intent"
    bank.goes_on.set()
    wait_until_in_doubt(scene)


def test_what_still_runs_is_not_undone(scene: Scene, bank: Bank) -> None:
    undo = Compensation(capability="work.wipe", params={"name": "s1"})
    paying = replace(slow(bank, "blind"), compensation=undo)
    plan = scene.plan(scene.step("s1", "bank.pay", timeout_s=LATE_S))
    options: dict[str, Any] = {"capabilities": [paying], "planning": {"replan_budget": 0}}
    agent = scene.agent(plan, "the answer", approval={"plan": "never"}, **options)
    scene.ask(agent)
    scene.decide(agent, "reject", "leave it")
    with pytest.raises(RunError, match="may still be sending it: wait for its end"):
        agent.undo(scene.thread)
    bank.goes_on.set()
    assert undone_once_it_ended(agent, scene.thread)


def undone_once_it_ended(agent: Agent, thread: str) -> Any:
    """Undo a run as soon as its late call has ended; its row is in doubt since the run ended."""
    pause = threading.Event()
    for _ in range(int(PATIENCE_S / 0.01)):
        try:
            return agent.undo(thread)
        except RunError as error:
            if "wait for its end" not in str(error):
                raise
        pause.wait(0.01)
    raise AssertionError("the end of the call was never seen")


@pytest.mark.parametrize("words", ["it did not happen", "No", "nothing was paid", "did_not_happen"])
def test_words_that_say_no_are_not_taken_for_a_result(scene: Scene, bank: Bank, words: str) -> None:
    agent, _ = late(scene, bank, "blind")
    bank.goes_on.set()
    wait_until_in_doubt(scene)
    with pytest.raises(GateError, match=r"(?s)would be written down as what .* brought.*--not-happened"):
        scene.decide(agent, "respond", words)
    assert status(scene) == "in_doubt"
    assert scene.decide(agent, "respond", "seen at the bank")["status"] == "completed"


def test_a_call_that_ends_after_its_agent_was_closed_can_be_decided_over(scene: Scene, bank: Bank) -> None:
    agent, gate_id = late(scene, bank, "blind")
    agent.close()
    bank.goes_on.set()
    assert bank.ended.wait(PATIENCE_S)
    pause = threading.Event()
    with closing(elsewhere(scene)) as records:
        for _ in range(int(PATIENCE_S / 0.01)):
            with suppress(GateError):
                deny(records, gate_id)
                break
            pause.wait(0.01)
    ((gate),) = scene.rows("SELECT status FROM gates WHERE gate_id = ?", gate_id)
    assert gate["status"] == "approved"
