"""What a replay says that a policy blocks is what a live run under that policy is refused for."""

from __future__ import annotations

import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.declaration import capability
from planwright.capabilities.policy.file import load_policy
from planwright.capabilities.registry import load_registry
from planwright.domain.run_context import RunContext
from planwright.extras.audit.under_policy import PolicyReplay, replay_policy
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.records.records import open_records
from planwright.security.jail import Jail
from planwright.settings.settings import load
from tests.opened_store import opened_store

pytestmark = pytest.mark.sqlite  # its stores last longer than a test

AMOUNT = {"amount": 7}
ALLOW = '[[rule]]\ndecide = "allow"\n'
AGENTS = '[agents.billing]\ndescription = "Bills"\n'
CONFIG: Any = {"configurable": {"thread_id": "t"}}


@capability("shop.look", mode="read_only", trusted_result=True)
def look(amount: int) -> dict[str, int]:
    """Look an amount up."""
    return {"amount": amount}


@capability("shop.note", mode="local_write", risk="Low", effect="idempotent", trusted_result=True)
def note(amount: int) -> dict[str, int]:
    """Note an amount."""
    return {"amount": amount}


@capability("books.enter", mode="local_write", risk="Low", effect="idempotent", trusted_result=True)
def enter(amount: int) -> dict[str, int]:
    """Enter an amount."""
    return {"amount": amount}


OWN = (look, note, enter)
MATCHES = (
    'match.capability = "shop.*"',
    'match.capability = "books.enter"',
    'match.mode = "local_write"',
    'match.risk = "None"',
)


def random_plan(dice: random.Random) -> str:
    """Write a plan of some steps, whose amounts are literal or come out of an earlier step."""
    steps: list[dict[str, Any]] = []
    for n in range(dice.randint(1, 6)):
        before = [step["id"] for step in steps]
        amount: object = dice.randint(0, 100)
        if before and dice.random() < 0.4:
            amount = f"{{{{steps.{dice.choice(before)}.output.amount}}}}"
        name = dice.choice(("shop.look", "shop.note", "books.enter"))
        steps.append({"id": f"s{n}", "capability": name, "params": {"amount": amount}})
    return json.dumps({"goal": "Do it", "steps": steps})


def random_policy(dice: random.Random) -> str:
    """Write a policy that denies something: by name, mode or risk, by an amount, or both."""
    lines = [f"[[rule]]\n{dice.choice(MATCHES)}"]
    if dice.random() < 0.5:
        lines.append(f"when = 'args.amount > {dice.randint(0, 100)}'")
    return "\n".join([*lines, 'decide = "deny"', "", ALLOW])


def run_under(folder: Path, policy: str, plan: str, agent_id: str | None = None) -> dict[str, Any]:
    """Run a plan under a policy, with nobody to ask."""
    folder.mkdir()
    (folder / "planwright.toml").write_text(AGENTS, "utf-8")
    (folder / "policy.toml").write_text(policy, "utf-8")
    settings = load(folder, planning={"mode": "always", "replan_budget": 0}, approval={"plan": "never"})
    model = ScriptedModel(replies=[plan, "done"])
    agent = build_graph(settings, model=model, capabilities=OWN)
    try:
        output: dict[str, Any] = agent.invoke(
            {"messages": [("user", "Do it")]}, CONFIG, context=RunContext(agent=agent_id)
        )
        return output
    finally:
        agent.close()


def refused_live(folder: Path) -> set[str]:
    """Name the steps that a live run was refused for: at its plan, or when they were to be called."""
    with closing(opened_store(folder / ".planwright")) as store:
        verified = store.execute("SELECT data FROM journal WHERE type = 'plan_verified'").fetchall()
        findings = [one for (data,) in verified for one in json.loads(data).get("findings", [])]
        failed = store.execute("SELECT step_id, result FROM steps WHERE status = 'failed'").fetchall()
    at_plan = {one["step_id"] for one in findings if one["code"] == "policy_conflict"}
    return at_plan | {step for step, result in failed if "denies" in json.loads(result)["error"]}


def denied_in_replay(folder: Path, policy: Path) -> set[str]:
    """Name the steps that a replay says the policy blocks."""
    return {call.step_id for call in replayed_calls(folder, policy) if call.answer == "deny"}


def replayed_calls(folder: Path, policy: Path, **flags: Any) -> list[PolicyReplay]:
    """Judge the calls of the one run of a folder by a policy."""
    settings = load(folder, **flags)
    registry = load_registry(folder, (), (), OWN)
    records = open_records(settings.store_folder)
    context = CallContext(settings, Jail(folder), records.memories, policy=load_policy(policy))
    with closing(opened_store(settings.store_folder)) as store:
        store.row_factory = sqlite3.Row
        (run_id,) = store.execute("SELECT run_id FROM runs").fetchone()
        return replay_policy(store, run_id, registry, context, settings.approval)


def agrees(folder: Path, seed: int) -> bool:
    """Run a plan freely and under a policy; the replay of the first names what stops the second."""
    dice = random.Random(seed)
    plan, policy = random_plan(dice), random_policy(dice)
    free, strict = folder / f"free-{seed}", folder / f"strict-{seed}"
    assert run_under(free, ALLOW, plan)["status"] == "completed"
    run_under(strict, policy, plan)
    live, replayed = refused_live(strict), denied_in_replay(free, strict)
    if "{{" not in plan:
        return live == replayed
    # An amount out of an earlier step is refused when it is known, and what stops there is not reached.
    return live <= replayed and bool(live) == bool(replayed)


@pytest.mark.long
def test_a_replay_names_what_a_live_run_is_refused_for(tmp_path: Path) -> None:
    assert [seed for seed in range(8) if not agrees(tmp_path, seed)] == []


def test_a_replay_knows_the_agent_of_a_run(tmp_path: Path) -> None:
    plan = json.dumps({"goal": "Look", "steps": [{"id": "s1", "capability": "shop.look", "params": AMOUNT}]})
    rule = f'[[rule]]\nwhen = \'agent == "billing"\'\ndecide = "deny"\n{ALLOW}'
    (tmp_path / "policy.toml").write_text(rule, "utf-8")
    for agent, denied in ((None, set()), ("billing", {"s1"})):
        folder = tmp_path / f"by-{agent}"
        assert run_under(folder, ALLOW, plan, agent)["status"] == "completed"
        assert denied_in_replay(folder, tmp_path) == denied


@pytest.mark.parametrize(("kind", "answer"), [("plan", "allow"), ("alternative", "allow"), ("calls", "ask")])
def test_a_call_asks_from_the_risk_that_counts_where_it_stands(
    tmp_path: Path, kind: str, answer: str
) -> None:
    plan = json.dumps({"goal": "Note", "steps": [{"id": "s1", "capability": "shop.note", "params": AMOUNT}]})
    run_under(tmp_path / "run", ALLOW, plan)
    with closing(opened_store(tmp_path / "run" / ".planwright")) as store:
        store.execute("UPDATE plans SET kind = ?", (kind,))
        store.commit()
    approval = {"plan": "never", "tool_risk": "Low"}
    (call,) = replayed_calls(tmp_path / "run", tmp_path, approval=approval)
    assert call.answer == answer


@pytest.mark.long
def test_two_hundred_replays_name_what_live_runs_are_refused_for(tmp_path: Path) -> None:
    assert [seed for seed in range(8, 208) if not agrees(tmp_path, seed)] == []
