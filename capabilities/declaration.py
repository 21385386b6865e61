"""The decorator that declares a function as a capability.

The function is async or sync and has type hints and a docstring. What it may do is declared beside it;
whatever is left out is assumed to be the worst.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Unpack

from planwright.capabilities.compensation import check_compensation
from planwright.capabilities.contract import NO_GUIDE, Capability, Guide, Hosts, Preflight, Varies
from planwright.capabilities.descriptions import OnCards
from planwright.capabilities.resources import Resources
from planwright.capabilities.signature import Function, check_name_and_docstring, signature
from planwright.capabilities.source_code import code_hash
from planwright.domain.errors import SetupError
from planwright.domain.plan import Compensation
from planwright.domain.risk import EFFECTS, MODES, RISK_OF_MODE, RISKS, Effect, Mode, Risk

Lookup = Function
"""Tells whether an effect has happened, of the same arguments as its capability, or some of them.

It returns the result where the effect has happened under the idempotency key of its CallContext, None
where it has not and is not under way, and raises CapabilityUnavailable where it cannot tell for now.
"""


class MoreDeclared(Resources, OnCards, total=False):
    """What else a declaration may say of a call: the resources that it uses, and how a card shows it."""


def capability(
    name: str,
    *,
    mode: Mode | None = None,
    risk: Risk | None = None,
    effect: Effect | None = None,
    tags: Sequence[str] = (),
    guide: Guide = NO_GUIDE,
    timeout_s: float | None = None,
    preflight: Preflight | None = None,
    hosts: Hosts | None = None,
    varies: Varies | None = None,
    lookup: Lookup | None = None,
    compensation: Compensation | None = None,
    destinations: Sequence[str] = (),
    trusted_result: bool = False,
    **more: Unpack[MoreDeclared],
) -> Callable[[Function], Capability]:
    """Declare a function as a capability.

    Left out, `mode` is `destructive` (a person decides every call), `risk` follows the mode, and
    `effect` is `pure` for `read_only`, else `blind`; with `varies`, both are the gravest that a call
    can have. A queryable effect has to have a `lookup`, and no other may. Raises SetupError.
    """

    def declare(function: Function) -> Capability:
        _check_declared(name, function, mode=mode, risk=risk, effect=effect)
        undeclared = _undeclared(name, function)
        declared = replace(
            undeclared,
            **more,
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
            lookup=None if lookup is None else _lookup_of(undeclared, lookup),
            compensation=compensation,
            destinations=tuple(destinations),
            trusted_result=trusted_result,
        )
        check_compensation(declared)
        return declared

    return declare


def _check_declared(name: str, function: Function, **declared: str | None) -> None:
    """Raise SetupError for a wrong name, a docstring that is missing, and words that there are none of."""
    check_name_and_docstring(name, function)
    for part, known in {"mode": MODES, "risk": RISKS, "effect": EFFECTS}.items():
        if (word := declared[part]) is not None and word not in known:
            raise SetupError(f"{name}: there is no {part} {word!r}", f"take one of {', '.join(known)}")


def _undeclared(name: str, function: Function) -> Capability:
    """Read a capability off a function. Nothing is declared of it yet, so the worst is assumed."""
    code_hash(function)  # as it is now: the file may be another before somebody asks for the digest
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


def _lookup_of(capability: Capability, function: Lookup) -> Capability:
    """Declare the lookup of a capability: a pure call, with no more arguments than the capability has."""
    lookup = _undeclared(f"{capability.name}, its lookup", function)
    if strange := [name for name in lookup.args.model_fields if name not in capability.args.model_fields]:
        cause = (
            f"the lookup of {capability.name} asks for `{strange[0]}`, which {capability.name} is not given"
        )
        known = ", ".join(capability.args.model_fields) or "nothing"
        raise SetupError(cause, f"it may ask for: {known}, CallContext")
    return replace(lookup, mode="read_only", risk="None", effect="pure")
