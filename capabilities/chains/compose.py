"""Chains as capabilities: checked before they are made, beside the registry for the run that made them.

A chain has no function of its own. It is called step by step, each step through the gateway
(`nodes/steps/chain_parts.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from pydantic import ConfigDict, Field, JsonValue, ValidationError, create_model

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.chains import rules as chain_rules
from planwright.capabilities.contract import Capability, Guide, PartCall, check_arguments, explain
from planwright.capabilities.registry import Registry, words
from planwright.checkpoints.chains import MadeChains
from planwright.domain.chain import Chain, ChainCall, ChainInput, InputType
from planwright.domain.errors import CapabilityForbidden, CapabilityRejected
from planwright.domain.plan import CheckedStep
from planwright.domain.references import has_reference, reference_paths, resolve
from planwright.domain.risk import EFFECTS, MODES, Effect, Risk, highest_risk
from planwright.settings.profile import Profile

LATER = frozenset(("previous_result", "steps"))  # what is known only while a chain runs
KEPT_SURFACES = 64
_TYPES: dict[InputType, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list[JsonValue],
    "object": dict[str, JsonValue],
    "any": JsonValue,
}


def compose(
    given: Mapping[str, Any], tools: Registry, everything: Registry, world: CallContext
) -> Capability:
    """Check the arguments of `tool.create_chain` and make the chain they define; nothing is kept.

    `tools` holds what whoever makes it may call, `everything` whose names are taken. Raises
    CapabilityRejected with what is wrong.
    """
    calls = [_call(n, entry, tools) for n, entry in enumerate(given["steps"], 1)]
    name, schema = str(given["name"]), given.get("input_schema")
    flaws = [chain_rules.part_flaws(n, call, name, tools, everything) for n, call in enumerate(calls, 1)]
    flaws = [flaw for flaw in flaws if flaw] + [*chain_rules.id_flaws(calls)]
    if flaws:
        raise _refused(name, flaws)
    parts = [_part(call, tools) for call in calls]
    used = _inputs(calls, parts)
    flaws = [*chain_rules.input_flaws(used, schema and schema["properties"])]
    inputs = used if schema is None or flaws else {n: _given(schema["properties"][n]) for n in used}
    chain = Chain(name=name, description=str(given["description"]), inputs=inputs, calls=tuple(calls))
    flaws += [*chain_rules.size_flaws(chain), *chain_rules.name_flaws(chain, everything)]
    for position in range(1, len(calls) + 1):
        flaws += chain_rules.call_flaws(position, chain, parts, world)
    if flaws:
        raise _refused(name, flaws)
    return as_capability(chain, tools)


def as_capability(chain: Chain, surface: Registry) -> Capability:
    """Let a chain be looked at like any capability: its arguments, and the gravest of its parts.

    Raises CapabilityRejected when a part of it is not on the surface.
    """
    parts = [_part(call, surface) for call in chain.calls]
    fields: dict[str, Any] = {
        name: (_TYPES[one.type], Field(description=one.description or None))
        for name, one in chain.inputs.items()
    }
    row, (risk, effect) = _Row(chain, parts), gravest(parts)
    listed = " → ".join(call.capability for call in chain.calls)
    return Capability(
        name=chain.name,
        description=f"{chain.description} (a chain of this run: {listed})",
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
            PartCall(part, None if args is None else known(call, args), args is not None and is_known(call))
            for call, part in zip(self.chain.calls, self.parts, strict=True)
        ]

    def preflight(self, args: Mapping[str, JsonValue], context: CallContext) -> None:
        for one in self.calls(args):
            if one.args is not None and not has_reference(one.args):
                one.part.check(complete(one.part, one.args), context)

    def varies(self, args: Mapping[str, JsonValue], context: CallContext) -> tuple[Risk, Effect]:
        return gravest([one.part.given(_filled(one), context) for one in self.calls(args)])


def gravest(parts: Sequence[Capability]) -> tuple[Risk, Effect]:
    """Say what risk and effect all of some calls have together. As a whole nobody can look them up."""
    effect = max((part.effect for part in parts), key=EFFECTS.index)
    return highest_risk(*(part.risk for part in parts)), "blind" if effect == "queryable" else effect


def _filled(one: PartCall) -> dict[str, JsonValue]:
    return {**one.part.defaults, **(one.args or {})}


def known(call: ChainCall, args: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Resolve what one call takes of its chain's arguments; what earlier calls bring stays a reference.

    To be shown and ruled on, never to be resolved again. Raises CapabilityRejected for a missing argument.
    """
    resolved = resolve(dict(call.arguments), {"input": dict(args)}, LATER)
    assert isinstance(resolved, dict)
    return resolved


def is_known(call: ChainCall) -> bool:
    """Say whether the arguments of a call follow from those of its chain alone."""
    return all(path[0] not in LATER for path in reference_paths(dict(call.arguments)))


