"""What the arguments of a call stand for, on its card: the ticket, not its number alone.

A description is as it was when the card was made. The value itself always stands beside it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from langgraph.errors import GraphBubbleUp
from pydantic import JsonValue

from planwright.approvals.cards import Card, card_steps
from planwright.approvals.rewrites import shown_rewrite
from planwright.approvals.step_phrases import phrases_of
from planwright.capabilities.arguments import as_called
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.registry import Registry
from planwright.domain.errors import RunStopped
from planwright.domain.hashing import json_text, same
from planwright.domain.plan import DELEGATE
from planwright.domain.references import has_reference
from planwright.presentation.printable import one_line

T = TypeVar("T")
LONGEST, PATIENCE_S = 200, 5.0
_LOG = logging.getLogger("planwright.approvals")


async def with_descriptions(card: Card, registry: Registry, context: CallContext) -> Card:
    """Say on the card of a call, or of each of a reply, what it does and what its arguments stand for."""
    calls = card.get("calls")
    if isinstance(calls, list):
        each = [
            await _with(call, call.get("args"), registry, context) for call in calls if isinstance(call, dict)
        ]
        return {**card, "calls": [*each]}
    return await _with(card, card.get("args"), registry, context)


async def with_step_descriptions(card: Card, registry: Registry, context: CallContext) -> Card:
    """Say on the card of a plan what the arguments of its steps stand for, as far as they are known."""
    steps: list[JsonValue] = []
    for step in card_steps(card):
        params, values = step.get("params"), step.get("values")
        filled = {**params, **values} if isinstance(params, dict) and isinstance(values, dict) else params
        changes = step["effect"] != "pure" and step["id"] not in _done(card)
        steps.append(await _with(step, filled, registry, context, values) if changes else step)
    return {**card, "steps": steps}


async def _with(
    card: Card, args: JsonValue, registry: Registry, context: CallContext, values: JsonValue = None
) -> Card:
    """Describe one call; of the arguments of a step those that are not among its `values` may refer."""
    capability = registry.get(str(card["capability"]))
    if capability is None or not isinstance(args, dict):
        return card
    literal = values if isinstance(values, dict) else args if "params" not in card else {}
    known = {name: value for name, value in args.items() if name in literal or not has_reference(value)}
    idle: list[JsonValue] = [name for name, value in known.items() if _is_idle(capability, name, value)]
    described = await _described(capability, known, context)
    marks = [_missing(name, known[name], entry) for name, entry in described.items() if entry.get("missing")]
    replaced = await _answer_of(capability, capability.rewrites, known, context) or ()
    rewrites: list[JsonValue] = [shown_rewrite(rewrite, context.redactor) for rewrite in replaced]
    seen = card.get("marks")
    return {
        **card,
        **phrases_of(capability),
        **({"described": {**described}} if described else {}),
        **({"idle": idle} if idle else {}),
        **({"rewrites": rewrites} if rewrites else {}),
        **_undo(card, capability, registry),
        **({"marks": [*marks, *(seen if isinstance(seen, list) else ())]} if marks else {}),
    }


def _undo(card: Card, capability: Capability, registry: Registry) -> Card:
    """Name what undoes a call once it is made, "" for nothing; calls of an agent or a chain say it alone."""
    if card.get("effect") == "pure" or capability.calls is not None or capability.name == DELEGATE:
        return {}
    planned, declared = card.get("compensation"), capability.compensation
    by = planned.get("capability") if isinstance(planned, dict) else declared and declared.capability
    return {"undo_by": by if isinstance(by, str) and by in registry else ""}


def _is_idle(capability: Capability, name: str, value: JsonValue) -> bool:
    """Say whether an argument says nothing: it is empty, and would be so if it were left out."""
    default = capability.defaults.get(name, ...)
    return value in (None, "", [], {}) and default is not ... and same(value, default)


async def _described(
    capability: Capability, args: dict[str, JsonValue], context: CallContext
) -> dict[str, Card]:
    """Ask a capability what arguments stand for; nothing where it cannot say, or not in time."""
    redacted = context.redactor.text
    described = await _answer_of(capability, capability.describe, args, context) or {}
    return {
        name: {
            "text": _short(redacted(entry.text)),
            **({"untrusted": True} if entry.untrusted else {}),
            **({"missing": True} if entry.missing else {}),
        }
        for name, entry in described.items()
        if name in args
    }


async def _answer_of(
    capability: Capability,
    ask: Callable[[Mapping[str, JsonValue], CallContext], Awaitable[T]] | None,
    args: dict[str, JsonValue],
    context: CallContext,
) -> T | None:
    """Ask a part of a declaration about a call, as it will be made; None where it does not say in time."""
    if ask is None:
        return None
    called = as_called(capability, args, literal=True)
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await ask({name: called[name] for name in args}, context)
    except (GraphBubbleUp, RunStopped):
        raise
    except Exception as error:  # noqa: BLE001 - it may be a user's own; the card has the values themselves
        cause = context.redactor.text(f"{type(error).__name__}: {error}")
        _LOG.warning("%s cannot say what its arguments stand for: %s", capability.name, cause)
        return None


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1].rstrip()}…"


def _missing(name: str, value: JsonValue, entry: Mapping[str, JsonValue]) -> str:
    text = value if isinstance(value, str) else json_text(value)
    return one_line(f"{name} {_short(text)}: {entry['text']}")


def _done(card: Card) -> Mapping[str, JsonValue]:
    done = card.get("done")
    return done if isinstance(done, dict) else {}
