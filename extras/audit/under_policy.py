"""What another policy would have said of the calls of a run: which it blocks, and of which it asks."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.policy.explain import as_planned
from planwright.capabilities.registry import Registry
from planwright.domain.errors import CapabilityRejected, RunError
from planwright.domain.run_context import read_context
from planwright.domain.verified_step import VerifiedStep
from planwright.records.history.run_outcomes import verified_steps
from planwright.records.history.run_records import find_row, run_record
from planwright.settings.approval import ApprovalSettings

Answer = Literal["allow", "ask", "deny", "unknown"]


@dataclass(frozen=True)
class PolicyReplay:
    """One call of a run, and what the policy says of it."""

    step_id: str
    """Id of the step or call."""
    capability: str
    """What was called."""
    answer: Answer
    """What would happen to it; `unknown` where there is no such capability any more."""
    reason: str
    """Why, in words; "" for a call that passes."""


def replay_policy(
    connection: sqlite3.Connection,
    run_id: str,
    registry: Registry,
    context: CallContext,
    approval: ApprovalSettings,
) -> list[PolicyReplay]:
    """Judge each call that a run has made by the policy of `context`; nothing is called, nobody is asked."""
    return prepare_replay(connection, run_id, registry, context, approval)()


def prepare_replay(
    connection: sqlite3.Connection,
    run_id: str,
    registry: Registry,
    context: CallContext,
    approval: ApprovalSettings,
) -> Callable[[], list[PolicyReplay]]:
    """Read what `replay_policy` judges. What is returned judges it, which takes long, without the store."""
    run = find_row(connection, run_id)
    if run is None:
        raise RunError(f"there is no run {run_id}", "list the runs: planwright ls --all")
    agent = read_context(json.loads(run["context"])).agent
    context = context.on_behalf_of(run["tenant"], agent, run["request"])
    calls = list(_calls(connection, run_id))
    return lambda: [_judged(step, kind, args, registry, context, approval) for step, kind, args in calls]


def _calls(
    connection: sqlite3.Connection, run_id: str
) -> Iterator[tuple[VerifiedStep, str, dict[str, JsonValue]]]:
    """List the calls that were made, each once, with the arguments that it had."""
    record = run_record(connection, run_id)
    args = {effect["step_uid"]: effect["args"] for effect in record.effects}
    results = {uid: result for uid, result in record.steps.items() if result["status"] != "skipped"}
    seen: set[str] = set()
    for kind, entry in verified_steps(connection, run_id):
        step = VerifiedStep.model_validate(entry)
        called = step.uid in args or step.uid in results
        if called and step.step.capability and step.uid not in seen:
            seen.add(step.uid)
            read = results.get(step.uid, {}).get("args")
            yield step, kind, args.get(step.uid) or read or dict(step.step.params)


def _judged(
    step: VerifiedStep,
    kind: str,
    args: dict[str, JsonValue],
    registry: Registry,
    context: CallContext,
    approval: ApprovalSettings,
) -> PolicyReplay:
    name = step.step.capability or ""
    capability = registry.get(name)
    if capability is None or capability.chain:
        reason = "its parts are judged one by one" if capability else f"there is no {name}"
        return PolicyReplay(step.step.id, name, "allow" if capability else "unknown", reason)
    context = replace(context, tainted=step.tainted, decided=step.decisions)
    try:
        judged = as_planned(capability, args, context, approval.threshold_of(kind))
    except CapabilityRejected as error:
        return PolicyReplay(step.step.id, name, "deny", error.cause)
    answer: Answer = "deny" if judged.denied else "ask" if judged.asks else "allow"
    return PolicyReplay(step.step.id, name, answer, judged.reason if answer != "allow" else "")
