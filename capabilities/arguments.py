"""Do arguments fit a capability, as far as they are known? What they refer to is not known yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import JsonValue, ValidationError

from planwright.capabilities.contract import Capability
from planwright.domain.references import has_reference


def misfits(capability: Capability, params: dict[str, JsonValue], *, literal: bool = False) -> Iterator[str]:
    """Name every argument that cannot be right, and why; `literal` ones refer to nothing."""
    try:
        capability.args.model_validate(params)
    except ValidationError as error:
        for entry in error.errors():
            value = _at(params, entry["loc"])
            if entry["type"] not in ("missing", "extra_forbidden") and not literal and has_reference(value):
                continue
            name = ".".join(map(str, entry["loc"])) or "params"
            yield f"{capability.name}: {name}: {entry['msg'].lower()}"


def _at(params: dict[str, JsonValue], path: tuple[Any, ...]) -> JsonValue:
    value: Any = params
    for part in path:
        if isinstance(value, dict | list) and not isinstance(part, str | int):
            return None
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value  # type: ignore[no-any-return]
