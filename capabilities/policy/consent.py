"""Consent: the one rule about which calls a person decides over, wherever a call comes from.

What the policy denies is never made. What is destructive, or what the policy asks about, has a gate of its
own. From the threshold on a call asks; once its lane has read what others wrote, it is *tainted*, and every
effect asks from Low on, and so does a read that carries data out. Two things cover a call that asks by its
risk: a rule of the workspace's policy that allows the capability by name, and, for a tainted call below the
threshold, that the user has wished it: all that it carries stands in one sentence that is recognised as a
wish. A delegation covers a call of mode `delegated` in a lane that is not tainted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pydantic import JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.policy.decide import decide
from planwright.capabilities.policy.rulings import Ruling
from planwright.domain.errors import CapabilityForbidden
from planwright.domain.hashing import same
from planwright.domain.plan import CLOSING, WHOLE
from planwright.domain.references import has_reference
from planwright.domain.risk import Risk, at_least
from planwright.language.first_person import holds, trimmed
from planwright.language.wishes.wishes import wishes

TAINTED_FROM: Risk = "Low"
TELLING = 3  # letters: that a 1 stands somewhere in a message says nothing
AFTER_READING = "after reading what others wrote"
DENIES = "the policy denies"
"""How the refusal of a call begins that the policy denies; the envelope of a lane knows it by that."""


@dataclass(frozen=True)
class Judgement:
    """Whether a call may be made, and who has to be asked first."""

    ruling: Ruling
    """What the policy answers."""
    asks: bool
    """Whether a person has to decide, unless an approved plan that shows the call covers it."""
    own_gate: bool
    """Whether no approved plan covers it, so that it asks at a gate of its own."""
    reason: str
    """Why it asks; "" where it does not."""
    undecided: bool = False
    """Whether it asks only because a value is not known yet."""

    @property
    def denied(self) -> bool:
        """Whether the policy denies the call, whoever is asked."""
        return self.ruling.answer == "deny"


def judge(
    capability: Capability,
    args: Mapping[str, JsonValue],
    context: CallContext,
    ask_from: Risk | None,
    *,
    risk: Risk | None = None,
    references: bool = False,
) -> Judgement:
    """Judge one call of the tenant, agent and lane that `context` names.

    `ask_from` is the threshold, None for none; `risk` a graver one than the capability's own; `references`
    when `{{…}}` in the arguments still stands for something. Raises CapabilityRejected as `decide` does.
    """
    ruling = decide(capability, args, context, references=references)
    if ruling.answer == "deny" or capability.name in (*CLOSING, WHOLE):
        return Judgement(ruling, asks=False, own_gate=False, reason=ruling.reason)
    if capability.calls is not None:
        by_risk = _of_chain(capability, args, context, ask_from, risk)
    else:
        by_risk = _by_risk(capability, args, context, ask_from, risk or capability.risk, references)
    if ruling.named and not by_risk.own_gate:
        by_risk = _FREE
    if ruling.delegated and not context.tainted and not _graver(risk, capability.risk):
        by_risk = _FREE
    destructive = capability.mode == "destructive"
    if ruling.answer == "ask" or destructive:
        undecided = ruling.undecided and not destructive
        return Judgement(ruling, asks=True, own_gate=True, reason=ruling.reason, undecided=undecided)
    reason = by_risk.reason or ruling.reason
    return Judgement(ruling, by_risk.asks, by_risk.own_gate, reason, by_risk.own_gate)


def consent_to(
    capability: Capability, args: Mapping[str, JsonValue], context: CallContext, ask_from: Risk | None
) -> Judgement:
    """Judge one call whose arguments are known. Raises CapabilityForbidden for one that the policy denies."""
    judged = judge(capability, args, context, ask_from)
    if judged.denied:
        raise CapabilityForbidden(f"{DENIES} {capability.name}: {judged.ruling.why}")
    return judged


def _graver(risk: Risk | None, declared: Risk) -> bool:
    return risk is not None and not at_least(declared, risk)


@dataclass(frozen=True)
class _ByRisk:
    """What risk and taint alone say of a call."""

    asks: bool
    """Whether a person has to decide."""
    own_gate: bool = False
    """Whether no approved plan covers it."""
    reason: str = ""
    """Why it asks; "" where it does not."""


_FREE = _ByRisk(asks=False)


def _by_risk(
    capability: Capability,
    args: Mapping[str, JsonValue],
    context: CallContext,
    ask_from: Risk | None,
    risk: Risk,
    references: bool,
) -> _ByRisk:
    unknown = references and context.tainted
    if carries_out(capability):
        if not context.tainted or _in_own_words(capability, args, context.request, least=0):
            return _over(risk, ask_from)
        return _ByRisk(True, own_gate=unknown and has_reference(dict(args)), reason=_tainted("it sends data"))
    graver = _over(risk, ask_from)
    if capability.effect == "pure" or not context.tainted or not at_least(risk, TAINTED_FROM):
        return graver
    elsewhere = unknown and any(map(has_reference, shown_once_known(capability, args)))
    if not graver.asks and _in_own_words(capability, args, context.request, least=1):
        return _FREE
    return _ByRisk(True, own_gate=elsewhere, reason=_tainted(f"risk {risk}"))


def _of_chain(
    chain: Capability,
    args: Mapping[str, JsonValue],
    context: CallContext,
    ask_from: Risk | None,
    risk: Risk | None,
) -> _ByRisk:
    """Judge the calls of a chain one by one; each that reads what others wrote taints those behind it."""
    parts = []
    for call in chain.calls(args) if chain.calls else ():
        filled = {**call.part.defaults, **(call.args or {})}
        part = call.part.narrowed(filled, context)
        parts.append(_by_risk(part, filled, context, ask_from, part.risk, references=not call.known))
        context = replace(context, tainted=context.tainted or not part.trusted_result)
    asking = [part for part in parts if part.asks]
    if not asking:
        return _over(risk or "None", ask_from)
    return _ByRisk(True, reason=asking[0].reason)


def shown_once_known(capability: Capability, args: Mapping[str, JsonValue]) -> list[JsonValue]:
    """List what a call is given that a person is shown once it is known, if others or a model wrote it.

    That is its destinations; all, where it declares none, or where what it carries leaves the workspace.
    """
    leaves = capability.mode in ("network", "delegated", "destructive")
    if capability.destinations and not leaves:
        return [args.get(name) for name in capability.destinations]
    return [*args.values()]


def carries_out(capability: Capability) -> bool:
    """Say whether a call changes nothing and yet tells somebody outside what it is given."""
    return capability.effect == "pure" and capability.mode == "network"


def _over(risk: Risk, ask_from: Risk | None) -> _ByRisk:
    asks = ask_from is not None and at_least(risk, ask_from)
    return _ByRisk(True, reason=f"risk {risk}") if asks else _FREE


def _tainted(action: str) -> str:
    return f"{action}, {AFTER_READING}"


def _in_own_words(capability: Capability, args: Mapping[str, JsonValue], request: str, *, least: int) -> bool:
    """Say whether all that a call carries, `least` telling values or more, is in one wish of the user's.

    A destination is compared to the letter, a dot at its end and double spaces in it too.
    """
    values = list(chosen_values(capability, args))
    telling = [value for value in values if sum(map(str.isalpha, value)) >= TELLING]
    if len(telling) < least:
        return False
    places = [value for name in capability.destinations for value in _leaves(args.get(name))]
    if any(value != trimmed(value) for value in places):
        return False
    wished = [wish.effect if least else wish.sentence for wish in wishes(request)]
    return not values or any(all(holds(wish, value) for value in values) for wish in wished)


def chosen_values(capability: Capability, args: Mapping[str, JsonValue]) -> Iterator[str]:
    """Walk the texts and numbers that a caller chose freely: neither a default nor one of a fixed list."""
    properties = capability.args_schema.get("properties", {})
    for name, value in args.items():
        fixed = "enum" in properties.get(name, {})
        if not fixed and not (name in capability.defaults and same(capability.defaults[name], value)):
            yield from _leaves(value)


def _leaves(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)
