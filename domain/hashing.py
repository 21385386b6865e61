"""One spelling for every value that is hashed."""

from __future__ import annotations

import hashlib
import json

from pydantic_core import to_json


def canonical_json(value: object) -> str:
    """Spell a JSON value in the one way we hash: sorted keys, no spaces, UTF-8 kept."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)


def json_text(value: object) -> str:
    """Spell a JSON value for people and for storage: ten times as fast, keys in their own order."""
    return to_json(value).decode()


def sha256(value: object) -> str:
    """Hash a JSON value by its canonical spelling, as 64 hex digits."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def trace_digest(run_id: str) -> bytes:
    """Make the 32 bytes that name the trace of a run: the first 16 are its id, the next 8 its first span."""
    return hashlib.sha256(f"planwright {run_id}".encode()).digest()
