"""The contract of a capability: what can be done, with which arguments, and what a call of it may do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TypeVar

from pydantic import BaseModel, JsonValue, TypeAdapter
from pydantic_core import to_jsonable_python

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.descriptions import Deed, Describe, Rewrites
from planwright.capabilities.resources import Names, UseOf
from planwright.capabilities.schema_paths import JsonSchema, without_titles
from planwright.capabilities.signature import Function, check_lookup
from planwright.capabilities.source_code import code_hash, module_of
from planwright.domain.chain import Chain
from planwright.domain.errors import CapabilityRejected, PlanwrightError, SetupError
from planwright.domain.hashing import sha256
from planwright.domain.plan import Compensation
from planwright.domain.risk import EFFECTS, RISKS, Effect, Mode, Risk
from planwright.records.consent.approval_scope import ToolMay

AnswerT = TypeVar("AnswerT")
Preflight = Callable[[Mapping[str, JsonValue], CallContext], None]
"""Raises CapabilityRejected for what could never be allowed, before a plan is shown and before a call."""
Hosts = Callable[[Mapping[str, JsonValue], CallContext], Sequence[str] | None]
"""Lists the hosts that a call reaches; None when its arguments do not tell."""
Varies = Callable[[Mapping[str, JsonValue], CallContext], tuple[Risk, Effect]]
"""Says what risk and effect a call has, neither graver than declared.

In a plan, arguments may still be references (`has_reference`): it has to assume the worst of them.
"""


@lru_cache(maxsize=1024)
def schema_of(args: type[BaseModel]) -> JsonSchema:
    """Make the JSON schema of a model of arguments, once for each, without titles: they repeat names."""
    return without_titles(args.model_json_schema())


@dataclass(frozen=True)
class PartCall:
    """One call that a chain makes."""

    part: Capability
    """Capability that is called."""
    args: dict[str, JsonValue] | None
    """Arguments of the call, with references where they are not known yet; None where none is known."""
    known: bool
    """Whether all its arguments are known."""


@dataclass(frozen=True)
class Guide:
    """What the planner reads about a capability: when to use it, with examples."""

    instructions: str = ""
    """When and how to use it, as the planner reads it; "" for nothing."""
    examples: tuple[str, ...] = ()
    """Requests that it is for, in a user's words; for a chain, its arguments."""
    priority: int = 100
    """Place in the list that the planner reads: the lowest number comes first."""
    always_active: bool = False
    """Whether every planner reads of it, whatever the task."""


NO_GUIDE = Guide()


