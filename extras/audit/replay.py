"""Make every verdict of a run, and its record, anew; and say where they differ first."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue, ValidationError

from planwright.critic.facts import StepFacts
from planwright.critic.gathering import NOT_ACCEPTED
from planwright.critic.verdict_inputs import RULES, VerdictInputs
from planwright.domain.errors import RunError
from planwright.domain.hashing import sha256
from planwright.domain.results import RunVerdict, StepResult
from planwright.domain.verified_step import VerifiedStep
from planwright.records.audit.differences import first_difference
from planwright.records.audit.missing_rows import missing_rows
from planwright.records.audit.record_of_run import record_of
from planwright.records.audit.sealing import latest_seal
from planwright.records.effects.work_records import RunWork, work_of
from planwright.records.history.run_outcomes import (
    gate_decision,
    plan_row,
    result_text,
    verdict_rows,
)
from planwright.records.history.run_records import find_row
from planwright.store.blobs import Blobs
from planwright.store.sealed_rows import TABLES

REDACTED = "[REDACTED "


@dataclass(frozen=True)
class Replay:
    """What came of replaying one run."""

    run_id: str
    """Id of the run."""
    verdicts: int
    """How many verdicts were made anew."""
    record_hash: str
    """Hash of the record that was made anew, as 64 hex digits; "" for a run that has not ended."""
    differences: tuple[str, ...]
    """Where it differs from what is recorded, the first place of each verdict and of the record."""
    notes: tuple[str, ...] = ()
    """What could not be made anew, and is no difference."""

    @property
    def equal(self) -> bool:
        """Whether all came out as it is recorded."""
        return not self.differences


def replay_run(connection: sqlite3.Connection, blobs: Blobs, run_id: str) -> Replay:
    """Replay one run from its rows. Raises RunError where there is no such run."""
    run = find_row(connection, run_id)
    if run is None:
        raise RunError(f"there is no run {run_id}", "list the runs: planwright ls --all")
    rounds = _Rounds(connection, blobs, run_id)
    differences = list(rounds.differences())
    if run["ended_at"] is None:
        return Replay(run_id, rounds.count, "", tuple(differences), (*rounds.notes, "the run has not ended"))
    differences += missing_rows(connection, run_id)
    seal = latest_seal(connection, run_id)
    try:
        record = record_of(connection, run_id).model_dump(mode="json")
    except (ValueError, KeyError, TypeError) as error:
        problem = f"record: a row of the run cannot be read: {str(error).splitlines()[0]}"
        return Replay(run_id, rounds.count, "", (*differences, problem), tuple(rounds.notes))
    if seal is None:
        rounds.notes.append("no record of it was sealed")
    elif difference := first_difference(seal.record.model_dump(mode="json"), record):
        differences.append(f"record: {difference}")
    return Replay(run_id, rounds.count, sha256(record), tuple(differences), tuple(rounds.notes))


def with_outputs(inputs: VerdictInputs, blobs: Blobs) -> VerdictInputs:
    """Put the outputs of steps back in their places. Raises RunError where one is gone."""
    return inputs.model_copy(update={"facts": tuple(_with_output(facts, blobs) for facts in inputs.facts)})


def _with_output(facts: StepFacts, blobs: Blobs) -> StepFacts:
    result = facts.result
    if result.status != "completed":
        return facts
    output: JsonValue = result.output if result.blob is None else json.loads(blobs.get(result.blob))
    return facts.model_copy(update={"output": output})


class _Rounds:
    """The verdicts of one run, oldest first."""

    def __init__(self, connection: sqlite3.Connection, blobs: Blobs, run_id: str) -> None:
        self.count = 0
        self.notes: list[str] = []
        self._connection, self._blobs, self._run_id = connection, blobs, run_id
        self._work: RunWork = work_of(connection, run_id)
        seal = latest_seal(connection, run_id)
        self._sealed_plans = seal.rows.get("plans", {}) if seal else {}

    def differences(self) -> Iterator[str]:
        """Make each verdict anew, and yield where it differs first."""
        before: RunVerdict | None = None
        for row in verdict_rows(self._connection, self._run_id):
            try:
                verdict = RunVerdict.model_validate_json(row["content"])
                difference = self._of_row(row, verdict, before)
            except (ValidationError, RunError, ValueError, KeyError) as error:
                yield f"verdict {row['key']}: it cannot be read: {str(error).splitlines()[0]}"
                continue
            if difference := difference or _columns(row, verdict):
                yield f"verdict {row['key']}: {difference}"
            before = verdict

    def _of_row(self, row: sqlite3.Row, verdict: RunVerdict, before: RunVerdict | None) -> str:
        if row["facts"] is None:
            return self._accepted(row, verdict, before)
        inputs = VerdictInputs.model_validate_json(row["facts"])
        inputs = with_outputs(inputs, self._blobs)
        if REDACTED not in row["facts"] and inputs.inputs_hash != row["inputs_hash"]:
            return self._other_facts(row, inputs) or "the facts are not those that it was made from"
        if difference := self._other_facts(row, inputs):
            return difference
        self.count += 1
        now = inputs.verdict().model_dump(mode="json", exclude={"inputs_hash", "evaluators"})
        recorded = verdict.model_dump(mode="json", exclude={"inputs_hash", "evaluators"})
        difference = first_difference(recorded, now)
        if verdict.evaluators != RULES:
            self.notes.append(f"verdict {row['key']} was made by other rules than those of this program")
        return difference

    def _accepted(self, row: sqlite3.Row, verdict: RunVerdict, before: RunVerdict | None) -> str:
        """Check a verdict by a person: one who approved the escalation that it is about."""
        if not verdict.decided_by:
            return "the facts that it was made from are gone"
        decision = gate_decision(self._connection, self._run_id, row["key"])
        if decision != ("approved", verdict.decided_by):
            return f"decided_by: {verdict.decided_by} has not approved gate {row['key']}"
        self.count += 1
        own = {"verdict", "reason", "decided_by"}
        was = before.model_dump(mode="json", exclude=own) if before else {}
        return first_difference(was, verdict.model_dump(mode="json", exclude=own))

    def _other_facts(self, row: sqlite3.Row, inputs: VerdictInputs) -> str:
        """Say where the facts differ first from the rows that they were gathered from."""
        plan = plan_row(self._connection, self._run_id, row["plan_hash"])
        if plan is None:
            return f"plan {row['plan_hash'][:12]} is gone"
        checked = [VerifiedStep.model_validate(entry) for entry in json.loads(plan["checked"])]
        steps = {entry.uid: entry.model_dump(mode="json") for entry in checked}
        as_sealed = self._sealed_plans.get(row["plan_hash"]) in (None, TABLES["plans"].digest(plan))
        for facts in inputs.facts:
            # A plan that came back was verified anew, in its one row: what it was before, the facts have.
            planned = None if as_sealed else steps.get(facts.checked.uid, {})
            if difference := self._other_step(facts, planned):
                return f"step {facts.result.step_id}: {difference}"
        return ""

    def _other_step(self, facts: StepFacts, planned: Mapping[str, JsonValue] | None) -> str:
        if planned is not None:
            checked = facts.checked.model_dump(mode="json")
            if difference := first_difference(checked, planned, "checked"):
                return difference
        text = result_text(self._connection, self._run_id, facts.checked.uid)
        if text is None:
            return "its result is gone"
        if difference := _other_result(facts.result, StepResult.model_validate_json(text)):
            return difference
        return self._other_effects(facts)

    def _other_effects(self, facts: StepFacts) -> str:
        """Compare the effects of a step; one that was in doubt then may have been settled since.

        Who decided over them follows from plans and gates as they are now: the record has that.
        """
        now = {effect.key: effect for effect in self._work.under(facts.checked.uid)}
        for effect in () if facts.result.kept_from else facts.effects:
            other = now.get(effect.key)
            if other is None:
                return f"effect {effect.key[:12]} is gone"
            own = {"uid", "capability"} | ({"status"} if effect.status in ("done", "failed") else set())
            was, is_ = (entry.model_dump(mode="json", include=own) for entry in (effect, other))
            if difference := first_difference(was, is_, f"effect {effect.key[:12]}"):
                return difference
        return ""


def _other_result(then: StepResult, now: StepResult) -> str:
    """Compare how a step ended with its row; the critic or a person may have ruled over it since."""
    if NOT_ACCEPTED in (then.code, now.code) or "in_doubt" in (then.code, now.code):
        own = {"status", "code", "error", "output", "blob", "instead_of"}
    else:
        own = set()
    was, is_ = (result.model_dump(mode="json", exclude=own) for result in (then, now))
    return first_difference(was, is_, "result")


def _columns(row: sqlite3.Row, verdict: RunVerdict) -> str:
    """Compare the columns of a row with its content."""
    content = {
        "plan_id": verdict.plan_id,
        "verdict": verdict.verdict,
        "reason": verdict.reason,
        "inputs_hash": verdict.inputs_hash,
        "decided_by": verdict.decided_by or None,
    }
    return first_difference({name: row[name] for name in content}, content)
