"""What a delegation answers: the question of its mode and of its risk, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.capabilities.policy.consent import Judgement, judge
from planwright.capabilities.policy.file import default_policy, read_policy
from planwright.domain.risk import Risk
from planwright.records.consent.delegations import Delegations, Period, Reach

MakeWorld = Callable[..., CallContext]
ASK = '[[rule]]\nmatch.capability = "pay.*"\ndecide = "ask"\n[[rule]]\ndecide = "ask"\n'
DENY = ASK.replace('"ask"', '"deny"', 1)
QUORUM = '[[rule]]\ndecide = "ask"\nquorum = 2\n'


def declare(mode: Any = "delegated", risk: Risk = "High", **more: Any) -> Capability:
    def refund(order: str = "A-7") -> str:
        """Pay back."""
        return order

    return capability("pay.refund", mode=mode, risk=risk, effect="idempotent", **more)(refund)


def judged(
    make_world: MakeWorld, folder: Path, found: Capability, policy: str = "", **more: Any
) -> Judgement:
    """Judge a call after somebody has delegated `pay.*` up to High."""
    context, kept = make_world(), Delegations(folder)
    now = context.now()
    kept.issue(Reach(["pay.*"]), "High", "ada", Period(now, now + timedelta(hours=1)), tenant=context.tenant)
    rules = read_policy(policy, Path("policy.toml")) if policy else default_policy()
    risk = more.pop("estimated", None)
    world = CallContext(**{**vars(context), "policy": rules, "delegations": kept, **more})
    return judge(found, {"order": "A-7"}, world, "Medium", risk=risk)


def test_without_a_delegation_a_delegated_call_asks_at_its_own_gate(make_world: MakeWorld) -> None:
    asked = judge(declare(), {}, make_world(), "Medium")
    assert (asked.asks, asked.own_gate) == (True, True)


def test_in_scope_nobody_is_asked_and_the_reason_names_who_answers_for_it(
    make_world: MakeWorld, tmp_path: Path
) -> None:
    free = judged(make_world, tmp_path, declare())
    assert (free.asks, free.own_gate, free.denied) == (False, False, False)
    assert free.reason.startswith("delegated by ada until")


@pytest.mark.parametrize("mode", ["destructive", None])
def test_nothing_destructive_can_be_delegated(make_world: MakeWorld, tmp_path: Path, mode: Any) -> None:
    asked = judged(make_world, tmp_path, declare(mode))
    assert (asked.asks, asked.own_gate) == (True, True)


@pytest.mark.parametrize(
    ("more", "policy"),
    [
        ({"tenant": "other"}, ""),
        ({"tainted": True}, ""),
        ({"estimated": "Critical"}, ""),
        ({}, ASK),
        ({}, QUORUM),
    ],
    ids=["another tenant", "after reading", "graver than declared", "a rule asks", "two people"],
)
def test_out_of_scope_a_person_is_asked(
    make_world: MakeWorld, tmp_path: Path, more: dict[str, Any], policy: str
) -> None:
    assert judged(make_world, tmp_path, declare(), policy, **more).asks


def test_graver_than_delegated_asks_and_a_deny_stays_a_deny(make_world: MakeWorld, tmp_path: Path) -> None:
    assert judged(make_world, tmp_path, declare(risk="Critical")).own_gate
    assert judged(make_world, tmp_path, declare(), DENY).denied
