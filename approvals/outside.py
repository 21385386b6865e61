"""What a plan will change or send outside, in a line: how often it does what, and where that goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from planwright.approvals.cards import Card, card_steps
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.registry import Registry
from planwright.domain.errors import CapabilityRejected
from planwright.domain.plan import AGENT
from planwright.domain.references import has_reference
from planwright.domain.verified_step import VerifiedStep
from planwright.language.inflection import counted, with_s
from planwright.presentation.step_sentence import argument_text, literal_text

MOST = 5
"""Places that are named; of more their number."""
LONGEST = 80
DEFAULT_PORT = ":443"


@dataclass
class _Calls:
    """The calls of one capability."""

    first: Card
    """The first of their steps, as on the card."""
    capability: Capability | None
    """What is called; None for a task of a model."""
    count: int = 0
    """How many there are."""
    conditional: int = 0
    """How many of them are made only if a condition holds."""
    places: dict[str, None] = field(default_factory=dict)
    """Where they go, each once."""


def with_outside(
    card: Card, checked: Sequence[VerifiedStep], registry: Registry, context: CallContext
) -> Card:
    """Sum up on the card of a plan what it changes or sends: `posts 1 message to team (hooks.example)`."""
    new = {entry.step.id for entry in checked if entry.effect != "pure" and not entry.kept}
    groups: dict[str, _Calls] = {}
    for step in (step for step in card_steps(card) if step["id"] in new):
        name = str(step["capability"])
        calls = groups.setdefault(name, _Calls(step, registry.get(name)))
        calls.count += 1
        calls.conditional += "only_if" in step
        calls.places |= dict.fromkeys(_places(step, calls.capability, context))
    outside: list[JsonValue] = [_phrase(calls) + _condition(calls) for calls in groups.values()]
    return {**card, "outside": outside} if outside else card


def _phrase(calls: _Calls) -> str:
    """Say how often a capability is called, and where that goes."""
    capability, places = calls.capability, _joined([*calls.places])
    if calls.first["capability"] == AGENT:
        return f"leaves {counted(calls.count, 'task')} to a model" + (f" with {places}" if places else "")
    if capability is not None and (deed := capability.deed):
        does = f"{with_s(deed.verb)} {counted(calls.count, deed.noun)}"
        return " ".join(filter(None, (does, deed.preposition, places) if places else (does,)))
    name = str(calls.first.get("does") or calls.first["capability"])
    does = name if calls.count == 1 else f"{name} ({calls.count} times)"
    return f"{does}: {places}" if places else does


def _condition(calls: _Calls) -> str:
    """Say how many of the calls may not be made; "" for none."""
    some = "" if calls.conditional == calls.count else f"{calls.conditional} of them "
    return f" ({some}only if a condition holds)" if calls.conditional else ""


def _places(step: Card, capability: Capability | None, context: CallContext) -> Iterator[str]:
    """Walk where a call goes; a place that is not known yet stands in words."""
    params, values = step.get("params"), step.get("values")
    args = {**(params if isinstance(params, dict) else {}), **(values if isinstance(values, dict) else {})}
    if capability is None:
        tools = args.get("tools")
        yield from map(str, tools if isinstance(tools, list) else ())
        return
    filled = {**capability.defaults, **args}
    deed = capability.deed
    names = (deed.where if deed else ()) or capability.destinations
    known = values if isinstance(values, dict) else {}
    each = [_text(value, name in known) for name in names for value in _flat(filled.get(name))]
    hosts = ", ".join(_hosts(capability, filled, context))
    away = hosts and not any(mark in place for place in each for mark in ("@", "://"))
    yield from [f"{place} ({hosts})" for place in each] if away else each
    if away and not each:
        yield hosts


def _hosts(capability: Capability, args: Mapping[str, JsonValue], context: CallContext) -> Sequence[str]:
    """List the hosts that a call reaches, as far as it says by now."""
    try:
        hosts = capability.reaches(args, context) if not has_reference(dict(args)) else ()
    except CapabilityRejected:  # the call will say so
        return ()
    return [host.removesuffix(DEFAULT_PORT) for host in hosts or ()]


def _flat(value: JsonValue) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [str(item) for item in items if item not in (None, "")]


def _text(value: str, known: bool) -> str:
    """Spell a place, cut where it is long: its step shows it whole."""
    text = literal_text(value) if known or "{{" not in value else argument_text(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _joined(places: Sequence[str]) -> str:
    more = len(places) - MOST
    return ", ".join([*places[:MOST], *([f"{more} more"] if more > 0 else [])])
