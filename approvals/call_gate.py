"""The gate of one call: opened the same way for a step of a plan and for a call of a model.

Where somebody has approved the call before, with its plan or by a rule, it is decided at once; the
gate is on record either way, with the arguments it stands for.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Sequence

from pydantic import JsonValue

from planwright.approvals.breadth import satisfies
from planwright.approvals.cards import Card, card_steps
from planwright.approvals.descriptions import with_descriptions
from planwright.approvals.gate import GateQuestion, emit_request, open_gate, wait_for_decision
from planwright.approvals.origins import with_origins
from planwright.capabilities.gateway.gateway import Gateway
from planwright.capabilities.gateway.permit import check_step_gates, step_gate_id
from planwright.domain.chain import Chain
from planwright.domain.errors import GateError, SetupError, StoreFailed
from planwright.domain.hashing import sha256
from planwright.domain.verified_step import StepGate, VerifiedStep
from planwright.records.consent.allow_rules import AllowRule
from planwright.records.consent.approvers import any_one_may, with_requester
from planwright.records.consent.gate import Decision, Gate, GateKind, gate_id
from planwright.records.consent.rule_uses import RuleUse
from planwright.records.consent.tool_answers import ToolAnswer
from planwright.records.stores import Stores
from planwright.settings.settings import Settings
from planwright.state.invocation import Invocation
from planwright.telemetry.log_records import ids_of

_LOG = logging.getLogger("planwright.approvals")


class CallGates:
    """Open the gates of calls, and wait at them."""

    def __init__(self, stores: Stores, settings: Settings, gateway: Gateway) -> None:
        self._stores = stores
        self._gateway = gateway
        self._gates = stores.gates
        self._rules = stores.allow_rules
        self._answers = stores.tool_answers
        self._settings = settings

    async def open(
        self,
        checked: VerifiedStep,
        card: Card,
        invocation: Invocation,
        plan_gate: str = "",
        decision: Decision | None = None,
    ) -> str:
        """Write the gate of a call down, tell of it, and return its id.

        `plan_gate` is that of its plan; `decision` the policy's own, where it made one.
        """
        card = with_requester(card, invocation.context.requested_by)
        if decision is None:
            card = await with_origins(card, invocation, self._stores)
            card = await self._described(card, invocation)
        gate = await self._open(self._row("step", checked, card, invocation), invocation)
        decision = decision or await self._earlier_approval(gate, checked, invocation, plan_gate)
        if gate.status == "open" and decision is not None:
            with contextlib.suppress(GateError):  # somebody was quicker; the row says what was decided
                await self._gates.decide(gate.gate_id, decision, invocation.clock(), invocation.lease)
        return gate.gate_id

    async def open_named(
        self, gate: StepGate, checked: VerifiedStep, card: Card, invocation: Invocation
    ) -> Gate:
        """Write down one of the gates a step has to pass, and return its row; only people decide it."""
        card = await self._described(with_requester(card, invocation.context.requested_by), invocation)
        id_, lasts = step_gate_id(invocation.run_id, checked, gate), gate.expires_s
        question = GateQuestion(id_, card, sha256(card), "step", checked.uid, lasts)
        row = open_gate(invocation, self._settings, question)
        return await self._open(row, invocation)

    async def passed(self, checked: VerifiedStep, args: dict[str, JsonValue], run_id: str) -> Gate | None:
        """Return the last of the gates a step has to pass. Raises CapabilityForbidden unless all are open."""
        return await check_step_gates(self._gates, run_id, checked, args)

    async def ask(self, checked: VerifiedStep, card: Card, invocation: Invocation) -> str:
        """Put a question to a person, in the place of a call, and return the id of its gate."""
        return (await self._open(self._row("info", checked, card, invocation), invocation)).gate_id

    async def wait(self, id_: str, invocation: Invocation) -> Gate:
        """Wait for the decision over a call, and keep as a rule what the person said with it.

        A rule that cannot be written is warned of: the call is approved all the same.
        """
        gate = await wait_for_decision(self._gates, id_, invocation)
        if not (gate.remembered or any(call.get("asks_once") for call in gate.calls)):
            return gate
        await asyncio.to_thread(self._answers.remember, gate)
        try:
            await asyncio.to_thread(self._rules.remember, gate)
        except (SetupError, StoreFailed) as error:  # the approval is on record
            _LOG.warning("%s is approved, its rule is not written: %s", id_, error, extra=ids_of(invocation))
        return gate

    async def of_plan(self, id_: str) -> Gate | None:
        """Read the gate of a plan; None for a plan that nobody was asked about."""
        return await self._gates.read(id_) if id_ else None

    async def read(self, id_: str) -> Gate:
        """Read how a gate was decided."""
        return await self._gates.read(id_)

    async def _described(self, card: Card, invocation: Invocation) -> Card:
        requester = (invocation.context.tenant, invocation.profile.agent, invocation.words)
        context = self._gateway.call_context.on_behalf_of(*requester)
        return await with_descriptions(card, self._gateway.registry, context)

    def _row(self, kind: GateKind, checked: VerifiedStep, card: Card, invocation: Invocation) -> Gate:
        subject = checked.gate_subject
        id_ = gate_id(invocation.run_id, kind, subject)
        question = GateQuestion(id_, card, sha256(card), kind, subject)
        return open_gate(invocation, self._settings, question)

    async def _open(self, row: Gate, invocation: Invocation) -> Gate:
        gate = await self._gates.open(row, invocation.lease)
        emit_request(gate, invocation)
        return gate

    async def _earlier_approval(
        self, gate: Gate, checked: VerifiedStep, invocation: Invocation, plan_gate: str
    ) -> Decision | None:
        if plan_gate:
            plan = await self._gates.read(plan_gate)
            counts = any_one_may(gate.card) or is_named(plan)
            if plan.status == "approved" and includes(plan.card, checked) and counts:
                return approval(plan.decided_by or "", "plan", f"with the plan, at {plan_gate}")
        again = any(call.get("done_before") == gate.run_id for call in gate.calls)
        if again or not any_one_may(gate.card):  # doing again what was done needs a person, not a rule
            return None
        rules = [await asyncio.to_thread(self._covering, gate, call) for call in gate.calls]
        covering = [rule for rule in rules if rule is not None]
        if len(covering) < len(gate.calls):
            return None
        first, names = covering[0], ", ".join(dict.fromkeys(rule.id for rule in covering))
        decision = approval(first.given_by, "rule", f"by rule {names} of {first.given_at[:10]}")
        return decision.model_copy(update={"by_rules": counted_uses(covering)})

    def _covering(self, gate: Gate, call: Card) -> AllowRule | ToolAnswer | None:
        """Find what a person has said that allows a call: a rule, or that its tool only reads."""
        args = call.get("args")
        rules = (
            rule
            for rule in self._rules.covering(gate, call)
            if isinstance(args, dict) and satisfies(args, rule.when)
        )
        unlimited_first = sorted(rules, key=lambda rule: rule.most is not None)
        return next(iter(unlimited_first), None) or self._answers.covering(gate, call)


def counted_uses(rules: Sequence[AllowRule | ToolAnswer]) -> tuple[RuleUse, ...]:
    """Count which rules allow the calls of a gate, and how many each."""
    used = {rule.id: rule for rule in rules if isinstance(rule, AllowRule)}
    counts = Counter(rule.id for rule in rules)
    return tuple(RuleUse(rule_id=id_, calls=counts[id_], most=rule.most) for id_, rule in used.items())


def is_named(gate: Gate) -> bool:
    """Say whether the decision over a gate has the name of a person, and not of the door that it came by."""
    return gate.decided_by != gate.channel


def includes(card: Card, checked: VerifiedStep) -> bool:
    """Say whether the card of an approved plan showed that the gate of a step is included."""
    return any(step.get("gate_included") == checked.uid for step in card_steps(card))


def shows_chain(card: Card, checked: VerifiedStep, chain: Chain) -> bool:
    """Say whether the card of a plan showed the definition of the chain that one of its steps calls."""
    for step in card_steps(card):
        calls = step.get("chain")
        if step["id"] == checked.step.id and isinstance(calls, dict) and calls["definition"] == chain.hash:
            return True
    return False


def approval(by: str, channel: str, reason: str) -> Decision:
    """Make the decision of a gate that follows from one given before."""
    return Decision(answer="approve", decided_by=by, channel=channel, reason=reason)
