"""How one step is carried out: inputs, cascade, call, and the record of how it ended."""

from __future__ import annotations

import asyncio
import json

from pydantic import JsonValue

from planwright.capabilities.gateway import Gateway, Site
from planwright.checkpoints.stores import Stores
from planwright.graph.canonical import spelled
from planwright.graph.cascade import fate
from planwright.graph.errors import BudgetExceeded, CapabilityError, PlanwrightError
from planwright.graph.invocation import Invocation
from planwright.graph.references import resolve
from planwright.graph.results import StepResult, StepStatus
from planwright.graph.settings import Settings
from planwright.graph.state import StepTask

PREVIEW = 200


class StepRunner:
    """Carry out verified steps. Whatever goes wrong settles as a result; only interrupts escape."""

    def __init__(self, gateway: Gateway, stores: Stores, settings: Settings) -> None:
        self.gateway = gateway
        self._stores = stores
        self._limit = settings.tools.result_limit
        self._run_retries = settings.execution.run_retries

    async def inputs(
        self, task: StepTask, invocation: Invocation
    ) -> tuple[StepResult | None, dict[str, StepResult]]:
        """Wait for what a step needs. Returns its result when it has ended already, or is skipped."""
        checked = task["checked"]
        if settled := invocation.board.settled(checked.uid):
            return settled, {}
        results = await invocation.board.inputs(task["awaits"], checked.uid)
        decision, missing = fate(checked.needs, results, checked.cascade)
        if decision == "skip":
            reason = f"it needs {', '.join(missing)}, which did not succeed"
            skipped = self.result(task, "skipped", code="dependency_failed", error=reason, missing=missing)
            return await self.settle(task, skipped, invocation), {}
        return None, results

    async def arguments(
        self, task: StepTask, results: dict[str, StepResult], invocation: Invocation
    ) -> dict[str, JsonValue]:
        """Resolve a step's arguments. Raises CapabilityRejected for a reference that leads nowhere."""
        outputs: dict[str, JsonValue] = {
            result.step_id: {"output": await self._output(result)}
            for result in results.values()
            if result.status == "completed"
        }
        scope: dict[str, JsonValue] = {"steps": outputs, "input": {"request": invocation.request}}
        resolved = resolve(dict(task["checked"].step.params), scope)
        assert isinstance(resolved, dict)
        return resolved

    async def run(self, task: StepTask, results: dict[str, StepResult], invocation: Invocation) -> StepResult:
        """Make the step's call, when a slot is free, and settle how it ended."""
        checked, board = task["checked"], invocation.board
        _, missing = fate(checked.needs, results, checked.cascade)
        tries = [1]

        def may_retry(attempt: int, cause: str, key: str) -> bool:
            if invocation.told_of("plan_step_retry") >= self._run_retries:
                return False
            tries[0] = attempt + 1
            data = {**self._about(task), "attempt": attempt, "error": cause, "idempotency_key": key}
            invocation.emit("plan_step_retry", data, f"{checked.uid}:{attempt}")
            return True

        async with board.slots:
            started = invocation.clock()
            invocation.emit("plan_step_start", {**self._about(task), "missing": list(missing)}, checked.uid)
            try:
                args = await self.arguments(task, results, invocation)
                output = await self.gateway.call(
                    checked.step.capability or "", args, self._site(task, invocation), may_retry
                )
                result = await self._completed(task, output)
            except CapabilityError as error:
                result = self.result(task, "failed", code=error.code, error=error.cause)
            except BudgetExceeded as error:
                result = self.result(task, "failed", code="budget_exceeded", error=str(error))
            except PlanwrightError as error:
                result = self.result(task, "failed", code="failed", error=error.cause)
            seconds = round((invocation.clock() - started).total_seconds(), 3)
            update = {"attempts": tries[0], "missing": missing, "seconds": seconds}
            return await self.settle(task, result.model_copy(update=update), invocation)

    async def settle(self, task: StepTask, result: StepResult, invocation: Invocation) -> StepResult:
        """Record a result durably, then let the steps that wait for it go on."""
        now = invocation.clock()
        await self._stores.ledger.settle_step(invocation.run_id, invocation.context.tenant, result, now)
        data = {**self._about(task), "status": result.status, "attempts": result.attempts}
        if result.status == "completed":
            preview = spelled(await self._output(result))[:PREVIEW]
            data |= {"preview": preview, "seconds": result.seconds}
            invocation.emit("plan_step_complete", data, result.uid)
        else:
            skipped = result.status in ("skipped", "rejected")
            data |= {"code": result.code, "error": result.error}
            invocation.emit("plan_step_skipped" if skipped else "plan_step_failed", data, result.uid)
        invocation.board.settle(result)
        return result

    def result(
        self, task: StepTask, status: StepStatus, *, code: str, error: str, missing: tuple[str, ...] = ()
    ) -> StepResult:
        """Make the result of a step that brought nothing."""
        checked = task["checked"]
        return StepResult(
            uid=checked.uid,
            step_id=checked.step.id,
            capability=checked.step.capability or "",
            status=status,
            code=code,
            error=error,
            missing=missing,
        )

    async def _completed(self, task: StepTask, output: JsonValue) -> StepResult:
        text = spelled(output)
        large = len(text) > self._limit
        checked = task["checked"]
        return StepResult(
            uid=checked.uid,
            step_id=checked.step.id,
            capability=checked.step.capability or "",
            status="completed",
            output=None if large else output,
            blob=await asyncio.to_thread(self._stores.blobs.put, text) if large else None,
        )

    async def _output(self, result: StepResult) -> JsonValue:
        return await full_output(self._stores, result)

    def _site(self, task: StepTask, invocation: Invocation) -> Site:
        return Site(
            tenant=invocation.context.tenant,
            thread_id=invocation.thread_id,
            run_id=invocation.run_id,
            plan_hash=task["plan_hash"],
            checked=task["checked"],
            lease_token=invocation.lease_token,
        )

    def _about(self, task: StepTask) -> dict[str, JsonValue]:
        step = task["checked"].step
        about: dict[str, JsonValue] = {"plan_id": task["plan_id"], "goal": task["goal"], "step_id": step.id}
        about |= {"step_index": task["index"], "total": task["total"], "capability": step.capability}
        return about | {"description": step.description}


async def full_output(stores: Stores, result: StepResult) -> JsonValue:
    """Read a step's whole output, from the blob store when it is large."""
    if result.blob is None:
        return result.output
    loaded: JsonValue = json.loads(await asyncio.to_thread(stores.blobs.get, result.blob))
    return loaded
