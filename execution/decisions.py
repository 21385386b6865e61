"""Take the decisions before a step: look their evidence up, and say whether the step may begin."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from planwright.capabilities.expression import Values, compiled
from planwright.capabilities.gateway.gateway import Gateway
from planwright.capabilities.policy.decisions import DecisionSpec
from planwright.domain.errors import CapabilityRejected
from planwright.domain.hashing import sha256
from planwright.domain.references import look_up
from planwright.domain.results import StepResult
from planwright.domain.step_ends import bare_result
from planwright.domain.verified_step import VerifiedStep
from planwright.state.invocation import Invocation

MISSING_EVIDENCE, VIOLATES = "missing_evidence", "violates_decision_spec"


@dataclass(frozen=True)
class TakenDecision:
    """One decision, by its spec and its evidence."""

    spec: DecisionSpec
    """The spec that it was taken by."""
    evidence: Mapping[str, tuple[str, JsonValue]]
    """What it rests on, by name: the id of the step, and what that brought."""
    refusal: tuple[str, str] | None = None
    """Code and words where steps may not go on; None where they may."""

    @property
    def frozen(self) -> dict[str, JsonValue]:
        """Spell it for a card or an event: with the hash of each evidence, and without its values."""
        references: dict[str, JsonValue] = {
            name: {"step_id": step_id, "hash": sha256(value)}
            for name, (step_id, value) in self.evidence.items()
        }
        taken = {"decision_id": self.spec.id, "version": self.spec.version, "outcome": self.outcome}
        return {**taken, "evidence": references}

    @property
    def outcome(self) -> str:
        """Name what came of it: the first outcome of its spec, or why steps may not go on."""
        return self.refusal[0] if self.refusal else self.spec.outcomes[0]


class Decisions:
    """Take the decisions of the catalog that come before a step, by what is on record."""

    def __init__(self, gateway: Gateway, output: Callable[[StepResult], Awaitable[JsonValue]]) -> None:
        self._gateway = gateway
        self._output = output

    async def before(self, checked: VerifiedStep, invocation: Invocation) -> list[TakenDecision]:
        """Take those before a step, in the order of its plan.

        None is taken by a catalog that has changed since: the call says so, and is asked for again.
        """
        specs, taken = self._gateway.call_context.policy.decisions, list[TakenDecision]()
        for bound in checked.bound if self._gateway.as_pinned(checked) else ():
            results = {name: invocation.board.settled(uid) for name, uid in bound.sources.items()}
            done = {name: r for name, r in results.items() if r and r.status == "completed"}
            outputs = {name: await self._output(result) for name, result in done.items()}
            taken.append(await asyncio.to_thread(take, specs[bound.decision_id], results, outputs))
        return taken

    async def refusal(self, checked: VerifiedStep, invocation: Invocation) -> StepResult | None:
        """End a step that a decision does not let begin; None where it may. Nobody goes round that."""
        for decision in await self.before(checked, invocation):
            frozen = decision.frozen
            invocation.emit("decision_taken", frozen, f"{decision.spec.id}:{sha256(frozen)[:16]}")
            if decision.refusal:
                code, error = decision.refusal
                return bare_result(checked, "failed", code=code, error=error)
        return None


def take(
    spec: DecisionSpec, results: Mapping[str, StepResult | None], outputs: Mapping[str, JsonValue]
) -> TakenDecision:
    """Take a decision by the results that it rests on; both maps are by the name of the evidence."""
    evidence: dict[str, tuple[str, JsonValue]] = {}
    for name, needed in spec.evidence.items():
        result = results.get(name)
        if result is None or result.status != "completed":
            why = f"{result.step_id} has not succeeded" if result else "no step brings it"
            return TakenDecision(spec, evidence, _missing(spec, name, why))
        for path in needed.fields:
            try:
                look_up(f"{name}.{path}", outputs)
            except CapabilityRejected:
                return TakenDecision(spec, evidence, _missing(spec, name, f"it has no {path}"))
        evidence[name] = (result.step_id, outputs[name])
    if spec.eligible is None:
        return TakenDecision(spec, evidence)
    values = {"evidence": {name: value for name, (_, value) in evidence.items()}}
    try:
        holds, why = compiled(spec.eligible).holds(Values(values))
    except ValueError as error:
        holds, why = None, str(error)
    if holds:
        return TakenDecision(spec, evidence)
    words = f"decision {spec.id} is not eligible: {spec.eligible}" + (f" {why}" if holds is None else "")
    return TakenDecision(spec, evidence, (VIOLATES, words))


def _missing(spec: DecisionSpec, name: str, why: str) -> tuple[str, str]:
    return MISSING_EVIDENCE, f"decision {spec.id} rests on {name!r}: {why}"
