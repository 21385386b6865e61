"""The contract of a capability, and the decorator that declares one.

A capability is an async or sync function with type hints and a docstring. What it may do is
declared beside it; whatever is left out is assumed to be the worst.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar, Unpack

from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.compensation import check_compensation
from planwright.capabilities.resources import Names, Resources, UseOf
from planwright.capabilities.signature import Function, check_lookup, check_told, signature
from planwright.capabilities.source_code import code_hash
from planwright.domain.chain import Chain
from planwright.domain.errors import CapabilityRejected, PlanwrightError, SetupError
from planwright.domain.hashing import sha256
from planwright.domain.plan import Compensation
from planwright.domain.risk import EFFECTS, RISK_OF_MODE, RISKS, Effect, Mode, Risk

AnswerT = TypeVar("AnswerT")
Preflight = Callable[[Mapping[str, JsonValue], CallContext], None]
"""Raises CapabilityRejected for what could never be allowed, before a plan is shown and before a call."""
Hosts = Callable[[Mapping[str, JsonValue], CallContext], Sequence[str] | None]
"""Lists the hosts that a call reaches; None when its arguments do not tell."""
Varies = Callable[[Mapping[str, JsonValue], CallContext], tuple[Risk, Effect]]
"""Says what risk and effect a call has, neither graver than declared.

In a plan, arguments may still be references (`has_reference`): it has to assume the worst of them.
"""
Lookup = Function
"""Tells whether an effect has happened, of the same arguments as its capability, or some of them.

