"""Chains as capabilities, checked before they are made.

A chain has no function of its own. It is called step by step, each step through the gateway
(`nodes/steps/chain_parts.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from pydantic import BaseModel, ConfigDict, Field, JsonValue, create_model

from planwright.capabilities.arguments import check_arguments
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.chains import rules as chain_rules
from planwright.capabilities.contract import Capability, Guide, PartCall
from planwright.capabilities.registry import Registry, words
from planwright.domain.chain import Chain, ChainCall, ChainParameter, InputType
from planwright.domain.errors import CapabilityRejected
from planwright.domain.references import has_reference, reference_paths, resolve_params, whole_reference
from planwright.domain.risk import EFFECTS, MODES, Effect, Risk, highest_risk

LATER = frozenset(("previous_result", "steps"))  # what is known only while a chain runs
_TYPES: dict[InputType, object] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list[JsonValue],
    "object": dict[str, JsonValue],
    "any": JsonValue,
}


class _StepDefinition(BaseModel):
    """One step of a definition."""

    capability: str
    """Name of the tool; models may write it as function calling does, with `__`."""
    arguments: dict[str, JsonValue]
    """Its arguments, with references to what comes before."""
    id: str = ""
    """Name of the step; "" for its number."""


class _InputSchema(BaseModel):
    """The declared arguments of a definition."""

    properties: dict[str, ChainParameter]
    """The arguments by name."""


class _Definition(BaseModel):
    """The arguments of `tool.create_chain`, as checked by its schema."""

    name: str
    """Name that the chain is to have."""
    description: str
    """What it does."""
    steps: list[_StepDefinition]
    """Its calls, in order."""
    input_schema: _InputSchema | None = None
    """Its arguments; None for those that its steps refer to."""


def compose_chain(
    definition: Mapping[str, JsonValue], tools: Registry, everything: Registry, call_context: CallContext
) -> Capability:
    """Check the arguments of `tool.create_chain` and make the chain they define; nothing is stored.

    `tools` holds what whoever makes it may call, `everything` whose names are taken. Raises
    CapabilityRejected with what is wrong.
    """
    return as_capability(checked_chain(definition, tools, everything, call_context), tools)


def checked_chain(
    arguments: Mapping[str, JsonValue], tools: Registry, everything: Registry, call_context: CallContext
) -> Chain:
    """Check a definition as `compose_chain` does, and return it as a chain."""
    definition = _Definition.model_validate(arguments)
    calls = [_call(n, step, tools) for n, step in enumerate(definition.steps, 1)]
    name, schema = definition.name, definition.input_schema
    flaws = [chain_rules.part_flaws(n, call, name, tools, everything) for n, call in enumerate(calls, 1)]
    flaws = [flaw for flaw in flaws if flaw] + [*chain_rules.id_flaws(calls)]
    if flaws:
        raise _refused(name, flaws)
    parts = [_part(call, tools) for call in calls]
    used = _inputs(calls, parts)
    flaws = [*chain_rules.input_flaws(used, None if schema is None else schema.properties)]
    inputs = used if schema is None or flaws else {n: schema.properties[n] for n in used}
    chain = Chain(name=name, description=definition.description, inputs=inputs, calls=tuple(calls))
    flaws += [*chain_rules.size_flaws(chain), *chain_rules.name_flaws(chain, everything)]
    for position in range(1, len(calls) + 1):
        flaws += chain_rules.call_flaws(position, chain, parts, call_context)
    if flaws:
        raise _refused(name, flaws)
    return chain


def as_capability(chain: Chain, allowed: Registry) -> Capability:
    """Let a chain be looked at like any capability: its arguments, and the gravest of its parts.

    Raises CapabilityRejected when a part of it may not be used.
    """
    parts = [_part(call, allowed) for call in chain.calls]
    fields: dict[str, Any] = {
        name: (_TYPES[spec.type], Field(description=spec.description or None))
        for name, spec in chain.inputs.items()
    }
    row, (risk, effect) = _Row(chain, parts), gravest(parts)
    names = " → ".join(call.capability for call in chain.calls)
    return Capability(
        name=chain.name,
        description=f"{chain.description} (a chain of this run: {names})",
        function=_not_a_function,
        args=create_model(chain.name, __config__=ConfigDict(extra="forbid"), **fields),
        result=parts[-1].result,
        mode=max((part.mode for part in parts), key=MODES.index),
        risk=risk,
        effect=effect,
        tags=tuple(sorted(words(chain.name.replace("_", " ")))),
        guide=Guide("A chain made in this run; its result is that of its last step.", (), 50),
        preflight=row.preflight,
        varies=row.varies if any(part.varies for part in parts) else None,
        declared=all(part.declared for part in parts),
        result_schema=parts[-1].result_schema,
        chain=chain,
        calls=row.calls,
    )


@dataclass(frozen=True)
class _Row:
    """What is known of the calls of a chain before they are made."""

    chain: Chain
    """Definition of the chain."""
    parts: Sequence[Capability]
    """Capabilities that its calls call, in order."""

    def calls(self, args: Mapping[str, JsonValue] | None) -> list[PartCall]:
        return [
            PartCall(
                part,
                None if args is None else known_arguments(call, args),
                args is not None and is_known(call),
            )
            for call, part in zip(self.chain.calls, self.parts, strict=True)
        ]

    def preflight(self, args: Mapping[str, JsonValue], context: CallContext) -> None:
        for call in self.calls(args):
            if call.args is not None and not has_reference(call.args):
                call.part.check(check_arguments(call.part, call.args), context)

    def varies(self, args: Mapping[str, JsonValue], context: CallContext) -> tuple[Risk, Effect]:
        return gravest([call.part.narrowed(_filled(call), context) for call in self.calls(args)])


def gravest(parts: Sequence[Capability]) -> tuple[Risk, Effect]:
    """Say what risk and effect all of some calls have together. As a whole nobody can look them up."""
    effect = max((part.effect for part in parts), key=EFFECTS.index)
    return highest_risk(*(part.risk for part in parts)), "blind" if effect == "queryable" else effect


def _filled(call: PartCall) -> dict[str, JsonValue]:
    return {**call.part.defaults, **(call.args or {})}


def known_arguments(call: ChainCall, args: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Resolve what one call takes of its chain's arguments; what earlier calls bring stays a reference.

    To be shown and ruled on, never to be resolved again. Raises CapabilityRejected for a missing argument.
    """
    return resolve_params(call.arguments, {"input": dict(args)}, LATER)


