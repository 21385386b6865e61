"""How values are spelled: in one way to be hashed, short in a row, whole for people and programs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails, to_json

MOST_PROBLEMS = 4


def canonical_json(value: object) -> str:
    """Spell a JSON value in the one way we hash: sorted keys, no spaces, UTF-8 kept."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)


def same(left: object, right: object) -> bool:
    """Say whether two JSON values are the same to the letter: `==` takes `1`, `1.0` and `True` for one."""
    return canonical_json(left) == canonical_json(right)


def json_text(value: object) -> str:
    """Spell a JSON value for people and for storage: ten times as fast, keys in their own order."""
    return to_json(value).decode()


def stored_json(value: BaseModel | Iterable[BaseModel]) -> str:
    """Spell a value, or a list of them, for a row: what is at its default is left out, and read as that.

    So the default of a field is what rows on disk mean by its absence, and never changes.
    """
    if isinstance(value, BaseModel):
        return value.model_dump_json(exclude_defaults=True)
    return f"[{','.join(map(stored_json, value))}]"


def whole_json(model: type[BaseModel], text: str) -> dict[str, JsonValue]:
    """Read what `stored_json` wrote, every field there, as programs and people outside are shown it.

    Raises ValidationError for a row that was changed from outside.
    """
    fields: dict[str, JsonValue] = model.model_validate_json(text).model_dump(mode="json")
    return fields


def sha256(value: object) -> str:
    """Hash a JSON value by its canonical spelling, as 64 hex digits."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def trace_digest(run_id: str) -> bytes:
    """Make the 32 bytes that name the trace of a run: the first 16 are its id, the next 8 its first span."""
    return hashlib.sha256(f"planwright {run_id}".encode()).digest()


def problem_of(entry: ErrorDetails) -> str:
    """Say within a sentence what pydantic finds wrong; values stay as they are: a model has to mend them."""
    text = entry["msg"]
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def problems_of(error: ValidationError, whole: str) -> str:
    """Put the first problems on one line: where, and what is wrong; `whole` names what is wrong all over."""
    first = error.errors()[:MOST_PROBLEMS]
    return "; ".join(f"{'.'.join(map(str, entry['loc'])) or whole}: {problem_of(entry)}" for entry in first)
