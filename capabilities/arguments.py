"""Whether arguments fit a capability: all of a call, or those that are known; others refer to something."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import BaseModel, JsonValue, ValidationError

from planwright.capabilities.contract import Capability
from planwright.capabilities.schema_paths import has_field
from planwright.capabilities.signature import error_summary
from planwright.domain.errors import CapabilityRejected
from planwright.domain.hashing import canonical_json, problem_of, same
from planwright.domain.references import has_reference


def check_arguments(capability: Capability, params: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Validate complete arguments and fill in defaults: these are judged, shown, recorded and sent.

    Raises CapabilityRejected, also for a field at any depth that would be left out, and where checking them
    once more, as a call does, makes others of them.
    """
    model, checked = _checked(capability, params)
    if left_out := _left_out(capability, params, checked):
        cause = f"{capability.name} was given bad arguments: {left_out}: extra inputs are not permitted"
        raise CapabilityRejected(cause, "mend them")
    for again, dumped in (_checked(capability, checked), _checked(capability, params)):
        if same(dumped, checked):
            continue
        if again == model and same(_sorted(dumped), _sorted(checked)):  # a set has no order of its own
            continue
        changed = ", ".join(name for name in checked if not same(dumped.get(name), checked[name]))
        cause = f"each check of the arguments of {capability.name} changes {changed}"
        raise CapabilityRejected(cause, "let the check return what it is given; change that in the function")
    return checked


def _sorted(value: object) -> object:
    """Put every list within a JSON value into the order of its spellings."""
    if isinstance(value, dict):
        return {name: _sorted(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return sorted(map(_sorted, value), key=canonical_json)
    return value


def _checked(
    capability: Capability, params: Mapping[str, JsonValue]
) -> tuple[BaseModel, dict[str, JsonValue]]:
    try:
        model = capability.args.model_validate(dict(params))
        return model, model.model_dump(mode="json", by_alias=True)
    except ValidationError as error:
        cause = f"{capability.name} was given bad arguments: {error_summary(error)}"
        raise CapabilityRejected(cause, "mend them") from error
    except Exception as error:  # a validator may be a user's own function
        cause = f"the check of the arguments of {capability.name} broke: {type(error).__name__}: {error}"
        raise CapabilityRejected(cause, "mend them, or the check") from error


def _left_out(capability: Capability, params: Mapping[str, JsonValue], checked: JsonValue) -> str:
    """Name the fields that are not among the checked arguments: a nested model drops unknown ones."""
    try:
        capability.args.model_validate(dict(params), extra="forbid")
    except ValidationError as error:
        extra = [entry["loc"] for entry in error.errors() if entry["type"] == "extra_forbidden"]
        return ", ".join(".".join(map(str, place)) for place in extra if not has_field(checked, place))
    return ""


def misfits(capability: Capability, params: dict[str, JsonValue], *, literal: bool = False) -> Iterator[str]:
    """Name every argument that cannot be right, and why; `literal` ones refer to nothing."""
    known = literal or not has_reference(params)
    try:
        capability.args.model_validate(params)
        if known:
            check_arguments(capability, params)
    except CapabilityRejected as error:
        yield error.cause
    except ValidationError as error:
        for entry in error.errors():
            value = _at(params, entry["loc"])
            if entry["type"] not in ("missing", "extra_forbidden") and not literal and has_reference(value):
                continue
            name = ".".join(map(str, entry["loc"])) or "params"
            yield f"{capability.name}: {name}: {problem_of(entry)}"
    except Exception as error:  # noqa: BLE001 - a validator may be a user's own, which expects no reference
        if known:
            yield f"{capability.name}: params: their check broke: {type(error).__name__}: {error}"


def as_called(
    capability: Capability, params: dict[str, JsonValue], *, literal: bool = False
) -> dict[str, JsonValue]:
    """Spell arguments as the call will have them, where all are known and right; else as they are.

    A person and the policy judge what is sent: `"yes"` may be sent as true.
    """
    if not literal and has_reference(params):
        return params
    try:
        return check_arguments(capability, params)
    except CapabilityRejected:
        return params  # `misfits` says what is wrong


def _at(params: dict[str, JsonValue], path: tuple[object, ...]) -> JsonValue:
    value: JsonValue = params
    for part in path:
        if isinstance(value, dict) and isinstance(part, str):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return value