def is_known(call: ChainCall) -> bool:
    """Say whether the arguments of a call follow from those of its chain alone."""
    return all(path[0] not in LATER for path in reference_paths(dict(call.arguments)))


def _call(position: int, step: _StepDefinition, tools: Registry) -> ChainCall:
    """Read one step as it was given; models may spell a tool as function calling does, with `__`."""
    name = step.capability if step.capability in tools else step.capability.replace("__", ".")
    return ChainCall(id=step.id or str(position), capability=name, arguments=step.arguments)


def _part(call: ChainCall, allowed: Registry) -> Capability:
    capability = allowed.get(call.capability)
    if capability is None:
        raise CapabilityRejected(f"{call.capability}, a part of the chain, may not be used here")
    return capability


def _inputs(calls: Sequence[ChainCall], parts: Sequence[Capability]) -> dict[str, ChainParameter]:
    """Derive the arguments of a chain from what its calls refer to.

    One that is handed on whole has the JSON type of what it is handed to; where they differ, any.
    """
    types: dict[str, set[InputType]] = {}
    for call, part in zip(calls, parts, strict=True):
        for path in reference_paths(dict(call.arguments)):
            if path[0] == "input" and len(path) > 1:
                types.setdefault(path[1], set())
        for argument, value in call.arguments.items():
            whole = whole_reference(value) if isinstance(value, str) else None
            for path in reference_paths(value):
                if path[0] == "input" and len(path) > 1:
                    handed = path == whole and len(path) == 2
                    types[path[1]].add(_type_of(part, argument) if handed else "any")
    return {name: ChainParameter(type=next(iter(t)) if len(t) == 1 else "any") for name, t in types.items()}


def _type_of(part: Capability, argument: str) -> InputType:
    type_ = part.args_schema.get("properties", {}).get(argument, {}).get("type")
    return type_ if type_ in _TYPES else "any"


def _refused(name: str, flaws: Sequence[str]) -> CapabilityRejected:
    more = f" (and {len(flaws) - 5} more)" if len(flaws) > 5 else ""
    return CapabilityRejected(
        f"the chain {name!a} cannot be made: {'; '.join(flaws[:5])}{more}", "mend that, and make it again"
    )


def _not_a_function(**_: object) -> NoReturn:
    raise CapabilityRejected("a chain is called step by step")
