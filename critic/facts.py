"""What the critic knows of one step: records, and nothing else. The same facts give the same verdict."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from planwright.domain.envelope import EffectRecord, LaneCall
from planwright.domain.hashing import sha256
from planwright.domain.results import RubricAnswer, StepResult
from planwright.domain.verified_step import VerifiedStep


class StepFacts(BaseModel):
    """One step as it was verified, how it ended, and what the ledger has of it."""

    model_config = ConfigDict(frozen=True)

    checked: VerifiedStep = Field(description="The step of the plan on record.")
    result: StepResult = Field(description="How it ended, with the envelope of its lane where it had one.")
    output: JsonValue = Field(None, description="Its whole output, from the blob store where it is large.")
    effects: tuple[EffectRecord, ...] = Field((), description="Its rows of the ledger, and of all below it.")
    limit_s: float = Field(description="The seconds that it may take.")
    rubric: RubricAnswer | None = Field(None, description="What a model said of its criterion in words.")
    retries: int = Field(0, description="How often the critic had it run again.")
    earlier: bool = Field(False, description="Whether the verdict over an earlier plan was about it, too.")
    built_on: bool = Field(False, description="Whether a step that needs it has had an effect.")

    @property
    def acted(self) -> bool:
        """Whether an effect of it has happened, or may have; what is kept from another run counts as one."""
        return bool(self.result.kept_from) or any(effect.begun for effect in self.effects)

    @property
    def calls(self) -> tuple[LaneCall, ...]:
        """The calls of its model, where one did it."""
        return self.result.envelope.calls if self.result.envelope else ()


def facts_hash(facts: Sequence[StepFacts]) -> str:
    """Hash what a verdict follows from, as 64 hex digits.

    What came later counts only where a step has it: verdicts on record keep their hash.
    """
    content = [step.model_dump(mode="json") for step in facts]
    for step, fields in zip(facts, content, strict=True):
        if not step.checked.step.when:
            del fields["checked"]["step"]["when"]
    return sha256(content)
