"""Compensations: the call that undoes another, declared beside it or in its step of a plan.

Its params are templates over the record: `{{input.<path>}}` is what the call was given,
`{{output.<path>}}` what it returned. They are filled in when a person asks for the undoing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from pydantic import BaseModel, JsonValue

from planwright.capabilities.schema_paths import JsonSchema
from planwright.domain.errors import CapabilityRejected, SetupError
from planwright.domain.plan import Compensation
from planwright.domain.references import braced, reference_paths, resolve_params
from planwright.domain.risk import Effect


class Undoable(Protocol):
    """What a capability says of itself where its calls are to be undone."""

    @property
    def name(self) -> str:
        """Its name, such as `mail.send`."""

    @property
    def effect(self) -> Effect:
        """How its calls change the world."""

    @property
    def args(self) -> type[BaseModel]:
        """What a call is given."""

    @property
    def result_schema(self) -> JsonSchema:
        """The JSON schema of what a call returns."""

    @property
    def compensation(self) -> Compensation | None:
        """The call that undoes one of its own, where one does."""


def check_compensation(undone: Undoable) -> None:
    """Raise SetupError for a declared compensation that no record of a call could fill in."""
    if undone.compensation is None:
        return
    if undone.effect == "pure":
        raise SetupError(f"{undone.name} changes nothing: it cannot be undone", "leave `compensation` out")
    for flaw in template_flaws(undone.compensation, undone):
        raise SetupError(f"the compensation of {undone.name}: {flaw}", "mend its params")


def template_flaws(compensation: Compensation, undone: Undoable) -> Iterator[str]:
    """Say which templates name nothing that the record of a call holds."""
    returned = undone.result_schema.get("properties")
    for text in braced(compensation.params):
        path = next(reference_paths(text), [])
        if not path or path[0] not in ("input", "output"):
            yield f"{text} is neither {{{{input.…}}}} nor {{{{output.…}}}}"
        elif len(path) > 1 and path[0] == "input" and path[1] not in undone.args.model_fields:
            yield f"{text}: {undone.name} takes no {path[1]!r}"
        elif len(path) > 1 and path[0] == "output" and returned and path[1] not in returned:
            yield f"{text}: {undone.name} returns no {path[1]!r}"


def filled_in(
    compensation: Compensation, args: Mapping[str, JsonValue], output: tuple[JsonValue] | None
) -> dict[str, JsonValue]:
    """Fill a compensation in from the record of a call; `output` is None where nobody knows it.

    Raises CapabilityRejected for what the record does not hold, and for what would be read as a reference.
    """
    scope: dict[str, JsonValue] = {"input": dict(args)}
    if output is not None:
        scope["output"] = output[0]
    elif any(path[0] == "output" for path in reference_paths(compensation.params)):
        raise CapabilityRejected("undoing it takes its result, which nobody knows")
    params = resolve_params(compensation.params, scope)
    if text := next(braced(params), ""):
        raise CapabilityRejected(f"its record holds {text[:40]!r}, which would be read as a reference")
    return params
