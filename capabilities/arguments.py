"""Do arguments fit a capability, as far as they are known? What they refer to is not known yet."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue, ValidationError

from planwright.capabilities.contract import Capability, check_arguments
from planwright.domain.errors import CapabilityRejected
from planwright.domain.hashing import problem_of
from planwright.domain.references import has_reference


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
