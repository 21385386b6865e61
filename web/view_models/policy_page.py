"""What the policy says: its rules in words, and what it answers to one call. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue, TypeAdapter

from planwright.capabilities.arguments import misfits
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.policy.check import reached, unreachable
from planwright.capabilities.policy.consent import judge
from planwright.capabilities.policy.decide import explain_ruling
from planwright.capabilities.policy.file import Policy, Rule
from planwright.capabilities.policy.rulings import Explanation
from planwright.capabilities.registry import Registry
from planwright.domain.errors import SetupError
from planwright.domain.risk import Risk

VERDICT_TEXT = {
    "yes": "matches",
    "no": "is not about it",
    "unknown": "not known yet",
    "error": "cannot be evaluated",
}
_OBJECT = TypeAdapter(dict[str, JsonValue])


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
    who: str
    """Who has to approve, and how many; "" for anybody."""
    reason: str
    """Why, as it says; "" for nothing."""
    reaches: int
    """How many capabilities it is about."""
    note: str
    """Why it decides nothing; "" where it does."""


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


def rule_rows(policy: Policy, registry: Registry) -> list[RuleRow]:
    """Put the rules of a policy into words."""
    useless = unreachable(policy, registry)
    return [_rule(rule, registry, useless.get(rule.where, "")) for rule in policy.rules]


def _rule(rule: Rule, registry: Registry, note: str) -> RuleRow:
    selectors = rule.match.model_dump(mode="json", exclude_none=True)
    words = "; ".join(f"{name} {', '.join(values)}" for name, values in selectors.items())
    many = f"{rule.quorum} people" if rule.quorum > 1 else ""
    return RuleRow(
        where=rule.where,
        decide=rule.decide,
        selectors=words or "everything",
        condition=rule.condition.source if rule.condition else "",
        who=", ".join(filter(None, (many, *rule.approvers))),
        reason=rule.reason,
        reaches=len(reached(rule, registry)),
        note=note,
    )


def read_arguments(text: str) -> dict[str, JsonValue] | None:
    """Read the arguments of a call from JSON; None for an empty text. Raises SetupError for no object."""
    if not text.strip():
        return None
    try:
        return _OBJECT.validate_python(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise SetupError("the arguments are no JSON object", 'write them like {"path": "a.md"}') from error


def call_ruling(
    capability: Capability, args: dict[str, JsonValue] | None, context: CallContext, ask_from: Risk
) -> CallRuling:
    """Ask the policy about one call; nothing is called. Raises what a preflight of the capability does."""
    explanation = explain_ruling(capability, args, context, references=True)
    looks = [
        (match.rule.where, match.rule.decide, match.note or VERDICT_TEXT[match.verdict])
        for match in explanation.matches
    ]
    flaw = "" if args is None else "; ".join(misfits(capability, args))
    filled = {**capability.defaults, **(args or {})}
    judged = judge(capability.narrowed(filled, context), filled, context, ask_from, references=True)
    unknown = "that depends on arguments that are not known yet" if explanation.ruling.undecided else ""
    own = ", at a gate of its own" if judged.own_gate else ""
    asks = f"a person is asked{own}: {judged.reason}" if judged.asks else "nobody is asked"
    consent = "nobody is asked: the call is not made" if judged.denied else asks
    return CallRuling(explanation, looks, flaw, unknown or consent)
