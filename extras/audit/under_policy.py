"""What another policy would have said of the calls of a run: which it blocks, and of which it asks."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.policy.consent import judge
from planwright.capabilities.registry import Registry
from planwright.domain.errors import CapabilityRejected
from planwright.domain.run_context import read_context
from planwright.domain.verified_step import VerifiedStep
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
    run = connection.execute(
        "SELECT request, tenant, context FROM runs WHERE run_id = ?", (run_id,)
    ).fetchone()
    agent = read_context(json.loads(run["context"])).agent
    context = context.on_behalf_of(run["tenant"], agent, run["request"])
    calls = list(_calls(connection, run_id))
    return lambda: [_judged(step, kind, args, registry, context, approval) for step, kind, args in calls]


def _calls(
    connection: sqlite3.Connection, run_id: str
) -> Iterator[tuple[VerifiedStep, str, dict[str, JsonValue]]]:
    """List the calls that were made, each once, with the arguments that it had."""
    effects = "SELECT step_uid, args FROM effects WHERE run_id = ? ORDER BY rowid"
    args = {uid: json.loads(text) for uid, text in connection.execute(effects, (run_id,))}
    ended = "SELECT uid, result FROM steps WHERE run_id = ? AND status <> 'skipped'"
    results = {uid: json.loads(text) for uid, text in connection.execute(ended, (run_id,))}
    seen: set[str] = set()
    plans = "SELECT kind, checked FROM plans WHERE run_id = ? ORDER BY rowid"
    for kind, checked in connection.execute(plans, (run_id,)).fetchall():
        for entry in json.loads(checked):
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
        narrowed = capability.narrowed(args, context)
        judged = judge(narrowed, args, context, approval.threshold_of(kind), references=True)
    except CapabilityRejected as error:
        return PolicyReplay(step.step.id, name, "deny", error.cause)
    answer: Answer = "deny" if judged.denied else "ask" if judged.asks else "allow"
    return PolicyReplay(step.step.id, name, answer, judged.reason if answer != "allow" else "")
