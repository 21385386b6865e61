"""The five evaluators of a step: policy, utility, safety, latency, cost. Pure functions of recorded facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from planwright.critic.criteria import criterion_holds
from planwright.critic.facts import StepFacts
from planwright.domain.doubt import UNDECIDED
from planwright.domain.envelope import EffectRecord
from planwright.domain.results import Evaluation, Evaluator, Grade
from planwright.domain.risk import at_least

UNKNOWN = ("in_doubt", UNDECIDED)
REFUSED = ("rejected", "forbidden")
SLOW = 0.2  # of the time allowed is left


def policy(facts: StepFacts) -> Evaluation:
    """Look for a decision on record behind every effect, and for attempts at what is denied."""
    result = facts.result
    if result.status == "failed" and result.code in REFUSED:
        return _evaluation("policy", 0, "fail", [f"{result.status}: {result.error}"])
    if undecided := [_named(effect) for effect in facts.effects if effect.begun and not covered(effect)]:
        return _evaluation("policy", 0, "fail", [f"nobody decided over {effect}" for effect in undecided])
    denied = [call.capability for call in facts.calls if call.ended == "denied"]
    if denied:
        return _evaluation("policy", 0.5, "warn", [f"it was denied {', '.join(dict.fromkeys(denied))}"])
    return _evaluation("policy", 1, "pass")


def covered(effect: EffectRecord) -> bool:
    """Say whether an effect has a decision that covers it: a person, a rule, or a policy that asks nobody."""
    return effect.known and (bool(effect.decided) or not effect.needed)


def safety(facts: StepFacts) -> Evaluation:
    """Look for effects in doubt, for a loop that went round in circles, and for effects of foreign words."""
    result = facts.result
    if result.status == "failed" and result.code in UNKNOWN:
        return _evaluation("safety", 0, "fail", [f"{result.status}: {result.error}"])
    if doubtful := [_named(effect) for effect in facts.effects if effect.status in ("in_doubt", "intent")]:
        return _evaluation(
            "safety", 0, "fail", [f"nobody knows whether {effect} happened" for effect in doubtful]
        )
    trips = result.envelope.guard_trips if result.envelope else ()
    notes = [f"the loop guard noticed {trip}" for trip in trips]
    unasked = [_named(effect) for effect in facts.effects if tainted_and_unasked(effect)]
    notes += [
        f"{effect} was made after reading what others wrote, and nobody was asked" for effect in unasked
    ]
    return _evaluation("safety", 0.5, "warn", notes) if notes else _evaluation("safety", 1, "pass")


def tainted_and_unasked(effect: EffectRecord) -> bool:
    """Say whether an effect may carry out what others wrote, and no person decided over it."""
    return effect.begun and effect.tainted and not effect.decided and at_least(effect.risk, "Low")


def utility(facts: StepFacts) -> Evaluation:
    """Ask whether the step brought what it was for: its end, its criterion, and what it had to do without."""
    result, criterion = facts.result, facts.checked.step.success_criteria
    if result.status != "completed":
        return _evaluation("utility", 0, "fail", [f"{result.status}: {result.error}"])
    holds, note = criterion_holds(facts.checked, facts.output)
    if not holds:
        return _evaluation("utility", 0, "fail", [note])
    rubric = criterion.rubric if criterion else None
    if rubric and facts.rubric and not facts.rubric.holds:
        why = f"criterion {rubric[:200]!r} is not met: {facts.rubric.reason}"
        return _evaluation("utility", 0, "fail", [why])
    notes = [f"not judged: {rubric[:200]}"] if rubric and facts.rubric is None else []
    notes += [f"it had to do without {', '.join(result.missing)}"] if result.missing else []
    mark = 0.5 if result.missing else 1.0
    return _evaluation("utility", mark, "warn", notes) if notes else _evaluation("utility", 1, "pass")


def latency(facts: StepFacts) -> Evaluation:
    """Compare the seconds that the step took with those it may take."""
    if facts.result.status != "completed":
        return _evaluation("latency", 1, "pass")
    left = round(max(0.0, 1 - facts.result.seconds / facts.limit_s), 3)
    if left > SLOW:
        return _evaluation("latency", left, "pass")
    slow = f"it took {facts.result.seconds:g} s of {facts.limit_s:g} s"
    return _evaluation("latency", left, "warn", [slow])


def cost(facts: StepFacts) -> Evaluation:
    """Count attempts, and the calls of a model that came to nothing."""
    attempts, calls = facts.result.attempts, facts.calls
    if facts.result.status != "completed":
        return _evaluation("cost", 1, "pass")
    wasted = sum(call.ended in ("failed", "refused", "denied") for call in calls)
    mark = round((1 / attempts) * (1 - wasted / len(calls) if calls else 1), 3)
    notes = [f"it took {attempts} attempts"] if attempts > 1 else []
    notes += [f"{wasted} of {len(calls)} calls came to nothing"] if wasted else []
    return _evaluation("cost", mark, "warn", notes) if notes else _evaluation("cost", mark, "pass")


EVALUATORS: tuple[Callable[[StepFacts], Evaluation], ...] = (policy, utility, safety, latency, cost)


def _named(effect: EffectRecord) -> str:
    return f"{effect.capability} (key {effect.key[:12]})"


def _evaluation(name: Evaluator, mark: float, grade: Grade, notes: Iterable[str] = ()) -> Evaluation:
    return Evaluation(evaluator=name, mark=mark, grade=grade, findings=tuple(notes))
