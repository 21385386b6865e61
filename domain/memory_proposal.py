"""A memory that a run proposes: frozen, named by its content, with what it leans on."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from planwright.domain.hashing import sha256

ProposalStatus = Literal["proposed", "accepted", "rejected", "forgotten"]
WRITE, FORGET = "memory.write", "memory.forget"


class Candidate(BaseModel):
    """What may be worth remembering: a text, the user's own words it comes from, and why."""

    model_config = ConfigDict(frozen=True)
    said: str = Field(min_length=1)
    """The user's own words that the memory comes from."""
    text: str = Field(min_length=1)
    """What would be remembered."""
    tags: tuple[str, ...] = ()
    """Words to find the memory by."""
    why: str = ""
    """Why it may be worth remembering; "" where a model gave no reason."""


class Proposal(Candidate):
    """One candidate on record. Its evidence is the run and thread in which the user `said` it."""

    id: str
    """Id made of the content: the same words give the same id."""
    run_id: str
    """Id of the run that proposed it."""
    thread_id: str
    """Id of the thread in which the user said it."""
    status: ProposalStatus = "proposed"
    """Where the proposal stands."""
    created_at: str
    """When it was proposed, in ISO 8601."""
    decided_at: str | None = None
    """When it was accepted, rejected or forgotten, in ISO 8601; None while it is open."""
    decided_by: str | None = None
    """Who decided over it: a person, or a rule; None while it is open."""
    memory_id: str | None = None
    """Id of the memory that it became; None where it became none."""


def content_id(text: str) -> str:
    """Name a text by its words: the same whatever its case, spacing and last punctuation."""
    plain = " ".join(text.split()).casefold().rstrip(" .!,;:")
    return f"prop_{sha256(plain)[:12]}"
