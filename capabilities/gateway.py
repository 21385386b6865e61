"""The gateway: the only way to an effect.

A call passes surface, plan, schema, policy and gate, the locks of what it overwrites, budget and
ledger, in this order, and fails closed at the first that refuses.
"""

from __future__ import annotations

import asyncio
import inspect
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue, ValidationError

from planwright.capabilities import policy
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.capability import Capability, check_arguments, explain
from planwright.capabilities.chains import find
from planwright.capabilities.recorded_effect import from_record, in_doubt
from planwright.capabilities.redacted import redacted, refuse_secrets
from planwright.capabilities.registry import Registry
from planwright.capabilities.resource_locks import ResourceLocks
from planwright.checkpoints.approvers import check_approvals
from planwright.checkpoints.budgets import Amount
from planwright.checkpoints.gates import gate_id
from planwright.checkpoints.ledger import EffectCall
from planwright.checkpoints.serde import storable
from planwright.checkpoints.stores import Stores
from planwright.graph.errors import (
    CapabilityError,
    CapabilityForbidden,
    CapabilityRejected,
    CapabilityUnavailable,
    EffectInDoubt,
    GateError,
    PlanwrightError,
)
from planwright.graph.lane_budget import LaneBudget
from planwright.graph.plan import CheckedStep
from planwright.graph.profile import Profile
from planwright.graph.settings import Settings

KEPT_PLANS = 64
MayRetry = Callable[[int, str, str], bool]
"""Told of a failed attempt, its cause and the idempotency key; says whether the run has a retry left."""


@dataclass(frozen=True)
class Site:
    """Where a call stands: whose run, by which profile, which verified plan, which step."""

    tenant: str
    thread_id: str
    run_id: str
    plan_hash: str
    checked: CheckedStep
    lease_token: int
    profile: Profile
    attempt: int = 1
    lanes: tuple[LaneBudget, ...] = ()


