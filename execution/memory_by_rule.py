"""What the policy remembers by itself: a proposal in the user's own words, by a rule for `memory.write`.

The call goes through the gateway and into the ledger like any other, as a plan of one call on record.
"""

from __future__ import annotations

from pydantic import JsonValue

from planwright.capabilities.gateway.attempts import CallListener
from planwright.capabilities.gateway.call_site import CallSite
from planwright.capabilities.gateway.gateway import Gateway
from planwright.capabilities.gateway.verified_call import NamedCall, verified_call
from planwright.capabilities.policy.consent import consent_to
from planwright.capabilities.policy.file import DEFAULT, Policy
from planwright.domain.errors import CapabilityError, CapabilityForbidden, LimitExceeded
from planwright.domain.hashing import sha256
from planwright.domain.memory_proposal import WRITE, Proposal
from planwright.domain.plan import Plan, PlanStep
from planwright.domain.verified_step import VerifiedStep
from planwright.language.first_person import says
from planwright.records.plans import Plans
from planwright.settings.settings import Settings
from planwright.state.invocation import Invocation


class Remembering:
    """Write to memory what a rule of the workspace's own policy allows by name."""

    def __init__(self, gateway: Gateway, plans: Plans, settings: Settings) -> None:
        self._gateway = gateway
        self._plans = plans
        self._settings = settings

    async def by_rule(self, proposal: Proposal, request: str, invocation: Invocation) -> None:
        """Remember a proposal if nobody has to be asked; one that cannot be written stays proposed."""
        if self._settings.memory.proposals != "rule" or not says(request, proposal.text):
            return
        try:
            checked = self._allowed(proposal, invocation)
            if checked is None:
                return
            plan = Plan(plan_id=f"remember_{proposal.id}", goal="Remember", steps=(checked.step,))
            await self._plans.record(invocation.lease, plan, [checked], invocation.clock(), kind="memory")
            site = CallSite(
                lease=invocation.lease,
                plan_hash=plan.plan_hash,
                checked=checked,
                profile=invocation.profile,
                words=invocation.words,
            )
            await self._gateway.call(
                WRITE, checked.step.params, site, CallListener(lambda *_: False, lambda *_: None)
            )
        except (CapabilityError, LimitExceeded) as error:
            invocation.emit("memory_failed", {"id": proposal.id, "cause": error.cause}, proposal.id)

    def _allowed(self, proposal: Proposal, invocation: Invocation) -> VerifiedStep | None:
        """Make the step that writes a proposal; None where it is not just allowed. Raises CapabilityError."""
        capability, approval = self._gateway.registry.get(WRITE), self._settings.approval
        if capability is None or approval.plan == "always":
            return None
        args: dict[str, JsonValue] = {"text": proposal.text, "tags": list(proposal.tags)}
        call_context = self._gateway.call_context
        requester = (invocation.context.tenant, invocation.profile.agent, invocation.words)
        context = call_context.on_behalf_of(*requester)
        try:
            judged = consent_to(capability, args, context, approval.of_tool)
        except CapabilityForbidden:
            return None
        if judged.asks or not names_memory(call_context.policy, judged.ruling.rule):
            return None
        step = PlanStep(id="remember", capability=WRITE, params=args, description="Remember what was said")
        uid = f"step_{sha256([invocation.run_id, 'remember', proposal.id])[:16]}"
        return verified_call(NamedCall(step, uid), capability, judged, self._gateway.registry, context)


def names_memory(rules: Policy, where: str) -> bool:
    """Say whether a rule is about memory by name: one that allows much else as well does not count."""
    rule = next((rule for rule in rules.rules if rule.where == where), None)
    globs = rule.match.capability if rule else None
    return rules.path != DEFAULT and bool(globs) and all(glob.startswith("memory.") for glob in globs or ())
