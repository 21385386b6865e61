"""What is on record of one run that has ended: who decided what, on which evidence, under which controls."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, JsonValue

from planwright.domain.envelope import EffectRecord
from planwright.domain.results import RunStatus, RunVerdict


class RecordedApproval(BaseModel):
    """One gate of the run, and what became of it."""

    model_config = ConfigDict(frozen=True)
    gate_id: str
    """Id of the gate."""
    kind: str
    """What was asked: a plan, a step, an escalation …"""
    status: str
    """How it was answered, or `expired` or `cancelled`."""
    approvers: tuple[str, ...]
    """Who approved, or the one who answered otherwise; empty where nobody did."""
    channel: str
    """The door through which the last answer came; "" where none did."""
    frozen_hash: str
    """Hash of the card that was shown, evidence included."""


class RecordedEvidence(BaseModel):
    """One result that the run leans on."""

    model_config = ConfigDict(frozen=True)
    uid: str
    """Uid of the step that brought it."""
    step_id: str
    """Id of that step in its plan."""
    capability: str
    """Name of the capability that was called."""
    result_hash: str
    """Hash of the recorded result, as 64 hex digits."""


class RecordedRule(BaseModel):
    """What the policy said of one step that asks."""

    model_config = ConfigDict(frozen=True)
    uid: str
    """Uid of the step."""
    capability: str
    """Name of the capability, or `agent`."""
    answer: dict[str, JsonValue]
    """The rule, its words and its hash, as the card of the step has them."""


class DecisionRecord(BaseModel):
    """The record of a run, made from its rows in the transaction that ends it; sealed by the audit chain."""

    model_config = ConfigDict(frozen=True)
    record_id: str
    """Id of the record, made from that of the run."""
    run_id: str
    """Id of the run."""
    thread_id: str
    """Id of its thread."""
    tenant: str
    """Whose run it was."""
    trace_id: str
    """Id of the trace of the run, as 32 hex digits; the same where OpenTelemetry is used."""
    outcome: RunStatus
    """How the run ended."""
    decisions: tuple[dict[str, JsonValue], ...] = ()
    """Decisions that were taken by their spec: id, version, outcome and evidence; in order."""
    evidence_refs: tuple[RecordedEvidence, ...] = ()
    """Results of the completed steps, in order."""
    approvals: tuple[RecordedApproval, ...] = ()
    """Gates of the run, in order."""
    controls_active: dict[str, JsonValue] = {}
    """What the request limited: modes, tenant, agent, and whether it was a dry run."""
    policy_decisions: tuple[RecordedRule, ...] = ()
    """What the policy said of steps that ask."""
    effects: tuple[EffectRecord, ...] = ()
    """Effects of the run, and who let each of them pass."""
    verdict: RunVerdict | None = None
    """The critic's last ruling; None where no plan came to be judged."""
    loop_guard_trips: int = 0
    """How often the loop guard noticed something."""
    versions: dict[str, str] = {}
    """Hashes of prompts, registry, policy, profile, settings, and the number of the critic's rules."""