def complete(part: Capability, arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Check arguments that are all known, and fill in defaults. Raises CapabilityRejected."""
    try:
        return check_arguments(part, arguments)
    except ValidationError as error:
        raise CapabilityRejected(f"{part.name} was given bad arguments: {explain(error)}") from error


class Chains:
    """The chains of each run, beside one registry."""

    def __init__(self, registry: Registry, kept: MadeChains) -> None:
        self._registry = registry
        self._kept = kept
        self._surfaces: dict[tuple[object, ...], Registry] = {}

    async def surface(self, run_id: str, profile: Profile) -> Registry:
        """Find what a run may use: the registry as its profile narrows it, and the chains it has made.

        A chain is there as long as all its parts are.
        """
        allowed, made = self._registry.within(profile), await self._kept.of_run(run_id)
        if not made:
            return allowed
        key = (profile.tools, profile.modes, *(chain.hash for chain in made))
        if key not in self._surfaces:
            while len(self._surfaces) >= KEPT_SURFACES:
                del self._surfaces[next(iter(self._surfaces))]
            whole = (chain for chain in made if all(name in allowed for name in chain.needs))
            named = (chain for chain in whole if chain.name not in self._registry)  # it may be, by now
            self._surfaces[key] = allowed.beside(as_capability(chain, allowed) for chain in named)
        return self._surfaces[key]

    async def has(self, run_id: str, chain: Chain) -> bool:
        """Say whether a run has made exactly this chain."""
        return any(made.hash == chain.hash for made in await self._kept.of_run(run_id))

    async def make(self, given: Mapping[str, Any], call: CallContext) -> Capability:
        """Check a definition once more and keep it for the run of a call. Raises CapabilityRejected."""
        found = compose(given, self._registry, self._registry, call)
        assert found.chain is not None
        await self._kept.make(call.run_id, call.tenant, found.chain, call.now(), call.lease)
        return found


def find(registry: Registry, name: str, checked: CheckedStep, profile: Profile) -> Capability:
    """Look up what a verified step calls, by what its profile permits. Raises CapabilityRejected."""
    surface = registry.within(profile)
    if checked.chain is not None and checked.chain.name == name:
        return as_capability(checked.chain, surface)
    if found := surface.get(name):
        return found
    if surface.withholds(name):
        raise CapabilityForbidden(surface.why_withheld(name))
    raise CapabilityRejected(f"there is no capability {name}")


async def surface_in_run(
    registry: Registry, chains: Chains | None, run_id: str, profile: Profile
) -> Registry:
    """Find what a run may use, where chains may not be kept at all."""
    return registry.within(profile) if chains is None else await chains.surface(run_id, profile)


def _call(position: int, entry: Mapping[str, Any], tools: Registry) -> ChainCall:
    """Read one step as it was given; models may spell a tool as function calling does, with `__`."""
    wanted = str(entry["capability"])
    spelled = wanted if wanted in tools else wanted.replace("__", ".")
    id_ = str(entry.get("id") or position)
    return ChainCall(id=id_, capability=spelled, arguments=dict(entry["arguments"]))


def _part(call: ChainCall, surface: Registry) -> Capability:
    found = surface.get(call.capability)
    if found is None:
        raise CapabilityRejected(f"{call.capability}, a part of the chain, may not be used here")
    return found


def _inputs(calls: Sequence[ChainCall], parts: Sequence[Capability]) -> dict[str, ChainInput]:
    """Derive the arguments of a chain from what its calls refer to.

    One that is handed on whole has the JSON type of what it is handed to; where they differ, any.
    """
    types: dict[str, set[InputType]] = {}
    for call, part in zip(calls, parts, strict=True):
        for path in reference_paths(dict(call.arguments)):
            if path[0] == "input" and len(path) > 1:
                types.setdefault(path[1], set())
        for argument, value in call.arguments.items():
            paths = [*reference_paths(value)]
            whole = isinstance(value, str) and value.strip().startswith("{{") and value.strip().endswith("}}")
            for path in paths:
                if path[0] == "input" and len(path) > 1:
                    handed = whole and len(paths) == 1 and len(path) == 2
                    types[path[1]].add(_type_of(part, argument) if handed else "any")
    return {name: ChainInput(type=next(iter(t)) if len(t) == 1 else "any") for name, t in types.items()}


def _type_of(part: Capability, argument: str) -> InputType:
    type_ = part.args_schema.get("properties", {}).get(argument, {}).get("type")
    return type_ if type_ in _TYPES else "any"


def _given(entry: Mapping[str, Any]) -> ChainInput:
    return ChainInput(type=entry.get("type") or "any", description=str(entry.get("description") or ""))


def _refused(name: str, flaws: Sequence[str]) -> CapabilityRejected:
    more = f" (and {len(flaws) - 5} more)" if len(flaws) > 5 else ""
    return CapabilityRejected(
        f"the chain {name!a} cannot be made: {'; '.join(flaws[:5])}{more}", "mend that, and make it again"
    )


def _not_a_function(**_: object) -> NoReturn:
    raise CapabilityRejected("a chain is called step by step")
