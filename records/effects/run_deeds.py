"""What a run has done and what it has not, from the record: the end of every answer that is no success."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from planwright.domain.results import RunStatus, StepResult, format_end
from planwright.domain.verified_step import VerifiedStep
from planwright.presentation.step_sentence import effect_phrase
from planwright.records.effects.undos import PastEffect
from planwright.records.stores import Stores
from planwright.state.agent_state import AgentState

SHORT_OF = frozenset[RunStatus](("failed", "escalated", "budget_exceeded", "timeout", "cancelled"))
"""How a run ends that did not come to its end by itself."""
HEAD = "On record:"
MOST_LINES, LONGEST_REASON = 20, 160


async def accounted_answer(state: AgentState, status: RunStatus, run_id: str, stores: Stores) -> str:
    """Put what was done and what was not below an answer that is short of success and does not tell it."""
    answer = state.get("answer", "")
    if status not in SHORT_OF or state.get("tells_deeds"):
        return answer
    lines = await deeds_of(run_id, stores, {entry.uid for entry in state.get("checked", ())})
    return "\n".join(filter(None, (answer, *([HEAD, *lines] if lines else []))))


async def deeds_of(run_id: str, stores: Stores, planned: Container[str] | None = None) -> list[str]:
    """List what a run has done, and what its calls and steps were to change and did not.

    Of its plans, those steps are told that are `planned`; all where it is None.
    """
    recorded = await stores.undos.calls_of(run_id)
    calls = [
        step for step, kind in recorded.values() if kind == "calls" or planned is None or step.uid in planned
    ]
    results = {result.uid: result for result in await stores.ledger.settled_steps(run_id)}
    return deed_lines(calls, results, await stores.undos.effects_of(run_id))


def deed_lines(
    calls: Sequence[VerifiedStep], results: Mapping[str, StepResult], effects: Sequence[PastEffect]
) -> list[str]:
    """List the effects of a run, then what its calls were to change and did not."""
    lines = dict[str, str]()
    for effect in effects:
        certain = "done, and undone since" if effect.undone == "done" else "done"
        how = certain if effect.certain else "nobody knows whether it happened"
        lines[f"{effect_phrase(effect.capability, effect.args, effect.result)}: {how}"] = ""
    begun = {effect.step.uid for effect in effects if effect.step}
    phrases = {effect_phrase(effect.capability, effect.args, None) for effect in effects}
    for phrase, how in _undone(calls, results, begun):
        if phrase not in phrases:
            lines[f"{phrase}: {how}"] = ""
    rows = [f"- {line}" for line in lines]
    more = len(rows) - MOST_LINES
    return [*rows[:MOST_LINES], *([f"- … and {more} more"] if more > 0 else [])]


def _undone(
    calls: Sequence[VerifiedStep], results: Mapping[str, StepResult], begun: set[str]
) -> Iterator[tuple[str, str]]:
    for entry in calls:
        result, step = results.get(entry.uid), entry.step
        completed = result is not None and result.status == "completed"
        if entry.effect == "pure" or entry.uid in begun or (completed and not step.capability):
            continue
        known = {name: value for name, value in step.params.items() if "{{" not in str(value)}
        phrase = effect_phrase(step.capability, known, None) if step.capability else step.description
        if completed:
            yield phrase, "done"
            continue
        why = format_end(result.status, result.error, result.code) if result else ""
        short = why if len(why) <= LONGEST_REASON else f"{why[:LONGEST_REASON]}…"
        yield phrase, f"not done ({short})" if short else "not done"
