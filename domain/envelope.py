"""What a lane hands to whoever opened it: its words, and the record of the work behind them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from planwright.domain.risk import Effect, Risk

CallEnd = Literal["completed", "failed", "rejected", "denied", "refused", "proposed"]
DecidedBy = Literal["", "person", "rule"]
Offer = Literal["pure", "idempotent", "queryable", "blind", "varies"]
"""The effect of a tool; `varies` where its arguments decide whether a call changes anything."""


class LaneCall(BaseModel):
    """One call that the model of a lane asked for, and how it ended."""

    model_config = ConfigDict(frozen=True)

    capability: str = Field(description="What it called, by the name in the registry.")
    uid: str = Field("", description="Its name on record; empty where it never got that far.")
    effect: Effect = Field("pure", description="What verification said of it.")
    ended: CallEnd = Field(
        description="`rejected`: by a person, or nobody answered in time. `denied`: by policy or gateway."
        " `refused`: malformed, unknown, or stopped by the loop guard. `proposed`: to a person, in place of"
        " an effect."
    )
    error: str = Field("", description="What the model was told of one that failed; at most 200 characters.")


class EffectRecord(BaseModel):
    """One row of the ledger, with what the records say of who decided over it."""

    model_config = ConfigDict(frozen=True)

    key: str = Field(description="Its idempotency key, 64 hex digits.")
    uid: str = Field(description="The step or call that had it.")
    capability: str = Field(description="What was called.")
    status: Literal["intent", "done", "failed", "in_doubt"] = Field(description="As the ledger has it.")
    decided: DecidedBy = Field("", description="Who let it pass at a gate; empty where nobody was asked.")
    needed: bool = Field(False, description="Whether verification said that somebody has to be asked.")
    known: bool = Field(True, description="Whether a plan on record holds the step or call that had it.")
    tainted: bool = Field(False, description="Whether it was made after reading what others wrote.")
    risk: Risk = Field("None", description="The risk of its step or call, as verified.")

    @property
    def begun(self) -> bool:
        """Whether it has happened, or may have."""
        return self.status != "failed"


class LaneUsage(BaseModel):
    """What a lane has used up itself, without the lanes below it."""

    model_config = ConfigDict(frozen=True)

    turns: int = Field(0, description="Replies of its model.")
    calls: int = Field(0, description="Calls that its model asked for, refused ones among them.")
    tokens: int = Field(0, description="Tokens in and out, where the provider counts them.")


class LaneEnvelope(BaseModel):
    """The result of a lane; whoever opened the lane accepts or rejects it before the result is used."""

    model_config = ConfigDict(frozen=True)

    result: str = Field(description="The last words of its model.")
    offered: dict[str, Offer] = Field(
        default_factory=dict, description="The tools it was given, and the effect of each."
    )
    calls: tuple[LaneCall, ...] = Field((), description="All calls of its model, in order.")
    effects: tuple[EffectRecord, ...] = Field((), description="Its rows of the ledger, lanes below included.")
    evidence: tuple[str, ...] = Field((), description="The uids of calls that its words can lean on.")
    usage: LaneUsage = Field(LaneUsage(), description="What it has cost.")
    guard_trips: tuple[str, ...] = Field((), description="What the loop guard noticed, as pattern:severity.")

    @property
    def done(self) -> bool:
        """Whether an effect of the lane has happened, or may have."""
        return any(effect.begun for effect in self.effects)
