"""Sentences that wish an effect or refuse it, as people write them; collected before any rule knew them."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, JsonValue


class Sentence(BaseModel):
    """A message of a user, and the effect that it names."""

    language: str
    """Its language by ISO 639-1."""
    sentence: str
    """The whole message."""
    effect: dict[str, JsonValue]
    """Arguments of the call that it wishes, or refuses."""


def read_sentences(kind: str) -> list[Sentence]:
    """Read `refusals` or `wishes`."""
    text = Path(__file__).with_name(f"{kind}.jsonl").read_text("utf-8")
    return [Sentence.model_validate_json(line) for line in text.splitlines()]