@dataclass(frozen=True)
class Capability:
    """One thing that can be done. Raises SetupError when its effect and its lookup do not go together."""

    name: str
    """Name that plans and policies call it by, as `tickets.create`."""
    description: str
    """What a call does, in one sentence that models read."""
    function: Function
    """What is called; sync functions run in a thread."""
    args: type[BaseModel]
    """Model that the arguments of a call are checked by."""
    result: TypeAdapter[object]
    """Checks what a call returns, and turns it into JSON."""
    mode: Mode
    """What a call touches, from `read_only` to `destructive`."""
    risk: Risk
    """How much harm a call can do at worst."""
    effect: Effect
    """What a crash in the middle of a call means: whether it may be made again."""
    tags: tuple[str, ...] = ()
    """Words that a request for it is likely to hold."""
    guide: Guide = NO_GUIDE
    """When to use it, as the planner reads it."""
    timeout_s: float | None = None
    """Seconds that a call may take where its step does not say; None for `execution.step_timeout_s`."""
    preflight: Preflight | None = None
    """Refuses arguments that could never be allowed; None where there are none."""
    hosts: Hosts | None = None
    """Lists the hosts that a call reaches; None where it does not say."""
    reads: Names | None = None
    """Resources that a call reads, or what names them by its arguments; None where it does not say."""
    adds: Names | None = None
    """The same for those that a call adds to."""
    writes: Names | None = None
    """The same for those that a call overwrites; no two calls overwrite one at once."""
    varies: Varies | None = None
    """Says the risk and effect of a call by its arguments; None where they are always the declared ones."""
    declared: bool = True
    """Whether its mode was declared; false where the worst was assumed."""
    may: ToolMay | None = None
    """What a person has said that it may do, where it declares no mode; None where nobody has."""
    context_parameter: str | None = None
    """Name of the parameter that takes the CallContext; None where the function takes none."""
    result_schema: JsonSchema = field(default_factory=dict)
    """JSON schema of the result."""
    chain: Chain | None = None
    """Definition of a chain that a run made; None for every other capability."""
    calls: Callable[[Mapping[str, JsonValue] | None], Sequence[PartCall]] | None = None
    """Lists the calls that a chain makes of its arguments, as far as they are known; None for no chain."""
    lookup: Capability | None = None
    """Tells whether a queryable effect has happened; None for every other effect."""
    compensation: Compensation | None = None
    """Call that undoes a call of it; None where there is none."""
    destinations: tuple[str, ...] = ()
    """Names of the arguments that say where an effect goes: a path, a recipient, an address."""
    deed: Deed | None = None
    """What a call does, in two words, so that calls are counted on a card; None for its description."""
    describe: Describe | None = None
    """Says what arguments of a call stand for; None where they speak for themselves."""
    rewrites: Rewrites | None = None
    """Lists the files that a call replaces, for its card; None for a call that replaces none."""
    trusted_result: bool = False
    """Whether its result holds only what the program itself, or whoever called, has written."""
    source: Callable[..., object] | type | None = None
    """What its code is in, where that is not `function`: the tool behind a wrapper; else None."""
    has_callbacks: bool = False
    """Whether what it calls tells the callbacks of the config itself, as a tool of LangChain does."""
    server: str = ""
    """Name of the MCP server of a tool; "" for what is no such tool."""
    has_data: Callable[[], bool] | None = None
    """Says whether the workspace has what a built-in one works on, now; None where each has, set at start."""

    def __post_init__(self) -> None:
        looked_up, varies = self.lookup is not None, self.varies is not None
        check_lookup(self.name, self.effect, self.result, looked_up=looked_up, varies=varies)
        update = {"__wrapped__": self.function, "__doc__": self.function.__doc__}
        names = ("__name__", "__qualname__", "__module__")
        vars(self).update(update | {name: getattr(self.function, name, self.name) for name in names})
        if strange := [name for name in self.destinations if name not in self.args.model_fields]:
            raise SetupError(f"{self.name} has no argument `{strange[0]}`", "mend its destinations")

    @property
    def __call__(self) -> Function:
        """The function itself, as its tests call it: without a gate, and without a record."""
        return self.function

    @property
    def built_in(self) -> bool:
        """Whether it comes with the program."""
        return module_of(self.function).startswith("planwright.capabilities.builtin.")

    @property
    def is_set_up(self) -> bool:
        """Whether a model is told of it: a workspace without a mailbox has nothing to search mail in."""
        return self.has_data is None or self.has_data()

    def where_named(self, names: Collection[str]) -> Capability:
        """Give it as one that models are told of where somebody names it, with data or without."""
        return replace(self, has_data=None) if self.has_data and self.name in names else self

    @property
    def is_unknown(self) -> bool:
        """Whether nothing says what a call may do; of a chain its parts say it, and `varies` does."""
        return not self.declared and self.chain is None and self.varies is None

    @cached_property
    def args_schema(self) -> JsonSchema:
        """The JSON schema of the arguments."""
        return schema_of(self.args)

    @cached_property
    def defaults(self) -> dict[str, JsonValue]:
        """The arguments that may be left out, and what they are then."""
        fields = self.args.model_fields.items()
        optional = {name: field for name, field in fields if not field.is_required()}
        filled = {name: field.get_default(call_default_factory=True) for name, field in optional.items()}
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

    def _answer(self, part: str, ask: Callable[[], AnswerT]) -> AnswerT:
        """Ask a part of the declaration about a call. Raises CapabilityRejected when it breaks."""
        try:
            return ask()
        except PlanwrightError:
            raise
        except Exception as error:
            cause = f"the {part} of {self.name} broke: {type(error).__name__}: {error}"
            raise CapabilityRejected(cause, "mend them; nothing was called") from error

    def by_answer(self, context: CallContext) -> Capability:
        """Take the mode that a person of the tenant has said it has, where it declares none itself."""
        if not self.is_unknown or context.tool_answers is None:
            return self
        answer = context.tool_answers.answer_for(self.name, context.tenant, self.digest)
        if answer is None:
            return self
        effect: Effect = "pure" if answer.may == "reads" else self.effect
        return self._with(mode=answer.mode, risk=answer.risk, effect=effect, declared=True, may=answer.may)

    def in_effect(self, effect: Effect) -> Capability:
        """Take the effect that a call of it was verified with."""
        return self if effect == self.effect else self._with(effect=effect)

    def _with(self, **changes: object) -> Capability:
        """Change what is declared of a call; it stays the same capability."""
        changed = replace(self, **changes)  # type: ignore[arg-type]
        vars(changed)["digest"] = self.digest
        return changed

    def narrowed(self, args: Mapping[str, JsonValue], context: CallContext) -> Capability:
        """Narrow risk and effect to those of a call with these arguments, and to what people have said of it.

        Raises CapabilityRejected when `varies` breaks, or says what is graver than the declaration.
        """
        if self.varies is None:
            return self.by_answer(context)
        try:
            risk, effect = self.varies(args, context)
            if effect == "queryable" and self.lookup is None:
                raise CapabilityRejected(f"{self.name} varies to queryable, and has no lookup", "declare one")
            narrower = self._with(risk=risk, effect=effect)
            graver = narrower.graver_than(self.risk, self.effect)
        except PlanwrightError:
            raise
        except Exception as error:
            cause = f"the risk of {self.name} broke: {type(error).__name__}: {error}"
            raise CapabilityRejected(cause, "mend it; nothing was called") from error
        if graver:
            cause = f"{self.name} varies to {risk}, {effect}: graver than it declares"
            raise CapabilityRejected(cause, "declare the gravest; nothing was called")
        return narrower

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
