"""A memory that a run proposes: frozen, named by its content, with what it leans on."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from planwright.domain.hashing import sha256

ProposalStatus = Literal["proposed", "accepted", "rejected", "forgotten"]
WRITE, FORGET = "memory.write", "memory.forget"


class Candidate(BaseModel):
    """What may be worth remembering: a text, the user's own words it comes from, and why."""

    model_config = ConfigDict(frozen=True)
    said: str = Field(min_length=1)
    text: str = Field(min_length=1)
    tags: tuple[str, ...] = ()
    why: str = ""


class Proposal(Candidate):
    """One candidate on record. Its evidence is the run and thread in which the user `said` it."""

    id: str
    run_id: str
    thread_id: str
    status: ProposalStatus = "proposed"
    created_at: str
    decided_at: str | None = None
    decided_by: str | None = None
    memory_id: str | None = None


def content_id(text: str) -> str:
    """Name a text by its words: the same whatever its case, spacing and last punctuation."""
    plain = re.sub(r"[\s.!,;:]+$", "", " ".join(text.split()).casefold())
    return f"prop_{sha256(plain)[:12]}"
