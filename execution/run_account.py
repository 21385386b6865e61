"""What is told of a run at its end: what every step did, what failed or was dropped, what people said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from planwright.critic.evaluators import UNKNOWN
from planwright.critic.ruling import why
from planwright.domain.hashing import json_text
from planwright.domain.references import NothingFound
from planwright.domain.results import RunStatus, RunVerdict, StepResult, StepScore
from planwright.domain.step_ends import CANCELLED
from planwright.domain.verified_step import VerifiedStep
from planwright.execution.step_accounts import StepAccount, clip, describe_step, step_accounts
from planwright.planning.done_steps import lost_steps, not_made_up_for
from planwright.records.consent.gate import Gate
from planwright.records.effects.refusals import RefusedCall, ends_with
from planwright.records.stores import Stores
from planwright.state.agent_state import AgentState, Attempts

DONE = ("completed", "completed_with_skips")
LONGEST_OUTPUT = 6_000  # characters of one output
BRIEFLY = (200, 5)  # characters of a text, items of a list
WIDTHS = ((1500, 20), (500, 20), BRIEFLY)
BY_THE_PROGRAM = frozenset(("rule", "policy", "plan", "gate"))  # channels of decisions that nobody typed


@dataclass(frozen=True)
class RunAccount:
    """A run as its answer tells it."""

    status: RunStatus
    """How the run ends."""
    results: list[dict[str, JsonValue]] = field(default_factory=list)
    """What came of each step, in the order of the plan; then what only earlier plans were to bring about."""
    gate_answers: list[dict[str, JsonValue]] = field(default_factory=list)
    """What people said at gates, beside a plain yes."""
    refused: list[RefusedCall] = field(default_factory=list)
    """What was refused, in a run that did nothing else but reading."""
    cannot: str = ""
    """What the plan says it cannot do; "" for nothing."""
    whole: str = ""
    """The answer, where a model has written it in the last step; else ""."""

    def briefly(self) -> list[dict[str, JsonValue]]:
        """Tell the results in as few characters as can be."""
        return [entry | {"output": clip(entry["output"], *BRIEFLY)} for entry in self.results]


async def account_of_run(state: AgentState, stores: Stores) -> RunAccount:
    """Read what there is to tell of a run, from its records."""
    run_id, results, checked = state["run_id"], state.get("results", {}), state.get("checked", [])
    recorded, scores = list[VerifiedStep](), dict[str, StepScore]()
    if state.get("attempts", Attempts()).revision > 1:
        recorded = await stores.plans.steps_of_run(run_id)
        verdicts = (await stores.verdicts.of_run(run_id)).values()
        every = (score for verdict in verdicts for score in verdict.step_scores)
        scores = {score.uid: score for score in every if score.verdict != "ok"}
    lost = lost_steps(recorded, results, checked)
    accounts = await step_accounts([*checked, *lost], results, stores, run_id)
    described = [_described(account, checked, scores) for account in accounts]
    if not (state["decision"].planned or described):
        return RunAccount("completed")
    plan, done = state.get("plan"), set(state.get("done", ()))
    own = {entry.uid: results[entry.uid] for entry in checked if entry.uid in results}
    status = final_status(own, state.get("verdict"))
    gates = await stores.gates.of_run(run_id) if checked else []
    if (
        status == "escalated"
        and _is_empty_handed(own)
        and not any(gate.kind == "escalation" for gate in gates)
    ):
        status = "completed_with_skips"  # nobody was asked: a search that finds nothing is no fault
    unmet = [entry for entry in checked if entry.uid in done and entry.uid in scores]
    cannot = plan.cannot if plan else ""
    if status == "completed" and (cannot or not_made_up_for([*lost, *unmet], checked, own, done)):
        status = "completed_with_skips"
    refused = await stores.refusals.of_all_effects(run_id) if status in DONE else []
    gate_answers = _gate_answers(gates)
    plain = status == "completed" and not (refused or gate_answers)
    whole = _written(checked, accounts) if plain else ""
    return RunAccount(
        ends_with(refused) if refused else status, described, gate_answers, refused, cannot, whole
    )


def final_status(results: Mapping[str, StepResult], verdict: RunVerdict | None) -> RunStatus:
    """Name how a run ends, from the steps of its plan and the verdict."""
    statuses = [result.status for result in results.values()]
    if any(result.code == "budget_exceeded" for result in results.values()):
        return "budget_exceeded"
    if any(result.code == "timeout" for result in results.values()):
        return "timeout"
    if any(result.code in UNKNOWN for result in results.values()):
        return "escalated"
    if any(result.code == CANCELLED for result in results.values()):
        return "cancelled"
    if "failed" in statuses:
        return "failed"
    if verdict is not None and verdict.verdict != "accept":
        return "escalated"
    return "completed" if set(statuses) <= {"completed"} else "completed_with_skips"


def _is_empty_handed(results: Mapping[str, StepResult]) -> bool:
    return any(result.code == NothingFound.code for result in results.values())


def _described(
    account: StepAccount, checked: Sequence[VerifiedStep], scores: Mapping[str, StepScore]
) -> dict[str, JsonValue]:
    """Describe one step to whoever writes the answer; what a call brought for another step in fewer words.

    The words of a model stay whole: they are what the steps behind it, and the answer, rest on.
    """
    entry, result = account.entry, account.result
    used = any(feeds(entry, other) for other in checked)
    score, completed = scores.get(entry.uid), result.status == "completed"
    more = describe_step(account)
    return {
        "id": result.step_id,
        "capability": result.capability,
        "description": entry.step.description,
        "params": clip(dict(account.params), 1500 if entry.effect != "pure" else 200),
        "status": result.status,
        "output": fitted(account.output, used=used and not entry.step.agentic) if completed else None,
        "error": result.error,
        "note": result.note,
        "not_accepted": why(result, score) if score and completed else "",
        "changes": more.get("changed", []),
        "changed": entry.effect != "pure",
        "used": used,
    }


def fitted(output: JsonValue, *, used: bool = False) -> JsonValue:
    """Clip an output as hard as its length asks for, what another step has used a little harder."""
    for text, items in WIDTHS[1 if used else 0 :]:
        clipped = clip(output, text, items)
        if len(json_text(clipped)) <= LONGEST_OUTPUT:
            return clipped
    return clip(output, *BRIEFLY)


def without_defaults(result: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Leave out of a result what goes without saying: its id, that it ended well and changed nothing.

    What a step has brought is told, also where it is nothing: that may be the answer.
    """
    usual: dict[str, JsonValue] = {"status": "completed", "changed": False, "used": False, "id": result["id"]}
    always = {"output"} if result["status"] == "completed" else set[str]()
    return {
        key: value
        for key, value in result.items()
        if key in always or (value not in ("", [], {}) and usual.get(key) != value)
    }


