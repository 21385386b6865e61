"""Pins: what a capability and the policy were when a card was made: an approval covers nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.gateway.read_files import FileContent, files_read, shown_files
from planwright.capabilities.policy.file import SEMANTICS, Policy
from planwright.capabilities.registry import Registry
from planwright.domain.errors import CapabilityChanged
from planwright.domain.hashing import sha256
from planwright.domain.verified_step import VerifiedStep
from planwright.settings.profile import stands_for

GONE = "gone"
_FILES = "the content of a file that it passes on"
NO_PIN = "it is not on record what it would call"


def pin_now(checked: VerifiedStep, registry: Registry, context: CallContext) -> str:
    """Name what a recorded step would call now, and the rules that matter for it; `gone` where it is gone.

    Spelled `<hash of what is called>.<16 hex digits of the rules>`, and `.<16 of the files>` where an effect
    passes files on. Rules about others come and go.
    """
    code, content = code_pin(checked, registry, context), _content_pin(checked, registry, context)
    return code if code == GONE or not content else f"{code}.{content}"


def code_pin(checked: VerifiedStep, registry: Registry, context: CallContext) -> str:
    """Name what a step would call, and the rules for it, without looking at files."""
    tools = {name: registry.get(name) for name in callable_names(checked)}
    capability = tools.get(checked.step.capability or "")
    if checked.step.agentic or checked.chain:
        called = sha256([(name, tool and tool.digest) for name, tool in tools.items()])[:16]
    elif capability is None:
        return GONE
    else:
        called = capability.digest
    definition = f"{checked.chain.hash[:16]}-" if checked.chain else ""
    return f"{definition}{called}.{_rules_hash(checked, tools, context.policy)[:16]}"


def without_files(pin: str) -> str:
    """Leave out of a pin what it says of files."""
    return ".".join(pin.split(".")[:2])


def _content_pin(checked: VerifiedStep, registry: Registry, context: CallContext) -> str:
    files = read_by(checked, registry, context)
    return sha256([[file.path, file.sha256] for file in files])[:16] if files else ""


def read_by(checked: VerifiedStep, registry: Registry, context: CallContext) -> tuple[FileContent, ...]:
    """Look at the files that a step passes on, as far as its arguments are known."""
    capability = registry.get(checked.step.capability or "")
    if capability is None or checked.chain or checked.step.agentic:
        return ()
    return files_read(capability, checked.step.params, context, checked.effect)


def files_shown(
    steps: Iterable[VerifiedStep], registry: Registry, context: CallContext
) -> dict[str, dict[str, JsonValue]]:
    """Show the files that steps pass on, by the ids of the steps; those that pass none on are left out."""
    cards = {step.step.id: shown_files(read_by(step, registry, context)) for step in steps}
    return {id_: files for id_, files in cards.items() if files}


def check_pin(checked: VerifiedStep, registry: Registry, context: CallContext) -> None:
    """Raise CapabilityChanged for a step that would call something else than was verified.

    The files that it passes on count where a person was shown them.
    """
    now, before = code_pin(checked, registry, context), without_files(checked.pin)
    if checked.asks or checked.gated:
        now, before = pin_now(checked, registry, context), checked.pin
    if now in (before, GONE):
        return
    if not checked.pin:
        raise CapabilityChanged(NO_PIN, "it is asked for again")
    changed = checked.step.shown_name
    if now.split(".")[0] == checked.pin.split(".")[0]:
        changed = _FILES if now.split(".")[1] == checked.pin.split(".")[1] else "the policy"
    raise CapabilityChanged(f"{changed} has changed since it was shown", "it is asked for again")


async def check_files(
    checked: VerifiedStep, approved: bool, registry: Registry, context: CallContext
) -> None:
    """Raise CapabilityChanged where a step of an `approved` plan passes on other files than that showed."""
    content = checked.pin.removeprefix(without_files(checked.pin)).lstrip(".")
    if approved and content and content != await asyncio.to_thread(_content_pin, checked, registry, context):
        raise CapabilityChanged(f"{_FILES} has changed since it was shown", "it is asked for again")


def callable_names(checked: VerifiedStep) -> list[str]:
    """Name what a step may call, in order: its capability, its model's tools, or its chain's parts."""
    if checked.step.agentic:
        return sorted(checked.step.tool_hints)
    return sorted(checked.chain.needs) if checked.chain else [checked.step.capability or ""]


def _rules_hash(checked: VerifiedStep, tools: Mapping[str, Capability | None], policy: Policy) -> str:
    """Hash what can matter for a step: rules that its tools fit, decisions before it, gates it names."""
    modes = {name: tool.mode if tool else None for name, tool in tools.items()}
    rules = [
        rule.hash
        for rule in policy.rules
        if any(
            (rule.match.capability is None or any(stands_for(glob, name) for glob in rule.match.capability))
            and (rule.match.mode is None or mode is None or mode in rule.match.mode)
            for name, mode in modes.items()
        )
    ]
    decisions = [
        spec
        for id_, spec in policy.decisions.items()
        if id_ in checked.decisions or any(map(spec.covering, modes))
    ]
    names = {*checked.step.requires, *(gate for spec in decisions for gate in spec.gates)}
    gates = {name: gate.model_dump(mode="json") for name, gate in policy.gates.items() if name in names}
    return sha256([SEMANTICS, rules, [spec.model_dump(mode="json") for spec in decisions], gates])


def changed_since(
    steps: Mapping[str, VerifiedStep], registry: Registry, context: CallContext, done: Iterable[str] = ()
) -> list[str]:
    """Say in words what has changed since steps were verified; those in `done` do not run again.

    What is gone is not listed: its step fails, and says so.
    """
    finished = set(done)
    changes: list[str] = []
    for checked in steps.values():
        now = pin_now(checked, registry, context)
        if checked.uid in finished or now in (GONE, checked.pin):
            continue
        changes.append(f"{checked.step.id}: {_how(checked, now, registry)}")
    return changes


def _how(checked: VerifiedStep, now: str, registry: Registry) -> str:
    if not checked.pin:
        return NO_PIN
    before = checked.pin.split(".")
    if now.split(".")[0] == before[0]:
        return f"{_FILES if now.split('.')[1] == before[1] else 'the policy'} has changed"
    name = checked.step.shown_name
    capability = registry.get(checked.step.capability or "")
    if capability is not None:
        graver = [
            f"its {field} is {now}, and was {was}"
            for field, now, was in (
                ("mode", capability.mode, checked.mode),
                ("risk", capability.risk, checked.risk),
            )
            if now != was
        ]
        if graver and not capability.varies:
            return f"{name} has changed: {', '.join(graver)}"
    return f"{name} has changed since it was shown"
