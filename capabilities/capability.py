"""The contract of a capability, and the decorator that declares one.

A capability is an async or sync function with type hints and a docstring. What it may do is
declared beside it; whatever is left out is assumed to be the worst.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError
from pydantic_core import to_jsonable_python

from planwright.capabilities.call_context import CallContext
from planwright.graph.chains import Chain
from planwright.graph.errors import CapabilityRejected, PlanwrightError, SetupError
from planwright.graph.risk import EFFECTS, RISK_OF_MODE, RISKS, Effect, Mode, Risk

Function = Callable[..., Any]
Preflight = Callable[[Mapping[str, JsonValue], CallContext], None]
"""Raises CapabilityRejected for what could never be allowed, before a plan is shown and before a call."""
Hosts = Callable[[Mapping[str, JsonValue], CallContext], Sequence[str] | None]
"""Lists the hosts that a call reaches; None when its arguments do not tell."""
Writes = Callable[[Mapping[str, JsonValue], CallContext], Sequence[str]]
"""Names what a call overwrites."""
Varies = Callable[[Mapping[str, JsonValue], CallContext], tuple[Risk, Effect]]
"""Says what risk and effect a call has, neither graver than declared.

In a plan, arguments may still be references (`has_reference`): it has to assume the worst of them.
"""

_NAME = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*")


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
    examples: tuple[str, ...] = ()
    priority: int = 100


@dataclass(frozen=True)
class Capability:
    """One thing that can be done. `declared` is false when its mode had to be assumed.

    A chain names the calls that it makes of its arguments, as far as they are known beforehand.
    """

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
    preflight: Preflight | None = None
    hosts: Hosts | None = None
    writes: Writes | None = None
    varies: Varies | None = None
    declared: bool = True
    context_parameter: str | None = None
    result_schema: dict[str, Any] = field(default_factory=dict)
    chain: Chain | None = None
    calls: Callable[[Mapping[str, JsonValue] | None], Sequence[PartCall]] | None = None

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
        if self.hosts is None:
            return None
        try:
            return self.hosts(args, context)
        except PlanwrightError:
            raise
        except Exception as error:
            cause = f"the hosts of {self.name} broke: {type(error).__name__}: {error}"
            raise CapabilityRejected(cause, "mend them; nothing was called") from error

    def overwrites(self, args: Mapping[str, JsonValue], context: CallContext) -> frozenset[str]:
        """Name the resources that a call overwrites; none when it does not say. Raises CapabilityRejected."""
        if self.writes is None:
            return frozenset()
        try:
            return frozenset(self.writes(args, context))
        except PlanwrightError:
            raise
        except Exception as error:
            cause = f"the writes of {self.name} broke: {type(error).__name__}: {error}"
            raise CapabilityRejected(cause, "mend them; nothing was called") from error

    def given(self, args: Mapping[str, JsonValue], context: CallContext) -> Capability:
        """Narrow risk and effect to those of a call with these arguments.

        Raises CapabilityRejected when `varies` breaks, or says what is graver than the declaration.
        """
        if self.varies is None:
            return self
        try:
            risk, effect = self.varies(args, context)
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
    writes: Writes | None = None,
    varies: Varies | None = None,
) -> Callable[[Function], Capability]:
    """Declare a function as a capability.

    Left out, `mode` is `destructive` (a person decides every call), `risk` follows the mode, and
    `effect` is `pure` for `read_only`, else `blind`; with `varies`, both are the gravest that a call
    can have. `writes` names what a call overwrites, e.g. `file:notes/a.md`: two calls that share a name
    never run at once. What is only added to, such as a table or a channel, is not overwritten.
    Raises SetupError when the declaration is incomplete.
    """

    def declare(function: Function) -> Capability:
        _check_told(name, function)
        resolved: Mode = mode or "destructive"
        args, result, context = _signature(name, function)
        return Capability(
            name=name,
            description=inspect.cleandoc(function.__doc__ or "").split("\n\n")[0].replace("\n", " "),
            function=function,
            args=args,
            result=result,
            mode=resolved,
            risk=risk or RISK_OF_MODE[resolved],
            effect=effect or ("pure" if resolved == "read_only" else "blind"),
            tags=tuple(tags),
            guide=guide,
            timeout_s=timeout_s,
            preflight=preflight,
            hosts=hosts,
            writes=writes,
            varies=varies,
            declared=mode is not None,
            context_parameter=context,
            result_schema=result.json_schema(),
        )

    return declare


def _check_told(name: str, function: Function) -> None:
    if not _NAME.fullmatch(name):
        raise SetupError(f"`{name}` is no capability name", "write it as domain.verb, e.g. tickets.create")
    if not (function.__doc__ or "").strip():
        raise SetupError(f"capability {name} has no docstring", "say in its first line what it does")


def check_arguments(capability: Capability, params: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Validate complete arguments and fill in defaults. Raises ValidationError."""
    dumped: dict[str, JsonValue] = capability.args.model_validate(dict(params)).model_dump(mode="json")
    return dumped


def _signature(name: str, function: Function) -> tuple[type[BaseModel], TypeAdapter[Any], str | None]:
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise SetupError(
            f"capability {name}: {error}", "import that type at the top of the module"
        ) from error
    fields: dict[str, Any] = {}
    context = None
    for parameter in inspect.signature(function).parameters.values():
        if hints.get(parameter.name) is CallContext:
            context = parameter.name
            continue
        if parameter.name not in hints or parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            raise SetupError(
                f"capability {name}: `{parameter.name}` has no type hint", "give every argument a type"
            )
        if parameter.kind is parameter.POSITIONAL_ONLY or parameter.name.startswith("_"):
            raise SetupError(
                f"capability {name}: `{parameter.name}` cannot be passed by name",
                "rename it, or drop the `/`",
            )
        required = parameter.default is inspect.Parameter.empty
        fields[parameter.name] = (hints[parameter.name], ... if required else parameter.default)
    if "return" not in hints:
        raise SetupError(f"capability {name} does not say what it returns", "add a return type")
    try:
        model = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
        model.model_json_schema()
        result: TypeAdapter[Any] = TypeAdapter(hints["return"])
        result.json_schema()
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema) as error:
        raise SetupError(f"capability {name}: {error}", "use types that JSON can hold") from error
    return model, result, context


def explain(error: ValidationError) -> str:
    """Put a validation error on one line: which argument, and what is wrong with it."""
    parts = [f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg'].lower()}" for e in error.errors()]
    return "; ".join(parts[:4])
