"""Approving many gates at once: each is decided by itself, through the door, as a single approval is."""

from __future__ import annotations

import contextlib
from collections.abc import Container
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Protocol

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command
from typing_extensions import TypedDict

from planwright.approvals.bulk_outcomes import ApprovalEnd, BulkApproval, GateOutcome
from planwright.approvals.cards import card_steps
from planwright.approvals.pending import PendingApprovals, PendingGate, pending_approvals
from planwright.domain.errors import GateError, PlanwrightError, StoreFailed
from planwright.domain.run_context import RunContext
from planwright.presentation.plan_gates import outside_text
from planwright.presentation.step_sentence import effect_phrase
from planwright.records.consent.gate import Decision, Gate
from planwright.records.effects.undos import PastEffect
from planwright.records.stores import Stores


class BulkOptions(TypedDict, total=False):
    """Whose gates are approved, and by whom."""

    tenant: str
    """Name or glob of the tenants; `default` where it is left out."""
    by: str
    """Who approves; the channel where it is left out."""
    channel: str
    """Door that the approvals come through; `python` where it is left out."""


class Resumable(Protocol):
    """The agent, as far as it takes an answer to a gate and goes on."""

    async def ainvoke(self, input: Command[str], config: RunnableConfig, *, context: RunContext) -> object:
        """Take an answer through the door, and run on until the run ends or waits again."""


class BulkApprovals:
    """Find what can be approved together, and approve it gate by gate."""

    def __init__(self, agent: Resumable, stores: Stores) -> None:
        self._agent = agent
        self._stores = stores

    async def pending(self, capability: str, options: BulkOptions) -> PendingApprovals:
        """List the gates that call a capability (a name or a glob), with those that are to be left."""
        tenant, decision = options.get("tenant", "default"), _decision(options)
        gates = await self._stores.gates.waiting()
        theirs = (gate for gate in gates if fnmatchcase(gate.tenant, tenant))
        return pending_approvals(theirs, capability, decision)

    async def approve_all(self, capability: str, options: BulkOptions) -> BulkApproval:
        """Approve all that waits and asks about nothing but a capability, oldest first; resume each run."""
        pending = await self.pending(capability, options)
        outcomes = [await self.approve(gate, options) for gate in pending.gates]
        return BulkApproval(tuple(outcomes), pending.left)

    async def approve(self, gate: PendingGate, options: BulkOptions) -> GateOutcome:
        """Approve one gate as it was listed, and go on with its run until it ends or waits again.

        A gate that has changed, expired or was decided since is not approved: the outcome says why.
        """
        decision = _decision(options)
        answer = {"type": "approve", "gate_id": gate.gate_id, "plan_hash": gate.plan_hash}
        entry: Command[str] = Command(resume={**answer, "decided_by": decision.decided_by})
        config: RunnableConfig = {"configurable": {"thread_id": gate.thread_id}}
        context = RunContext(tenant=gate.tenant, channel=decision.channel)
        before: set[str] | None = None
        try:
            before = {effect.key for effect in await self._stores.undos.effects_of(gate.run_id)}
            check_same_card(gate, await self._stores.gates.read(gate.gate_id))
            await self._agent.ainvoke(entry, config, context=context)
        except GateError as error:
            return await self._outcome(gate, "refused", error.cause)
        except PlanwrightError as error:
            return await self._outcome(gate, await self._end(gate, decision.decided_by), error.cause, before)
        end = await self._end(gate, decision.decided_by)
        problem = "more people have to approve" if end == "counted" else ""
        return await self._outcome(gate, end, problem, before)

    async def _end(self, gate: PendingGate, by: str) -> ApprovalEnd:
        """Read from the row of a gate what became of an approval: its run may have failed after it."""
        with contextlib.suppress(StoreFailed):
            now = await self._stores.gates.read(gate.gate_id)
            if any(approval.by == by for approval in now.approvals):
                return "approved" if now.status == "approved" else "counted"
        return "refused"

    async def _outcome(
        self, gate: PendingGate, end: ApprovalEnd, problem: str, before: Container[str] | None = None
    ) -> GateOutcome:
        """Sum up, with what the run did beside the effects of `before`; None where it has not gone on."""
        outcome = GateOutcome(gate, end, None, problem)
        with contextlib.suppress(StoreFailed):
            run = await self._stores.runs.read(gate.run_id)
            outcome = replace(outcome, run_status=run.status if run else None)
            if before is not None:
                effects = await self._stores.undos.effects_of(gate.run_id)
                waiting = await self._stores.gates.of_thread(gate.thread_id)
                did = tuple(_deed(effect) for effect in effects if effect.key not in before)
                its = [each for each in waiting if each.run_id == gate.run_id]
                waits = tuple(f"{each.gate_id}: {_subject(each)}" for each in its)
                outcome = replace(outcome, did=did, waits=waits)
        return outcome


def _deed(effect: PastEffect) -> str:
    """Name one effect of a run by its telling values."""
    phrase = effect_phrase(effect.capability, effect.args, effect.result)
    return phrase if effect.certain else f"{phrase}: nobody knows whether it happened"


def _subject(gate: Gate) -> str:
    """Name what a gate asks about, on one line."""
    if gate.kind != "plan":
        return str(gate.card.get("capability") or gate.kind)
    return outside_text(gate.card) or f"a plan of {len(card_steps(gate.card))} steps"


def check_same_card(pending: PendingGate, gate: Gate) -> None:
    """Raise GateError where a gate no longer shows what was listed."""
    if (gate.card_hash, gate.answer_hash) != (pending.card_hash, pending.plan_hash):
        cause = f"gate {gate.gate_id} shows something else than was listed"
        raise GateError(cause, f"look at it: planwright show {gate.run_id}")


def _decision(options: BulkOptions) -> Decision:
    channel = options.get("channel", "python")
    return Decision(answer="approve", decided_by=options.get("by") or channel, channel=channel)
