"""A pin names what a step calls and the rules that matter for it: rules about others come and go."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.declaration import capability
from planwright.capabilities.gateway.pins import pin_now
from planwright.capabilities.policy.decisions import DecisionSpec
from planwright.capabilities.policy.file import Policy, read_policy
from planwright.capabilities.registry import Registry
from planwright.domain.plan import PlanStep
from planwright.domain.verified_step import VerifiedStep

LAST = '[[rule]]\ndecide = "ask"\n'
OWN = '[[rule]]\nmatch.capability = "post.*"\ndecide = "allow"\n'
GATES = "[gates.finance]\nquorum = 1\n"


@capability("post.send", mode="network", risk="Medium", destinations=("to",))
def send(to: str) -> str:
    """Send something."""
    return to


@capability("post.read", mode="read_only", risk="None")
def read(name: str) -> str:
    """Read something."""
    return name


REGISTRY = Registry([send, read])


def policy(*rules: str, gates: str = "") -> Policy:
    return read_policy("".join([*rules, LAST, gates]), Path("policy.toml"))


def step(**fields: object) -> VerifiedStep:
    planned = PlanStep.model_validate(
        {"id": "s1", "capability": "post.send", "params": {"to": "a"}, **fields}
    )
    return VerifiedStep(
        step=planned, uid="u", needs=(), effect="blind", mode="network", risk="Medium", gated=False
    )


def world(rules: Policy) -> CallContext:
    return cast("CallContext", SimpleNamespace(policy=rules))  # these calls name no file


def pin(rules: Policy, checked: VerifiedStep | None = None) -> str:
    return pin_now(checked or step(), REGISTRY, world(rules))


@pytest.mark.parametrize(
    "other",
    [
        '[[rule]]\nmatch.capability = "mail.*"\ndecide = "deny"\n',
        '[[rule]]\nmatch.mode = "destructive"\ndecide = "deny"\n',
        "# a remark\n",
    ],
)
def test_a_rule_about_others_leaves_the_pin_as_it_is(other: str) -> None:
    assert pin(policy(other, OWN)) == pin(policy(OWN))


@pytest.mark.parametrize(
    "rules",
    [
        policy(OWN.replace("allow", "deny")),
        policy(OWN.replace("post.*", "post.read")),
        policy('[[rule]]\nmatch.mode = "network"\ndecide = "deny"\n', OWN),
        policy('[[rule]]\nmatch.risk = "High"\ndecide = "deny"\n', OWN),
        policy('[[rule]]\nwhen = \'args.to == "b"\'\ndecide = "deny"\n', OWN),
        policy('[[rule]]\ndecide = "allow"\n'),
    ],
)
def test_a_rule_that_may_decide_over_it_is_part_of_its_pin(rules: Policy) -> None:
    assert pin(rules) != pin(policy(OWN))


def test_the_order_of_its_rules_is_part_of_its_pin() -> None:
    deny = OWN.replace("allow", "ask")
    assert pin(policy(OWN, deny)) != pin(policy(deny, OWN))


def test_gates_and_decisions_count_where_a_step_names_them_or_is_covered() -> None:
    with_gate = policy(OWN, gates=GATES)
    assert pin(with_gate) == pin(policy(OWN))
    assert pin(with_gate, step(requires=["finance"])) != pin(policy(OWN), step(requires=["finance"]))
    evidence = {"order": {"capability": "post.read"}}
    spec = DecisionSpec.model_validate({"id": "refund", "version": "1", "evidence": evidence})
    catalog = replace(with_gate, decisions={"refund": spec})
    assert pin(catalog) == pin(with_gate)
    covering = replace(with_gate, decisions={"refund": spec.model_copy(update={"covers": ("post.*",)})})
    assert pin(covering) != pin(with_gate)


def test_a_step_of_a_model_is_pinned_to_the_rules_of_all_its_tools() -> None:
    agentic = step(capability=None, params={}, tool_hints=["post.send", "post.read"])
    deny_read = policy('[[rule]]\nmatch.capability = "post.read"\ndecide = "deny"\n', OWN)
    assert pin(deny_read) == pin(policy(OWN))
    assert pin(deny_read, agentic) != pin(policy(OWN), agentic)