def feeds(entry: VerifiedStep, other: VerifiedStep) -> bool:
    """Say whether a step works with the result of another one, and does not only come after it."""
    if entry.uid not in other.needs:
        return False
    named = entry.step.id in other.step.references or entry.step.key in other.step.inputs
    return named or other.step.agentic


def _gate_answers(gates: Sequence[Gate]) -> list[dict[str, JsonValue]]:
    """List the words of people at gates, and every answer of theirs that was no plain yes."""
    answers = list[dict[str, JsonValue]]()
    for gate in gates:
        plain = gate.status == "approved" and not gate.reason
        if plain or gate.status in ("open", "cancelled") or gate.channel in BY_THE_PROGRAM:
            continue
        asked_over = gate.card.get("capability") or gate.card.get("goal") or gate.kind
        by = {"by": gate.decided_by} if gate.decided_by else {}
        words = {"words": gate.reason} if gate.reason else {}
        answers.append({"at": gate.kind, "about": asked_over, "answer": gate.status, **by, **words})
    return answers


def _written(checked: Sequence[VerifiedStep], accounts: Sequence[StepAccount]) -> str:
    """Find the answer in the last step: a model's own words, where all the others only called reads for it.

    What another model found before it may be a part of the answer that the last one was not asked for, and
    words about changes are what one step did: then the answer is written from all of them.
    """
    if not checked or not (last := checked[-1]).step.agentic:
        return ""
    fed = {last.uid}
    for entry in reversed(checked):
        fed.update(entry.needs if entry.uid in fed else ())
    before = [entry for entry in checked if entry.uid != last.uid]
    if any(entry.uid not in fed or entry.effect != "pure" or entry.step.agentic for entry in before):
        return ""
    if before and last.effect != "pure":
        return ""
    output = next((account.output for account in accounts if account.entry.uid == last.uid), None)
    text = output.get("text") if isinstance(output, dict) else None
    return text if isinstance(text, str) else ""
