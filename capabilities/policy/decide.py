"""The policy: a pure function from a call to allow, ask or deny, by ordered rules.

Every `deny` is looked at first, and any that matches wins over all else. Then the first other rule that
matches decides, and the catch-all where none does. The mode of the capability is the floor below that:
no rule makes a call freer than its declaration. A rule that cannot be evaluated never allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from urllib.parse import urlsplit

from pydantic import JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability, PartCall
from planwright.capabilities.expression import Values
from planwright.capabilities.policy.condition import FROM_ARGS
from planwright.capabilities.policy.file import Policy, PolicyAnswer, Rule
from planwright.capabilities.policy.rulings import (
    NOBODY,
    STRICTNESS,
    Explanation,
    RuleMatch,
    Ruling,
    stricter,
)
from planwright.domain.errors import CapabilityRejected
from planwright.domain.plan import CLOSING, DELEGATE, WHOLE
from planwright.domain.references import has_reference
from planwright.domain.verified_step import PolicyEvidence
from planwright.records.consent.delegations import Delegation
from planwright.settings.egress import HostPort, on_list, read_host_port

UNRULED = (*CLOSING, WHOLE)  # last words and own results: a run has them whatever it may do (as in Profile)


def decide(
    capability: Capability,
    args: Mapping[str, JsonValue] | None,
    context: CallContext,
    *,
    references: bool = False,
) -> Ruling:
    """Rule on one call of the tenant and agent that `context` names.

    `args` None when none is known; `references` when `{{…}}` in them still stands for something.
    Raises CapabilityRejected when the capability cannot say which hosts it reaches.
    """
    return explain_ruling(capability, args, context, references=references).ruling


def explain_ruling(
    capability: Capability,
    args: Mapping[str, JsonValue] | None,
    context: CallContext,
    *,
    references: bool = False,
) -> Explanation:
    """Rule on one call as `decide` does, and keep what was looked at.

    A chain has the strictest answer to one of its calls; each is ruled on again when it is made.
    """
    if capability.calls is not None:
        return _strictest(capability.calls(args), context, references)
    if capability.name in UNRULED:
        free = Ruling("allow", f"{capability.name} is no matter of policy")
        return Explanation(free, (), free)
    if undecided := context.policy.undecided(capability.name, context.decided):
        reason = f"{capability.name} may be called by a step after decision {undecided} alone"
        denied = Ruling("deny", reason, f"decisions/{undecided}")
        return Explanation(denied, (), denied)
    call = _Call(capability, args, context, references)
    matches: list[RuleMatch] = []
    floor = call.floor
    ruled = _answered(_by_rules(context.policy, call, matches), floor, context.policy)
    return Explanation(stricter(ruled, floor), tuple(matches), floor)


def _answered(ruled: Ruling, floor: Ruling, policy: Policy) -> Ruling:
    """Let a delegation answer the question that the last rule asks of all that no other is about."""
    general = ruled.rule == policy.last.where and ruled.people == NOBODY
    if floor.delegated and general and ruled.answer == "ask":
        return replace(ruled, answer="allow", reason=floor.reason)
    return ruled


def _strictest(calls: Sequence[PartCall], context: CallContext, references: bool) -> Explanation:
    """Rule on each call of a chain, and take the strictest; the first that names approvers speaks first.

    Without approvers, it is the one that the most people have to approve. Where one of them is not for who
    asked, the chain is not.
    """
    each = [_part(call, context, references) for call in calls]
    answer = max((part.ruling.answer for part in each), key=STRICTNESS.index)
    agreeing = [part for part in each if part.ruling.answer == answer]
    named = (part for part in agreeing if part.ruling.approvers)
    speaker = next(named, None) or max(agreeing, key=lambda part: part.ruling.quorum)
    undecided = all(part.ruling.undecided for part in agreeing)
    matches = tuple(match for part in each for match in part.matches)
    named_all = all(part.ruling.named for part in each)
    excluded = any(part.ruling.exclude_requester for part in agreeing)
    ruling = replace(
        speaker.ruling, undecided=undecided, named=named_all, delegated=False, exclude_requester=excluded
    )
    return Explanation(ruling, matches, speaker.floor)


def _part(call: PartCall, context: CallContext, references: bool) -> Explanation:
    """Rule on one call of a chain; one whose arguments are not known, and cannot be ruled on yet, asks."""
    waiting = (references or not call.known) and has_reference(call.args or {})
    try:
        explanation = explain_ruling(call.part, call.args, context, references=waiting)
    except CapabilityRejected:
        if not waiting:
            raise
        ask = Ruling("ask", "its arguments are not known beforehand", undecided=True)
        explanation = Explanation(ask, (), ask)
    reason = f"{call.part.name}: {explanation.ruling.reason or explanation.ruling.answer}"
    return replace(explanation, ruling=replace(explanation.ruling, reason=reason))


def evidence(ruling: Ruling, context: CallContext) -> PolicyEvidence:
    """Put on record which rule of which policy asked, and who may answer."""
    return PolicyEvidence(
        rule=ruling.rule,
        version=context.policy.hash,
        approvers=ruling.approvers,
        quorum=ruling.quorum,
        exclude_requester=ruling.exclude_requester,
        undecided=ruling.undecided,
    )


def _by_rules(policy: Policy, call: _Call, matches: list[RuleMatch]) -> Ruling:
    doubt = None
    for rule in policy.denies:
        match = call.match(rule)
        matches.append(match)
        if match.verdict in ("yes", "error"):
            return _ruling(match, "deny")
        if match.verdict == "unknown":
            doubt = doubt or _ruling(match, "ask")
    for rule in (*policy.others, policy.last):
        match = call.match(rule)
        matches.append(match)
        if match.verdict != "no":
            ruled = _ruling(match, rule.decide if match.verdict == "yes" else "ask", call.name)
            return doubt if doubt and ruled.answer == "allow" else ruled
    raise AssertionError("the last rule matches everything")


def _ruling(match: RuleMatch, answer: PolicyAnswer, name: str = "") -> Ruling:
    rule = match.rule
    named = answer == "allow" and name in (rule.match.capability or ())
    reason = f"{rule.where}: {match.note}" if match.note else rule.reason
    people = (rule.approvers, rule.quorum, rule.exclude_requester) if answer == "ask" else NOBODY
    return Ruling(answer, reason, rule.where, *people, match.verdict == "unknown", named)


class _Call:
    """The facts about one call that rules may ask for, worked out when they do."""

    def __init__(
        self,
        capability: Capability,
        args: Mapping[str, JsonValue] | None,
        context: CallContext,
        references: bool,
    ) -> None:
        self._args = None if args is None else {**capability.defaults, **args}
        self._capability = (
            capability.by_answer(context) if self._args is None else capability.narrowed(self._args, context)
        )
        self._context = context
        self._unknown = self._not_yet_known(references)
        self._settled = self._args is not None and not self._unknown

    @property
    def name(self) -> str:
        """The capability that is called."""
        return self._capability.name

    def match(self, rule: Rule) -> RuleMatch:
        """Find out whether a rule matches this call."""
        capability, match, condition = self._capability, rule.match, rule.condition
        may_vary = bool(capability.varies) and not self._settled
        if not match.declared(capability.name, capability.mode, None if may_vary else capability.risk):
            return RuleMatch(rule, "no")
        if not match.of_tenant(self._context.tenant):
            return RuleMatch(rule, "no")
        if may_vary and (match.risk or (condition and "risk" in condition.names)):
            return RuleMatch(rule, "unknown", "the risk of the call is not known before its arguments are")
        if condition is None:
            return RuleMatch(rule, "yes")
        facts = self._with_hosts if self._settled and condition.names & FROM_ARGS else self._facts
        return RuleMatch(rule, *condition.judge(facts, self._unknown))

    @cached_property
    def floor(self) -> Ruling:
        """What the mode alone says: no rule allows more."""
        capability = self._capability
        if capability.mode in ("read_only", "local_write") or capability.name == DELEGATE:
            return Ruling("allow", "")
        if capability.mode == "network":
            return self._network()
        if by := self.delegation:
            return Ruling("allow", by.label, delegated=True)
        undeclared = "" if capability.declared else " (it declares no mode)"
        return Ruling("ask", f"{capability.mode} always needs a person{undeclared}")

    @cached_property
    def delegation(self) -> Delegation | None:
        """What a person has delegated that covers the call; nothing covers a destructive one."""
        capability, context = self._capability, self._context
        if capability.mode != "delegated" or context.delegations is None:
            return None
        now, code = context.now(), capability.digest
        return context.delegations.covering(capability.name, capability.risk, context.tenant, now, code)

    def _network(self) -> Ruling:
        unchecked = bool(self._unknown) and not self._capability.preflight
        hosts = None if self._args is None or unchecked else self._hosts
        if hosts is None:
            return Ruling("ask", "the host it reaches is not known beforehand")
        unlisted = [host for host in hosts if not on_egress_list(host, self._context.settings.egress.allow)]
        if unlisted:
            return Ruling("ask", f"{', '.join(unlisted)} is not in egress.allow")
        return Ruling("allow", f"{', '.join(hosts)} is in egress.allow")

    def _not_yet_known(self, references: bool) -> frozenset[str] | None:
        if self._args is None:
            return None
        waiting = (name for name, value in self._args.items() if references and has_reference(value))
        return frozenset(waiting)

    @cached_property
    def _facts(self) -> Values:
        capability, context = self._capability, self._context
        return Values(
            {
                "args": {name: value for name, value in (self._args or {}).items() if value is not None},
                "capability": capability.name,
                "mode": capability.mode,
                "risk": capability.risk,
                "tenant": context.tenant,
                "agent": context.agent,
                "tainted": context.tainted,
            },
            context.request,
        )

    @cached_property
    def _hosts(self) -> Sequence[str] | None:
        return self._capability.reaches(self._args or {}, self._context)

    @cached_property
    def _with_hosts(self) -> Values:
        """`hosts` as host:port, and `host` by its bare name where it is one; neither where unknown."""
        hosts = self._hosts
        if hosts is None:
            return self._facts
        host = {"host": hosts[0].rpartition(":")[0]} if len(hosts) == 1 else {}
        return Values({**self._facts.values, "hosts": list(hosts), **host}, self._context.request)


def on_egress_list(host: str, allow: Sequence[str]) -> bool:
    """Say whether `host:port` is on the egress list, with or without its port."""
    place = read_host_port(host)
    return place is not None and on_list(place.host, place.port, allow)


def host_of(url: str) -> str:
    """Read `host:port` from a URL, with the scheme's default port."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise CapabilityRejected(f"{url!r} is no URL: {error}", "mend it in planwright.toml") from error
    return HostPort(parts.hostname or "", port).text
