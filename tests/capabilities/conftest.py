"""The demo workspace, a call's view of it, and a gateway with a run that may use it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.capabilities.gateway.attempts import CallListener
from planwright.capabilities.gateway.call_site import CallSite
from planwright.capabilities.gateway.gateway import Gateway
from planwright.capabilities.registry import Registry
from planwright.domain.clock import Timer
from planwright.domain.plan import Plan, PlanStep
from planwright.domain.run_context import RunContext
from planwright.domain.verified_step import VerifiedStep
from planwright.extras.demo.workspace import write_workspace
from planwright.planning.verification import pinned
from planwright.records.plans import PlanGate
from planwright.records.runs import Run
from planwright.records.stores import Stores, open_stores
from planwright.security.jail import Jail
from planwright.settings.profile import in_force
from planwright.settings.settings import Settings, load

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    opened = open_stores(tmp_path / "store", timer=Timer())
    yield opened
    opened.close()


@pytest.fixture
def make_world(tmp_path: Path, stores: Stores) -> Callable[..., CallContext]:
    """Make the context of a call in the test's folder; `flags` are settings."""

    def make(key: str = "key-1", **flags: Any) -> CallContext:
        settings = load(tmp_path, **flags)
        world = CallContext(
            settings,
            Jail(settings.workspace),
            stores.memories,
            lambda: NOW,
            file_versions=stores.file_versions,
        )
        return world.for_call("acme", "run_1", key)

    return make


@pytest.fixture
def demo(tmp_path: Path, make_world: Callable[..., CallContext]) -> CallContext:
    """A call in the demo workspace."""
    write_workspace(tmp_path)
    return make_world()


class Deeds:
    """What the capabilities of a test did: the arguments and the key of each call."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.failures: list[Exception] = []

    def declare(self, name: str = "a.do", **declared: Any) -> Capability:
        """Declare a capability that first raises the failures of this object, one a call."""

        @capability(name, **declared)
        async def do(call: CallContext, what: str = "x") -> str:
            """Do something."""
            self.calls.append((what, call.idempotency_key))
            if self.failures:
                raise self.failures.pop(0)
            return f"did {what}"

        return do


@pytest.fixture
def deeds() -> Deeds:
    return Deeds()


@dataclass
class Bench:
    """A gateway over some capabilities, and one leased run with a plan of one step each."""

    gateway: Gateway
    stores: Stores
    settings: Settings
    sites: dict[str, CallSite]
    retries: list[tuple[int, str]] = field(default_factory=list)
    lookups: list[tuple[str, str]] = field(default_factory=list)

    async def call(self, name: str, **params: JsonValue) -> JsonValue:
        """Call a capability as its step of the plan."""
        return await self.gateway.call(
            name, params, self.sites[name], CallListener(self._tell, self._looked_up)
        )

    def _tell(self, attempt: int, cause: str, *_: object) -> bool:
        self.retries.append((attempt, cause))
        return True

    def _looked_up(self, times: int, outcome: str, cause: str, key: str) -> None:
        self.lookups.append((outcome, cause))

    def effects(self) -> list[tuple[str, str]]:
        """List what the ledger knows: capability and status."""
        query = "SELECT capability, status FROM effects ORDER BY intended_at, key"
        return self.stores.database.call("read", lambda c: [tuple(row) for row in c.execute(query)])


@pytest.fixture
def make_bench(stores: Stores, make_world: Callable[..., CallContext]) -> Callable[..., Any]:
    """Build a bench; `gate_id` makes the plan wait for that gate, `gated` the steps for their own."""

    async def make(
        *found: Capability,
        gate_id: str | None = None,
        gated: bool = False,
        recorded: bool = True,
        agent: str | None = None,
        **flags: Any,
    ) -> Bench:
        fast = {"execution": {"retry_base_ms": 1, **flags.pop("execution", {})}}
        flags.setdefault("approval", {"plan": "never"})  # what asks by its risk is tested apart
        world = make_world(**fast, **flags)
        run = Run(
            run_id="run_1",
            thread_id="thread_1",
            tenant="acme",
            status="running",
            request="do it",
            messages=[],
            context={},
            started_at=NOW.isoformat(),
        )
        lease = await stores.leases.take(run, 3600)
        steps = [PlanStep(id=f"s{n}", capability=one.name) for n, one in enumerate(found)]
        plan = Plan(plan_id="plan_1", goal="g", steps=tuple(steps))
        registry = Registry(found)
        checked = [_checked(step, one, gated) for step, one in zip(steps, found, strict=True)]
        checked = pinned(checked, registry, world)
        if recorded:
            gate = PlanGate(gate_id, {"steps": []}) if gate_id else None
            await stores.plans.record(lease, plan, checked, NOW, gate=gate)
        profile = in_force(world.settings, RunContext(agent=agent))
        sites = {
            one.name: CallSite(lease, plan.plan_hash, entry, profile)
            for one, entry in zip(found, checked, strict=True)
        }
        gateway = Gateway(registry, stores, world.settings, world)
        return Bench(gateway, stores, world.settings, sites)

    return make


def _checked(step: PlanStep, found: Capability, gated: bool) -> VerifiedStep:
    return VerifiedStep(
        step=step,
        uid=f"uid_{step.id}",
        needs=(),
        effect=found.effect,
        mode=found.mode,
        risk=found.risk,
        gated=gated,
    )