It returns the result where the effect has happened under the idempotency key of its CallContext, None
where it has not and is not under way, and raises CapabilityUnavailable where it cannot tell for now.
"""


@dataclass(frozen=True)
class PartCall:
    """One call that a chain makes. `args` None when none is known; `known` when all of them are."""

    part: Capability
    args: dict[str, JsonValue] | None
    known: bool


@dataclass(frozen=True)
class Guide:
    """What the planner is told about a capability: when to use it, with examples."""

    instructions: str = ""
    """When and how to use it, as the planner reads it; "" for nothing."""
    examples: tuple[str, ...] = ()
    priority: int = 100
    """Place in the list that the planner reads: the lowest number comes first."""
    always_active: bool = False
    """Whether every planner is told of it, whatever the task."""


@dataclass(frozen=True)
class Capability:
    """One thing that can be done. Raises SetupError when its effect and its lookup do not go together."""

    name: str
    description: str
    function: Function
    args: type[BaseModel]
    result: TypeAdapter[Any]
    mode: Mode
    risk: Risk
    effect: Effect
    tags: tuple[str, ...] = ()
    guide: Guide = Guide()
    timeout_s: float | None = None
    """Seconds that a call may take where its step does not say; None for `execution.step_timeout_s`."""
    preflight: Preflight | None = None
    hosts: Hosts | None = None
    reads: Names | None = None
    """Resources that a call reads, or what names them by its arguments; None where it does not say."""
    adds: Names | None = None
    """The same for those that a call adds to."""
    writes: Names | None = None
    """The same for those that a call overwrites; no two calls overwrite one at once."""
    varies: Varies | None = None
    declared: bool = True
    """Whether its mode was declared; false where the worst was assumed."""
    context_parameter: str | None = None
    result_schema: dict[str, Any] = field(default_factory=dict)
    chain: Chain | None = None
    calls: Callable[[Mapping[str, JsonValue] | None], Sequence[PartCall]] | None = None
    """Lists the calls that a chain makes of its arguments, as far as they are known; None for no chain."""
    lookup: Capability | None = None
    """Tells whether a queryable effect has happened; None for every other effect."""
    compensation: Compensation | None = None
    destinations: tuple[str, ...] = ()
    """Names of the arguments that say where an effect goes: a path, a recipient, an address."""
    trusted_result: bool = False
    """Whether its result holds only what the program itself, or whoever called, has written."""
    source: Callable[..., Any] | type | None = None
    """What its code is in, where that is not `function`: the tool behind a wrapper; else None."""
    server: str = ""
    """Name of the MCP server of a tool; "" for what is no such tool."""

    def __post_init__(self) -> None:
        looked_up, varies = self.lookup is not None, self.varies is not None
        check_lookup(self.name, self.effect, self.result, looked_up=looked_up, varies=varies)
        if strange := [name for name in self.destinations if name not in self.args.model_fields]:
            raise SetupError(f"{self.name} has no argument `{strange[0]}`", "mend its destinations")

    @cached_property
    def args_schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        return self.args.model_json_schema()

    @cached_property
    def defaults(self) -> dict[str, JsonValue]:
        """The arguments that may be left out, and what they are then."""
        optional = {name: one for name, one in self.args.model_fields.items() if not one.is_required()}
        filled = {name: one.get_default(call_default_factory=True) for name, one in optional.items()}
        plain: dict[str, JsonValue] = to_jsonable_python(filled)
        return plain

    def check(self, args: Mapping[str, JsonValue], context: CallContext) -> None:
        """Run the preflight, if there is one. Raises CapabilityRejected, also when it breaks itself."""
        if self.preflight is None:
            return
        try:
            self.preflight(args, context)
        except PlanwrightError:
            raise
        except Exception as error:
            cause = f"the preflight of {self.name} broke: {type(error).__name__}: {error}"
            raise CapabilityRejected(cause, "mend it; nothing was called") from error

    def reaches(self, args: Mapping[str, JsonValue], context: CallContext) -> Sequence[str] | None:
        """List the hosts a call reaches; None when it does not say. Raises CapabilityRejected."""
        hosts = self.hosts
        return None if hosts is None else self._answer("hosts", lambda: hosts(args, context))

    def overwrites(self, args: Mapping[str, JsonValue], context: CallContext) -> frozenset[str]:
        """Name the resources that a call overwrites; none when it does not say. Raises CapabilityRejected."""
        return self.resources("writes", args, context)

    def resources(self, how: UseOf, args: Mapping[str, JsonValue], context: CallContext) -> frozenset[str]:
        """Name what a call uses in one way; nothing when it does not say. Raises CapabilityRejected."""
        names: Names | None = getattr(self, how)
        if callable(names):
            declared = names
            return self._answer(how, lambda: frozenset(declared(args, context)))
        return frozenset(names or ())

    def _answer(self, what: str, ask: Callable[[], AnswerT]) -> AnswerT:
        """Ask a part of the declaration about a call. Raises CapabilityRejected when it breaks."""
        try:
            return ask()
        except PlanwrightError:
            raise
        except Exception as error:
            cause = f"the {what} of {self.name} broke: {type(error).__name__}: {error}"
            raise CapabilityRejected(cause, "mend them; nothing was called") from error

    def given(self, args: Mapping[str, JsonValue], context: CallContext) -> Capability:
        """Narrow risk and effect to those of a call with these arguments.

        Raises CapabilityRejected when `varies` breaks, or says what is graver than the declaration.
        """
        if self.varies is None:
            return self
        try:
            risk, effect = self.varies(args, context)
            if effect == "queryable" and self.lookup is None:
                raise CapabilityRejected(f"{self.name} varies to queryable, and has no lookup", "declare one")
            narrowed = replace(self, risk=risk, effect=effect)
            graver = narrowed.graver_than(self.risk, self.effect)
        except PlanwrightError:
            raise
        except Exception as error:
            cause = f"the risk of {self.name} broke: {type(error).__name__}: {error}"
            raise CapabilityRejected(cause, "mend it; nothing was called") from error
        if graver:
            cause = f"{self.name} varies to {risk}, {effect}: graver than it declares"
            raise CapabilityRejected(cause, "declare the gravest; nothing was called")
        return narrowed

    def graver_than(self, risk: Risk, effect: Effect) -> bool:
        """Say whether its risk or its effect is graver than these."""
        riskier = RISKS.index(self.risk) > RISKS.index(risk)
        return riskier or EFFECTS.index(self.effect) > EFFECTS.index(effect)

    @cached_property
    def digest(self) -> str:
        """Name declaration and code of the capability by 16 hex digits: others when either changes."""
        return sha256([*self.fingerprint(), code_hash(self.source or self.function)])[:16]

    def fingerprint(self) -> list[object]:
        """List what of the declaration decides how a plan runs; the registry hashes it."""
        declared = [self.name, self.description, self.mode, self.risk, self.effect]
        chained = [self.chain.hash] if self.chain else []
        return [*declared, self.args_schema, self.guide.instructions, *chained]


def capability(
    name: str,
    *,
    mode: Mode | None = None,
    risk: Risk | None = None,
    effect: Effect | None = None,
    tags: Sequence[str] = (),
    guide: Guide = Guide(),
    timeout_s: float | None = None,
    preflight: Preflight | None = None,
    hosts: Hosts | None = None,
    varies: Varies | None = None,
    lookup: Lookup | None = None,
    compensation: Compensation | None = None,
    destinations: Sequence[str] = (),
    trusted_result: bool = False,
    **resources: Unpack[Resources],
) -> Callable[[Function], Capability]:
    """Declare a function as a capability.

    Left out, `mode` is `destructive` (a person decides every call), `risk` follows the mode, and
    `effect` is `pure` for `read_only`, else `blind`; with `varies`, both are the gravest that a call
    can have. A queryable effect has to have a `lookup`, and no other may. Raises SetupError.
    """

    def declare(function: Function) -> Capability:
        check_told(name, function)
        found = _undeclared(name, function)
        found = replace(
            found,
            **resources,
            mode=mode or "destructive",
            risk=risk or RISK_OF_MODE[mode or "destructive"],
            effect=effect or ("pure" if mode == "read_only" else "blind"),
            tags=tuple(tags),
            guide=guide,
            timeout_s=timeout_s,
            preflight=preflight,
            hosts=hosts,
            varies=varies,
            declared=mode is not None,
            lookup=None if lookup is None else _lookup_of(found, lookup),
            compensation=compensation,
            destinations=tuple(destinations),
            trusted_result=trusted_result,
        )
        check_compensation(found)
        return found

    return declare


def _undeclared(name: str, function: Function) -> Capability:
    """Read a capability off a function. Nothing is declared of it yet, so the worst is assumed."""
    args, result, context = signature(name, function)
    return Capability(
        name=name,
        description=inspect.cleandoc(function.__doc__ or "").split("\n\n")[0].replace("\n", " "),
        function=function,
        args=args,
        result=result,
        mode="destructive",
        risk="Critical",
        effect="blind",
        declared=False,
        context_parameter=context,
        result_schema=result.json_schema(),
    )


def _lookup_of(found: Capability, function: Lookup) -> Capability:
    """Declare the lookup of a capability: a pure call, with no more arguments than the capability has."""
    lookup = _undeclared(f"{found.name}, its lookup", function)
    if strange := [name for name in lookup.args.model_fields if name not in found.args.model_fields]:
        cause = f"the lookup of {found.name} asks for `{strange[0]}`, which {found.name} is not given"
        known = ", ".join(found.args.model_fields) or "nothing"
        raise SetupError(cause, f"it may ask for: {known}, CallContext")
    return replace(lookup, mode="read_only", risk="None", effect="pure")


def check_arguments(capability: Capability, params: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Validate complete arguments and fill in defaults. Raises ValidationError."""
    dumped: dict[str, JsonValue] = capability.args.model_validate(dict(params)).model_dump(mode="json")
    return dumped


def explain(error: ValidationError) -> str:
    """Put a validation error on one line: which argument, and what is wrong with it."""
    parts = [f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg'].lower()}" for e in error.errors()]
    return "; ".join(parts[:4])
