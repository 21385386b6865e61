"""escalation: wait for the person who decides over steps that failed, and do as they say."""

from __future__ import annotations

import json
from collections.abc import Mapping

from langchain_core.runnables import RunnableConfig
from pydantic import JsonValue

from planwright.checkpoints.gates import Gate
from planwright.checkpoints.stores import Stores
from planwright.graph.invocation import invocation_of
from planwright.graph.plan import CheckedStep
from planwright.graph.results import Finding, StepResult
from planwright.graph.state import AgentState, Attempts
from planwright.nodes.escalation_gate import unsettled
from planwright.nodes.gate import wait_for_decision
from planwright.nodes.node import Node, Update


def escalation(stores: Stores) -> Node[AgentState]:
    """Run again, note that it happened, plan again, or end: never without the person's word."""

    async def escalation(state: AgentState, config: RunnableConfig) -> Update:
        invocation = invocation_of(config)
        gate = await wait_for_decision(stores.gates, state["gate_id"], invocation)
        attempts = state.get("attempts", Attempts())
        happened = confirmed(gate, state["checked"], state["results"])
        for result in happened.values():
            called = made_in(result, invocation.board.settled(result.part) if result.part else None)
            now, by = invocation.clock(), gate.decided_by or ""
            await stores.ledger.confirm(invocation.lease, called, by, now)
            invocation.board.confirm(called)
        happened = {uid: result for uid, result in happened.items() if not result.part}
        return {**rule(gate, attempts), "results": happened, "approved": False}

    return escalation


def rule(gate: Gate, attempts: Attempts) -> Update:
    """Turn a decision into what happens next: verify the same plan again, make another, or end."""
    tried = attempts.model_copy(update={"escalations": attempts.escalations + 1})
    if gate.status == "approved" or (gate.status == "responded" and gate.shown.get("in_doubt")):
        return {"verdict": None, "attempts": tried, "findings": []}
    if gate.status == "responded":
        said = Finding(code="feedback", message=gate.reason or "", fix="plan what the person says")
        again = {"replans": tried.replans + 1, "responses": tried.responses + 1}
        return {"verdict": None, "attempts": tried.model_copy(update=again), "findings": [said], "plan": None}
    return {}


def confirmed(
    gate: Gate, checked: list[CheckedStep], results: Mapping[str, StepResult]
) -> dict[str, StepResult]:
    """Make the results of steps in doubt that a person says have happened, with the output they give."""
    doubtful = gate.shown.get("in_doubt")
    if gate.status != "responded" or not isinstance(doubtful, list):
        return {}
    output, happened = read_output(gate.reason or ""), dict[str, StepResult]()
    for entry, result in unsettled(checked, results):
        if result.code == "in_doubt" and entry.step.id in doubtful:
            done = {"status": "completed", "code": "confirmed", "error": "", "output": output}
            happened[entry.uid] = result.model_copy(update=done)
    return happened


def made_in(result: StepResult, part: StepResult | None) -> StepResult:
    """Choose what a person confirms: the step, or of a chain the call in doubt; the chain then goes on."""
    if part is None:
        return result
    said = {name: getattr(result, name) for name in ("status", "code", "error", "output")}
    return part.model_copy(update=said)


def read_output(words: str) -> JsonValue:
    """Read what a step brought: JSON where it is JSON, else words."""
    try:
        value: JsonValue = json.loads(words)
    except (ValueError, RecursionError):
        return {"text": words}
    return value if isinstance(value, dict) else {"text": words}
