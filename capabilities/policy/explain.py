"""A policy in words: what each of its rules is about, and what it answers to one call that is not made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from planwright.capabilities.arguments import as_called, misfits
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.policy.check import reached, unreachable
from planwright.capabilities.policy.consent import Judgement, judge
from planwright.capabilities.policy.decide import explain_ruling
from planwright.capabilities.policy.file import Policy, PolicyAnswer, Rule
from planwright.capabilities.policy.rulings import Explanation
from planwright.capabilities.registry import Registry
from planwright.domain.errors import CapabilityRejected, SetupError
from planwright.domain.risk import Risk
from planwright.records.records import Records
from planwright.security.jail import Jail
from planwright.settings.approval import ApprovalSettings
from planwright.settings.settings import Settings

VERDICT_TEXT = {
    "yes": "matches",
    "no": "is not about it",
    "unknown": "not known yet",
    "error": "cannot be evaluated",
}


@dataclass(frozen=True)
class RuleRow:
    """One rule of a policy, in words."""

    where: str
    """Where it stands, as `policy.toml:12`."""
    decide: str
    """What it answers: allow, ask or deny."""
    selectors: str
    """Calls that it is about."""
    condition: str
    """Condition that a call has to meet; "" for none."""
    approvers: tuple[str, ...]
    """Who may approve; none for anybody."""
    quorum: int
    """How many people have to approve."""
    exclude_requester: bool
    """Whether who asked may not approve."""
    reason: str
    """Why, as it says; "" for nothing."""
    reaches: int
    """How many capabilities it is about."""
    note: str
    """Why it decides nothing; "" where it does."""

    @property
    def who(self) -> str:
        """Who has to approve, and how many; "" for anybody."""
        many = f"{self.quorum} people" if self.quorum > 1 else ""
        others = "not who asked" if self.exclude_requester else ""
        return ", ".join(filter(None, (many, *self.approvers, others)))


@dataclass(frozen=True)
class CallRuling:
    """What the policy answers to one call."""

    explanation: Explanation
    """The ruling, and what was looked at on the way."""
    looks: Sequence[tuple[str, str, str]]
    """Rules that were looked at: where, answer, and whether they match."""
    flaw: str
    """Why the arguments would be refused; "" where they would not."""
    consent: str
    """Whether a person is asked, and why."""
    answer: PolicyAnswer
    """What becomes of the call in the end: rules may allow what asks by its risk, or after reading."""


def rule_rows(policy: Policy, registry: Registry) -> list[RuleRow]:
    """Put the rules of a policy into words."""
    useless = unreachable(policy, registry)
    return [_rule(rule, registry, useless.get(rule.where, "")) for rule in policy.rules]


def _rule(rule: Rule, registry: Registry, note: str) -> RuleRow:
    selectors = rule.match.model_dump(mode="json", exclude_none=True)
    words = "; ".join(f"{name} {', '.join(values)}" for name, values in selectors.items())
    return RuleRow(
        where=rule.where,
        decide=rule.decide,
        selectors=words or "everything",
        condition=rule.condition.source if rule.condition else "",
        approvers=tuple(rule.approvers),
        quorum=rule.quorum,
        exclude_requester=rule.exclude_requester,
        reason=rule.reason,
        reaches=len(reached(rule, registry)),
        note=note,
    )


def ruling_context(settings: Settings, records: Records, policy: Policy) -> CallContext:
    """Put together what a policy looks at beside a call, where none is made."""
    return CallContext(
        settings,
        Jail(settings.workspace),
        records.memories,
        policy=policy,
        delegations=records.delegations,
        tool_answers=records.tool_answers,
    )


def as_planned(
    capability: Capability, args: dict[str, JsonValue], context: CallContext, ask_from: Risk | None
) -> Judgement:
    """Judge a call as it stands in a plan, narrowed to its arguments. Raises CapabilityRejected."""
    return judge(capability.narrowed(args, context), args, context, ask_from, references=True)


def call_ruling(
    capability: Capability,
    args: dict[str, JsonValue] | None,
    context: CallContext,
    approval: ApprovalSettings,
) -> CallRuling:
    """Ask the policy about one call; nothing is called. `args` None when none is known.

    Raises SetupError where it takes arguments to say where the call goes and none are known, and
    CapabilityRejected where those that are do not say it.
    """
    flaw = "" if args is None else _flaw(capability, args, context)
    args = None if args is None else as_called(capability, args)
    filled = {**capability.defaults, **(args or {})}
    try:
        explanation = explain_ruling(capability, args, context, references=True)
        in_plan, in_loop = (
            as_planned(capability, filled, context, ask_from)
            for ask_from in (approval.of_plan, approval.of_tool)
        )
    except CapabilityRejected as error:
        if args is not None:
            raise
        cause = f"where {capability.name} goes depends on its arguments"
        raise SetupError(cause, 'give those of the call, like {"url": "https://example.com/"}') from error
    looks = [
        (match.rule.where, match.rule.decide, match.note or VERDICT_TEXT[match.verdict])
        for match in explanation.matches
    ]
    undecided = explanation.ruling.undecided
    plan, loop = (_consent(each, refused=bool(flaw), undecided=undecided) for each in (in_plan, in_loop))
    consent = plan if plan == loop else f"in a plan {plan}; where a model calls it {loop}"
    answer = explanation.ruling.answer
    if answer == "allow" and not flaw and not undecided and (in_plan.asks or in_loop.asks):
        answer = "ask"
    return CallRuling(explanation, looks, flaw, consent, answer)


def _flaw(capability: Capability, args: dict[str, JsonValue], context: CallContext) -> str:
    """Say why verification would refuse these arguments; "" where it would not."""
    if flaws := [*misfits(capability, args)]:
        return "; ".join(flaws)
    try:
        capability.check(args, context)
    except CapabilityRejected as error:
        return error.cause
    return ""


def _consent(judged: Judgement, *, refused: bool, undecided: bool) -> str:
    """Say whether a person is asked, and why."""
    if refused:
        return "nobody is asked: the call is refused"
    if undecided:
        return "that depends on arguments that are not known yet"
    if judged.denied:
        return "nobody is asked: the call is not made"
    own = ", at a gate of its own" if judged.own_gate else ""
    return f"a person is asked{own}: {judged.reason}" if judged.asks else "nobody is asked"
