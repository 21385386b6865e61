"""How one step is carried out: inputs, cascade, call, and the record of how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from langgraph.errors import GraphInterrupt
from pydantic import JsonValue

from planwright.approvals.call_questions import CallQuestions
from planwright.capabilities.gateway.attempts import CallListener
from planwright.capabilities.gateway.call_site import CallSite
from planwright.capabilities.gateway.gateway import Gateway
from planwright.capabilities.result_notes import noting
from planwright.domain.errors import (
    CallCancelled,
    CapabilityChanged,
    CapabilityError,
    PlanwrightError,
    RunStopped,
)
from planwright.domain.hashing import json_text
from planwright.domain.results import StepResult
from planwright.domain.risk import Risk
from planwright.domain.schedule import cascade_decision
from planwright.domain.step_ends import bare_result
from planwright.domain.verified_step import VerifiedStep
from planwright.execution.alternative import Alternative
from planwright.execution.call_events import with_callbacks
from planwright.execution.cancelled_steps import CancelledSteps
from planwright.execution.decisions import Decisions
from planwright.execution.recorded_result import BegunEffects, completed, full_output, outputs_by_id
from planwright.models.budget_warnings import warn
from planwright.planning.conditions import barred
from planwright.planning.empty_results import left_out, step_arguments, without_needs
from planwright.records.stores import Stores
from planwright.settings.settings import Settings
from planwright.state.agent_state import StepTask
from planwright.state.invocation import Invocation
from planwright.state.loop_budget import LoopBudget

PREVIEW = 200


class StepRunner:
    """Carry out verified steps. Whatever goes wrong settles as a result; interrupts and RunStopped escape."""

    def __init__(
        self, gateway: Gateway, stores: Stores, settings: Settings, alternative: Alternative
    ) -> None:
        self.gateway = gateway
        self.decisions = Decisions(gateway, self.output)
        self._alternative = alternative
        self._stores = stores
        self.approval = settings.approval
        self._limit = settings.tools.result_limit
        self._cancelled = CancelledSteps(gateway, stores, self._limit)
        self.begun = BegunEffects(stores, self._limit)
        self._run_retries = settings.execution.run_retries
        self._questions = CallQuestions(stores.gates, settings)

    async def inputs(
        self, task: StepTask, invocation: Invocation
    ) -> tuple[StepResult | None, dict[str, StepResult]]:
        """Wait for what a step needs. Returns its result when it has ended already, or is skipped."""
        checked = task["checked"]
        if settled := invocation.board.settled(checked.uid):
            if not settled.kept_from:  # a crash may have come before it was told
                await self._emit_end(task, settled, invocation)
            return settled, {}
        results = await invocation.board.inputs(task["awaits"], checked.uid)
        if invocation.cancelled_by:
            return await self.settle(task, await self.cancelled(checked, invocation), invocation), {}
        if again := await self._asked_again(task, results.values(), invocation):
            return again, {}
        ended = without_needs(checked, results)
        if checked.step.when and not ended:
            ended = await asyncio.to_thread(barred, checked, await self.outputs(results), invocation.request)
        ended = ended or await self.decisions.refusal(checked, invocation)
        return (await self.settle(task, ended, invocation), {}) if ended else (None, results)

    async def turn(self, task: StepTask, invocation: Invocation) -> StepResult | None:
        """Wait until the steps that it only follows have ended; return its result where that ends it, too."""
        checked = task["checked"]
        results = await invocation.board.inputs((edge.uid for edge in checked.follows), checked.uid)
        return await self._asked_again(task, results.values(), invocation)

    async def _asked_again(
        self, task: StepTask, earlier: Iterable[StepResult], invocation: Invocation
    ) -> StepResult | None:
        """Skip a step whose plan is asked for again, with the steps that come before it, or has ended."""
        waits = [result.step_id for result in earlier if result.code == CapabilityChanged.code]
        skipped = left_out(task["checked"], task["ends"], invocation.board.settled)
        if waits:
            reason = f"it comes after {', '.join(waits)}, which is asked for again"
            skipped = bare_result(task["checked"], "skipped", code=CapabilityChanged.code, error=reason)
        return await self.settle(task, skipped, invocation) if skipped else None

    async def arguments(
        self, task: StepTask, results: dict[str, StepResult], invocation: Invocation
    ) -> dict[str, JsonValue]:
        """Resolve a step's arguments. Raises CapabilityRejected for a reference that leads nowhere."""
        if (edited := task.get("edited")) is not None:
            return edited
        scope: dict[str, JsonValue] = {
            "steps": await self.outputs(results),
            "input": {"request": invocation.request},
        }
        step = task["checked"].step
        return step_arguments(step, scope, self.gateway.registry.get(step.capability or ""))

    async def outputs(self, results: dict[str, StepResult]) -> dict[str, JsonValue]:
        """Read the outputs of completed steps, by step id."""
        return await outputs_by_id(results.values(), self._stores)

    async def run(self, task: StepTask, results: dict[str, StepResult], invocation: Invocation) -> StepResult:
        """Make the step's call, when it is its turn and a slot is free, and settle how it ended."""
        if again := await self.turn(task, invocation):
            return again
        async with invocation.board.slots:
            invocation.board.park_if_drained(task["checked"].uid)
            if invocation.cancelled_by:
                return await self.settle(task, await self.cancelled(task["checked"], invocation), invocation)
            with invocation.spans.step(task["checked"]):
                missing = self.begin(task, results, invocation)
                site = site_of(task["checked"], task["plan_hash"], invocation)
                args = partial(self.arguments, task, results, invocation)
                try:
                    result = await self.attempt(site, args, self._fields(task), invocation)
                    if result.status == "failed":
                        result = await self._instead(task, results, result, invocation)
                except GraphInterrupt:  # the call, or the one instead of it, asks a person
                    invocation.board.wait_on_gate(task["checked"].uid)
                    raise
                return await self.settle(task, result.model_copy(update={"missing": missing}), invocation)

    def begin(
        self, task: StepTask, results: dict[str, StepResult], invocation: Invocation
    ) -> tuple[str, ...]:
        """Tell that a step starts, and return which of the steps it needs brought nothing."""
        checked = task["checked"]
        _, missing = cascade_decision(checked.needs, results, checked.cascade)
        invocation.emit("plan_step_start", {**self._fields(task), "missing": list(missing)}, checked.uid)
        return missing

    async def _instead(
        self, task: StepTask, results: dict[str, StepResult], failed: StepResult, invocation: Invocation
    ) -> StepResult:
        """Make the one other call that may be made instead, if there is one (the failure ladder)."""
        try:
            args = await self.arguments(task, results, invocation)
        except CapabilityError:
            return failed
        suggestion = await self._alternative.instead_of(task, args, failed, invocation)
        if suggestion is None:
            return failed
        (plan, chosen), fields = suggestion, self._fields(task)
        other: dict[str, JsonValue] = {"capability": chosen.step.capability, "params": chosen.step.params}
        self.emit_retry(task, failed, other, invocation)

        async def literal() -> dict[str, JsonValue]:
            return chosen.step.params

        site = site_of(chosen, plan.plan_hash, invocation)
        tried = await self.attempt(site, literal, fields, invocation)
        attempts = failed.attempts + tried.attempts
        if tried.status != "completed":
            error = f"{failed.error}; then {chosen.step.capability} instead: {tried.error}"
            return failed.model_copy(update={"error": error, "code": tried.code, "attempts": attempts})
        return tried.model_copy(
            update={"uid": failed.uid, "instead_of": failed.capability, "attempts": attempts}
        )

    def emit_retry(
        self, task: StepTask, failed: StepResult, other: dict[str, JsonValue], invocation: Invocation
    ) -> None:
        """Tell that something else is tried than what failed."""
        data = self._fields(task) | {"attempt": failed.attempts, "error": failed.error, "alternative": other}
        invocation.emit("plan_step_retry", data, f"{failed.uid}:alternative")

    async def attempt(
        self,
        site: CallSite,
        arguments: Callable[[], Awaitable[dict[str, JsonValue]]],
        fields: dict[str, JsonValue],
        invocation: Invocation,
    ) -> StepResult:
        """Make a call, with its retries, and say how it ended; nothing is settled yet."""
        checked = site.checked
        tries, started, kept_from = [1], invocation.seconds(), list[str]()

        def may_retry(attempt: int, cause: str, key: str) -> bool:
            if invocation.cancelled_by or invocation.sent_count("plan_step_retry") >= self._run_retries:
                return False
            tries[0] = attempt + 1
            data = {**fields, "attempt": attempt, "error": cause, "idempotency_key": key}
            invocation.emit("plan_step_retry", data, f"{checked.uid}:{attempt}")
            return True

        def looked_up(times: int, outcome: str, cause: str, key: str) -> None:
            data = {**fields, "outcome": outcome, "error": cause, "idempotency_key": key}
            invocation.emit("effect_lookup", data, f"{checked.uid}:{invocation.lease.token}:{times}")

        def keep(key: str, uid: str) -> None:
            kept_from.append(invocation.run_id)
            data = {**fields, "idempotency_key": key, "done_by": uid}
            invocation.emit("effect_kept", data, checked.uid)

        try:
            invocation.check_writes()
            args = await arguments()
            with invocation.spans.call(checked):
                check_turn = partial(invocation.check_turn, checked.uid)
                listener = CallListener(may_retry, looked_up, keep, check_turn, invocation.check_cancelled)
                call = partial(self.gateway.call, checked.step.capability or "", args, listener=listener)
                with noting() as notes:
                    making = partial(self._questions.answered, site, call, invocation)
                    output = await with_callbacks(making, self.gateway, checked, args, fields)
            done = await completed(checked, output, args, self._stores.blobs, self._limit)
            result = done.model_copy(update={"note": "; ".join(notes)})
        except RunStopped:
            raise
        except CallCancelled:
            result = await self.cancelled(checked, invocation)
        except PlanwrightError as error:
            result = await self.begun.unmade(checked, error, invocation)
        await warn(self._stores.budgets, invocation)
        seconds = round(invocation.seconds() - started, 3)
        how = {"attempts": tries[0], "seconds": seconds, "kept_from": "".join(kept_from)}
        return result.model_copy(update=how)

    async def settle(self, task: StepTask, result: StepResult, invocation: Invocation) -> StepResult:
        """Record a result, then let the steps that wait for it go on; what was begun comes first in it."""
        result = await self.begun.first(task["checked"], result, invocation)
        self.record(result, invocation)
        await asyncio.sleep(0)  # steps that are ready begin before the end of this one is told
        await self._emit_end(task, result, invocation)
        invocation.board.settle(result)
        return result

    async def _emit_end(self, task: StepTask, result: StepResult, invocation: Invocation) -> None:
        """Tell how a step ended, once."""
        data = {**self._fields(task), "status": result.status, "attempts": result.attempts}
        if result.status == "completed":
            preview = json_text(await self.output(result))[:PREVIEW]
            data |= {"preview": preview, "seconds": result.seconds}
            invocation.emit("plan_step_complete", data, result.uid)
        else:
            skipped = result.status in ("skipped", "rejected")
            data |= {"code": result.code, "error": result.error}
            invocation.emit("plan_step_skipped" if skipped else "plan_step_failed", data, result.uid)

    async def cancelled(self, checked: VerifiedStep, invocation: Invocation) -> StepResult:
        """Make the result of a step that a cancelled run does not go on with; it may have begun before."""
        return await self._cancelled.result(checked, invocation)

    def record(self, result: StepResult, invocation: Invocation) -> None:
        """Write down how a step or a call ended."""
        self._stores.ledger.settle_step(invocation.lease, result, invocation.clock())

    async def output(self, result: StepResult) -> JsonValue:
        """Read a result's whole output."""
        return await full_output(self._stores, result)

    def _fields(self, task: StepTask) -> dict[str, JsonValue]:
        step = task["checked"].step
        fields: dict[str, JsonValue] = {
            "plan_id": task["plan_id"],
            "goal": task["goal"],
            "step_id": step.id,
        }
        fields |= {"step_index": task["index"], "total": task["total"], "capability": step.shown_name}
        return fields | {"description": step.description, "uid": task["checked"].uid}


def site_of(
    checked: VerifiedStep,
    plan_hash: str,
    invocation: Invocation,
    lanes: tuple[LoopBudget, ...] = (),
    ask_from: Risk | None = None,
) -> CallSite:
    """Say where a call stands."""
    return CallSite(
        lease=invocation.lease,
        plan_hash=plan_hash,
        checked=checked,
        profile=invocation.profile,
        words=invocation.words,
        ask_from=ask_from,
        lanes=lanes,
    )
