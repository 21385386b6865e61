"""Delegated calls through the whole graph: in a loop and in a plan, in scope, expired, revoked; and modes."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.run_context import RunContext
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.records.consent.delegations import Delegations, Period, Reach
from planwright.settings.settings import load

STEP = {"id": "s1", "capability": "pay.refund", "params": {"order": "A-7"}}


@pytest.fixture
def made() -> list[str]:
    """The orders that were paid back."""
    return []


@pytest.fixture
def refund(made: list[str]) -> Capability:
    """A delegated capability that keeps what it did."""

    @capability("pay.refund", mode="delegated", effect="idempotent", trusted_result=True)
    def refund(order: str) -> str:
        """Pay an order back."""
        made.append(order)
        return order

    return refund


class Desk:
    """One workspace with one delegated capability, and its agents."""

    def __init__(self, folder: Path, refund: Capability) -> None:
        self.folder = folder
        self.kept = Delegations(load(folder).store_folder)
        self.more = [refund]
        self._open: list[Any] = []

    def delegate(self, hours: float = 1, *names: str) -> str:
        """Delegate for so many hours; for less than none it has expired."""
        start = datetime.now(UTC) - timedelta(days=1)
        until = datetime.now(UTC) + timedelta(hours=hours)
        return self.kept.issue(Reach(names or ("pay.*",)), "High", "ada", Period(start, until)).id

    def ask(self, *replies: Any, planning: str = "auto", modes: Any = None) -> dict[str, Any]:
        """Send one request, and return what came out of it."""
        model = ScriptedModel(replies=list(replies))
        settings = load(self.folder, planning={"mode": planning})
        agent = build_graph(settings, model=model, capabilities=self.more)
        self._open.append(agent)
        out: dict[str, Any] = agent.invoke(
            {"messages": [("user", "Pay A-7 back")]},
            {"configurable": {"thread_id": str(uuid.uuid4())}},
            context=RunContext(modes=modes),
        )
        return out

    def close(self) -> None:
        """Close the agents."""
        for agent in self._open:
            agent.close()


@pytest.fixture
def desk(tmp_path: Path, refund: Capability) -> Iterator[Desk]:
    """A workspace, closed with the test."""
    opened = Desk(tmp_path, refund)
    yield opened
    opened.close()


def call() -> dict[str, Any]:
    return {"content": "", "tool_calls": [{"name": "pay__refund", "args": {"order": "A-7"}, "id": "c1"}]}


def plan() -> str:
    return json.dumps({"goal": "Pay it back", "steps": [STEP]})


def test_what_is_delegated_is_done_without_asking(desk: Desk, made: list[str]) -> None:
    desk.delegate()
    assert desk.ask(call(), "Paid back.")["status"] == "completed"
    assert desk.ask(plan(), "Paid back.", planning="always")["status"] == "completed"
    assert made == ["A-7", "A-7"]


def test_what_has_expired_is_revoked_or_names_others_asks_a_person(desk: Desk, made: list[str]) -> None:
    desk.delegate(-1)
    desk.delegate(1, "fax.*")
    desk.kept.revoke(desk.delegate())
    asked = desk.ask(call(), "Paid back.")["__interrupt__"][0].value
    assert (asked["kind"], asked["channel"]) == ("step", "python")
    assert desk.ask(plan(), "Paid back.", planning="always")["__interrupt__"][0].value["kind"] == "plan"
    assert made == []


def test_what_is_revoked_while_its_plan_runs_is_asked_for(desk: Desk, made: list[str]) -> None:
    token = desk.delegate()

    @capability("pay.prepare", mode="read_only", trusted_result=True)
    def prepare() -> str:
        """Prepare the payment."""
        return desk.kept.revoke(token).id

    desk.more.append(prepare)
    first = {"id": "s0", "capability": "pay.prepare", "params": {}}
    steps = [first, {**STEP, "depends_on": ["s0"]}]
    out = desk.ask(json.dumps({"goal": "Pay", "steps": steps}), "Paid back.", planning="always")
    shown = out["__interrupt__"][0].value["shown"]
    assert "pay.refund" in json.dumps(shown)
    assert made == []


def test_a_mode_that_a_run_may_not_use_is_neither_offered_nor_called(desk: Desk, made: list[str]) -> None:
    desk.delegate()
    refused = desk.ask(plan(), planning="always", modes=("read_only", "local_write"))
    assert refused["status"] == "refused"
    assert "not_permitted" in refused["answer"]
    assert (
        "pay.refund: it is delegated, and the modes it may use are read_only, local_write"
        in (refused["answer"])
    )
    ended = desk.ask(call(), "I cannot.", modes=("read_only",))
    assert ended["answer"] == "I cannot."
    assert made == []
