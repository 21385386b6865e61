"""A table of policy decisions: rules and calls, and what has to come out (policy_decisions.toml)."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from planwright.capabilities.builtin.answer import clarify, respond
from planwright.capabilities.builtin.delegate import delegate
from planwright.capabilities.builtin.results import read as results_read
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.capabilities.policy.decide import decide, host_of
from planwright.capabilities.policy.file import default_policy, read_policy

TABLE = Path(__file__).with_name("policy_decisions.toml")
POLICIES = tomllib.loads(TABLE.read_text("utf-8"))["policy"]
CASES = [
    pytest.param(policy, case, id=f"{policy['name']}: {number} {case['call']} {case['says']}")
    for policy in POLICIES
    for number, case in enumerate(policy["cases"], 1)
]


def declare(name: str, mode: Any, **options: Any) -> Capability:
    def act(what: str = "", note: str | None = None) -> str:
        """Do something."""
        return what

    return capability(name, mode=mode, **options)(act)


def put(name: str, risk: Any) -> Capability:
    def act(path: str, size: int = 0) -> str:
        """Put something somewhere."""
        return path

    return capability(name, mode="local_write", risk=risk)(act)


@capability("net.get", mode="network", hosts=lambda args, call: [host_of(str(args["url"]))])
def get(url: str) -> str:
    """Fetch something."""
    return url


@capability("net.send", mode="network")
def send(to: str | list[str]) -> str:
    """Send something, nobody knows where to."""
    return str(to)


@capability(
    "vary.it",
    mode="local_write",
    risk="High",
    varies=lambda args, call: ("Low" if args["how"] == "gently" else "High", "idempotent"),
    effect="idempotent",
)
def vary(how: str = "gently") -> str:
    """Do something that is as risky as it is done."""
    return how


@capability("any.args", mode="read_only")
def any_args(value: JsonValue) -> str:
    """Take anything."""
    return str(value)


KNOWN = {
    found.name: found
    for found in (
        declare("look.at", "read_only"),
        declare("look.over", "read_only"),
        put("put.in", "Low"),
        put("put.big", "High"),
        get,
        send,
        any_args,
        vary,
        declare("job.give", "delegated"),
        declare("wipe.all", "destructive"),
        declare("odd.thing", None),
        delegate,
        respond,
        clarify,
        results_read,
    )
}


def test_the_table_is_large() -> None:
    assert len(CASES) >= 120


@pytest.mark.parametrize(("policy", "case"), CASES)
def test_a_call_is_decided_as_the_table_says(
    make_world: Callable[..., CallContext], policy: dict[str, Any], case: dict[str, Any]
) -> None:
    rules = policy.get("rules")
    read = read_policy(f"\n{rules}", Path("policy.toml")) if rules else default_policy()
    world = make_world(egress={"allow": policy.get("egress", [])})
    world = dataclasses.replace(world, policy=read)
    world = world.on_behalf_of(case.get("tenant", "default"), case.get("agent"))
    references = case.get("references", False)
    ruling = decide(KNOWN[case["call"]], case.get("args"), world, references=references)
    assert ruling.answer == case["says"], ruling
    if "by" in case:
        assert ruling.rule == (f"policy.toml:{case['by']}" if case["by"] else "")
    if "undecided" in case:
        assert ruling.undecided is case["undecided"]
    assert case.get("notes", "") in ruling.reason
    assert ruling.reason