class Gateway:
    """Carry out capability calls for verified steps."""

    def __init__(self, registry: Registry, stores: Stores, settings: Settings, world: CallContext) -> None:
        self.registry = registry
        self.world = world
        self._stores = stores
        self._settings = settings
        self._locks = ResourceLocks()
        self._plans: dict[tuple[str, str, int], asyncio.Future[dict[str, CheckedStep]]] = {}

    async def call(
        self, name: str, params: dict[str, JsonValue], site: Site, may_retry: MayRetry
    ) -> JsonValue:
        """Make one call and return its result, recorded or new.

        Raises CapabilityRejected (final), CapabilityUnavailable (after all retries),
        EffectInDoubt, BudgetExceeded, LedgerConflict or RunError.
        """
        found, args = await self.admit(name, params, site)
        if found.chain:
            raise CapabilityForbidden(f"{name} is a chain: it is called step by step")
        call = EffectCall(
            tenant=site.tenant,
            thread_id=site.thread_id,
            run_id=site.run_id,
            step_uid=site.checked.uid,
            capability=name,
            effect=found.effect,
            args=args,
            lease_token=site.lease_token,
            attempt=site.attempt,
        )
        perform = self._performer(found, args, call, site, may_retry)
        async with self._locks.hold(found.overwrites(args, self.world)):
            reservation = await self._reserve(name, site, call.key)
            try:
                return await (perform() if found.effect == "pure" else self._recorded(call, perform))
            finally:
                if reservation:
                    await self._stores.budgets.settle(reservation, Amount(calls=1))

    async def admit(
        self, name: str, params: dict[str, JsonValue], site: Site
    ) -> tuple[Capability, dict[str, JsonValue]]:
        """Let a call pass surface, plan, schema, policy and gate, and return it with its whole arguments.

        Raises CapabilityRejected. Nothing is called, and nothing is written down.
        """
        found = find(self.registry, name, site.checked, site.profile)
        key = (site.run_id, site.plan_hash, site.lease_token)
        if await self.approved(*key, site.checked.uid) != site.checked:
            raise CapabilityForbidden(f"{name} is not a step of an approved plan of this run")
        args = await self._arguments(found, params)
        found = found.given(args, self.world)
        await self._permit(found, args, site)
        return found, args

    async def approved(self, run_id: str, plan_hash: str, lease_token: int, uid: str) -> CheckedStep | None:
        """Look a step up in the approved plan on record; what the state says is not trusted.

        The steps of a plan ask together, and read it once. One that is missing reads it anew: the
        same plan again has other uids where a step had failed.
        """
        key = (run_id, plan_hash, lease_token)
        steps = await self.approved_steps(*key)
        if uid not in steps:
            self._plans.pop(key, None)
            steps = await self.approved_steps(*key)
        return steps.get(uid)

    async def approved_steps(self, run_id: str, plan_hash: str, lease_token: int) -> dict[str, CheckedStep]:
        """Read an approved plan by uid, from the record and once; empty when nobody approved it."""
        key = (run_id, plan_hash, lease_token)
        if key not in self._plans:
            while len(self._plans) >= KEPT_PLANS:
                del self._plans[next(iter(self._plans))]
            self._plans[key] = asyncio.ensure_future(self._stores.runs.runnable_steps(run_id, plan_hash))
        try:
            return await asyncio.shield(self._plans[key])
        except PlanwrightError:
            self._plans.pop(key, None)
            raise

    async def _arguments(self, found: Capability, params: dict[str, JsonValue]) -> dict[str, JsonValue]:
        try:
            args = check_arguments(found, params)
        except ValidationError as error:
            raise CapabilityRejected(f"{found.name} was given bad arguments: {explain(error)}") from error
        refuse_secrets(found, args, self.world.redactor)
        if found.preflight:
            await asyncio.to_thread(found.check, args, self.world)
        return args

    def ruling(
        self, found: Capability, args: dict[str, JsonValue], tenant: str, profile: Profile
    ) -> policy.Ruling:
        """Ask the policy about a call whose arguments are known. Raises CapabilityForbidden for a deny."""
        ruled = policy.decide(found, args, self.world.on_behalf_of(tenant, profile.agent))
        if ruled.answer == "deny":
            raise CapabilityForbidden(f"the policy denies {found.name}: {ruled.why}")
        return ruled

    async def _permit(self, found: Capability, args: dict[str, JsonValue], site: Site) -> None:
        ruling = self.ruling(found, args, site.tenant, site.profile)
        if found.varies and found.graver_than(site.checked.risk, site.checked.effect):
            raise CapabilityForbidden(f"{found.name} was not approved as {found.risk}, {found.effect}")
        if ruling.answer == "ask" or found.mode == "destructive" or site.checked.gated:
            try:
                gate = await self._stores.gates.read(
                    gate_id(site.run_id, "step", site.checked.uid), self.world.now()
                )
            except GateError as error:
                raise CapabilityForbidden(f"{found.name} needs a person: {ruling.reason}") from error
            if gate.status != "approved" or gate.shown.get("args") != args:
                raise CapabilityForbidden(f"nobody approved {found.name} with these arguments")
            try:
                check_approvals(gate.gate_id, gate.approvals, ruling.approvers, ruling.quorum)
            except GateError as error:
                raise CapabilityForbidden(error.cause) from error

    async def _reserve(self, name: str, site: Site, key: str) -> str | None:
        limits = site.profile.limits
        if limits.tool_calls is None and not site.lanes:
            return None
        now, one = self.world.now(), Amount(calls=1)
        return await self._stores.budgets.reserve(
            site.run_id, site.tenant, name, "tool", one, limits, now, key, lanes=site.lanes
        )

    async def _recorded(self, call: EffectCall, perform: Callable[[], Awaitable[JsonValue]]) -> JsonValue:
        """Run an effect between its intent and its record, or answer from the record."""
        ledger, now = self._stores.ledger, self.world.now
        known = await ledger.intend(call, now())
        if not known.fresh and (answer := from_record(call, known)) is not None:
            return answer[0]
        if not known.fresh and call.effect != "idempotent":
            await ledger.settle(call, "in_doubt", now(), error="the process ended before the answer came")
            raise in_doubt(call)
        try:
            result = await perform()
        except EffectInDoubt as error:
            await ledger.settle(call, "in_doubt", now(), error=str(error))
            raise
        except (CapabilityRejected, CapabilityUnavailable) as error:
            await ledger.settle(call, "failed", now(), error=error.cause)
            raise
        await ledger.settle(call, "done", now(), result)
        return result

    def _performer(
        self, found: Capability, args: dict[str, JsonValue], call: EffectCall, site: Site, may_retry: MayRetry
    ) -> Callable[[], Awaitable[JsonValue]]:
        asked = self.world.on_behalf_of(site.tenant, site.profile.agent)
        context = asked.for_call(site.tenant, site.run_id, call.key)
        declared = found.timeout_s or self._settings.execution.step_timeout_s
        timeout_s = site.checked.step.timeout_s or declared
        execution = self._settings.execution

        async def perform() -> JsonValue:
            attempt = 1
            while True:
                try:
                    return await redacted(_invoke(found, args, context, timeout_s), context.redactor)
                except CapabilityUnavailable as error:
                    if attempt > execution.step_retries:
                        raise
                    if not may_retry(attempt, error.cause, call.key):
                        raise
                await asyncio.sleep(backoff_s(attempt, execution.retry_base_ms / 1000))
                attempt += 1

        return perform


