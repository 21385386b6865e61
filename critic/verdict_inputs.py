"""What a verdict of the critic follows from, kept so that it can be made again."""

from __future__ import annotations

from dataclasses import asdict

from pydantic import BaseModel, ConfigDict

from planwright.critic.facts import StepFacts, facts_hash
from planwright.critic.ruling import Means, run_verdict, score_step
from planwright.domain.hashing import sha256
from planwright.domain.results import RunVerdict

RULES = "1"
"""The number of the rules that verdicts are made by: one higher whenever the critic rules otherwise."""


class VerdictInputs(BaseModel):
    """What a verdict follows from. `spelled` and `model_validate_json` are the inverse of each other."""

    model_config = ConfigDict(frozen=True)
    run_id: str
    """Id of the run."""
    plan_id: str
    """Id of the plan that ran."""
    facts: tuple[StepFacts, ...]
    """What is known of each step, in the order of the plan."""
    means: Means
    """What the critic may still order."""
    replans: int = 0
    """How often the run had planned again before."""
    retries: int = 0
    """How often the critic had a step run again before."""

    @property
    def inputs_hash(self) -> str:
        """Hash what the verdict follows from, as 64 hex digits."""
        return sha256([facts_hash(self.facts), asdict(self.means)])

    def verdict(self) -> RunVerdict:
        """Score every step and rule over the run; nothing is read and nobody is asked."""
        scores = [score_step(step_facts, self.means) for step_facts in self.facts]
        results = [step_facts.result for step_facts in self.facts]
        ruling, reason = run_verdict(results, scores, planned_again=self.replans > 0)
        return RunVerdict(
            run_id=self.run_id,
            plan_id=self.plan_id,
            verdict=ruling,
            reason=reason,
            step_scores=tuple(scores),
            replan_attempts=self.replans,
            retry_attempts=self.retries,
            inputs_hash=self.inputs_hash,
            evaluators=RULES,
        )

    def as_json(self) -> str:
        """Spell it as JSON, without outputs: those are on record with the results."""
        return self.model_dump_json(exclude={"facts": {"__all__": {"output"}}})