def backoff_s(attempt: int, base_s: float) -> float:
    """Say how long to wait after a failed attempt: doubling up to 8 s, with up to 0.1 s of jitter."""
    return min(8.0, base_s * 2.0 ** (attempt - 1)) + random.uniform(0, 0.1)


async def _invoke(
    found: Capability, args: dict[str, JsonValue], context: CallContext, timeout_s: float
) -> JsonValue:
    """Call the function once and check what it returns."""
    keywords: dict[str, Any] = dict(iter(found.args.model_validate(args)))  # one may be named `keys`
    if found.context_parameter:
        keywords[found.context_parameter] = context
    try:
        async with asyncio.timeout(timeout_s):
            if inspect.iscoroutinefunction(found.function):
                result = await found.function(**keywords)
            else:
                result = await asyncio.to_thread(found.function, **keywords)
    except TimeoutError as error:
        if found.effect == "blind":
            raise EffectInDoubt(f"{found.name} did not answer within {timeout_s:g} s") from error
        raise CapabilityUnavailable(f"{found.name} did not answer within {timeout_s:g} s") from error
    except (CapabilityRejected, CapabilityUnavailable, EffectInDoubt):
        raise
    except asyncio.CancelledError as error:
        if (task := asyncio.current_task()) is None or task.cancelling():
            raise  # it is we who are cancelled, not the function that says so
        raise _broke_off(found, error) from error
    except (Exception, SystemExit) as error:  # a user's function may raise anything; it is final
        raise _broke_off(found, error) from error
    try:
        dumped: JsonValue = found.result.dump_python(found.result.validate_python(result), mode="json")
        storable(dumped)
    except ValidationError as error:
        raise _useless(found, f"what it does not declare: {explain(error)}") from error
    except (ValueError, TypeError, RecursionError) as error:
        raise _useless(found, f"what cannot be stored: {error}") from error
    return dumped


def _broke_off(found: Capability, error: BaseException) -> CapabilityError:
    said = f"{type(error).__name__}: {error}"
    if found.effect == "blind":
        return EffectInDoubt(f"{found.name} broke off: {said}")
    return CapabilityRejected(f"{found.name} failed: {said}")


def _useless(found: Capability, what: str) -> CapabilityError:
    if found.effect == "blind":
        return EffectInDoubt(f"{found.name} was called, and returned {what}")
    return CapabilityRejected(f"{found.name} returned {what}")
