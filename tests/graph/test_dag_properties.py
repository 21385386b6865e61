"""Whatever the plan: each step at most once, never too early, skipped as the cascade says, and an end."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.errors import CapabilityRejected
from planwright.domain.plan import Cascade
from planwright.domain.results import TERMINAL, StepResult, StepStatus
from planwright.domain.schedule import cascade_decision, waves
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.records.stores import Stores, open_stores
from planwright.settings.settings import load
from tests.sampling import examples

SETTLED = ("plan_step_complete", "plan_step_failed", "plan_step_skipped")
CAPABILITIES = ("bench.look", "bench.write")
FEW = settings(
    max_examples=examples(35), database=None, deadline=None, suppress_health_check=list(HealthCheck)
)
FEWER = settings(FEW, max_examples=examples(20))


@dataclass(frozen=True)
class Step:
    """One step of a random plan; `needs` names earlier ones."""

    id: str
    needs: tuple[str, ...]
    capability: str
    fails: bool
    cascade: Cascade | None


@dataclass(frozen=True)
class Dag:
    """A random plan, the order it is written in, and how it is to be run."""

    steps: tuple[Step, ...]
    written: tuple[Step, ...]
    cascade: Cascade
    order: str
    parallel: int

    def reply(self) -> str:
        listed = [
            {
                "id": step.id,
                "capability": step.capability,
                "params": {"name": step.id, "fails": step.fails},
                "depends_on": list(step.needs),
                "on_failed_dependency": step.cascade,
            }
            for step in self.written
        ]
        return json.dumps({"goal": "g", "on_failed_dependency": self.cascade, "steps": listed})

    def outcome(
        self, rejected: frozenset[str] = frozenset()
    ) -> dict[str, tuple[StepStatus, tuple[str, ...]]]:
        """Work out, with the rules of domain/schedule.py alone, how every step has to end."""
        results: dict[str, StepResult] = {}
        for step in self.steps:
            ruling, missing = cascade_decision(step.needs, results, step.cascade or self.cascade)
            status: StepStatus = "failed" if step.fails else "completed"
            status = "skipped" if ruling == "skip" else "rejected" if step.id in rejected else status
            shown = missing if status in ("skipped", "completed", "failed") else ()
            results[step.id] = StepResult(
                uid=step.id, step_id=step.id, capability="", status=status, missing=shown
            )
        return {id_: (result.status, result.missing) for id_, result in results.items()}


@st.composite
def dags(draw: st.DrawFn, capabilities: tuple[str, ...], most: int) -> Dag:
    steps: list[Step] = []
    for number in range(draw(st.integers(1, most))):
        earlier = [step.id for step in steps]
        needs = draw(st.lists(st.sampled_from(earlier), unique=True, max_size=3)) if earlier else []
        steps.append(
            Step(
                id=f"s{number}",
                needs=tuple(needs),
                capability=draw(st.sampled_from(capabilities)),
                fails=draw(st.sampled_from((False, False, True))),
                cascade=draw(st.sampled_from((None, "partial", "skip"))),
            )
        )
    return Dag(
        steps=tuple(steps),
        written=tuple(draw(st.permutations(steps))),
        cascade=draw(st.sampled_from(("partial", "skip"))),
        order=draw(st.sampled_from(("dataflow", "waves"))),
        parallel=draw(st.sampled_from((1, 2, 8))),
    )


@dataclass
class Watch:
    """What really happened: the calls in order, how many ran at once, and all events."""

    calls: list[str] = field(default_factory=list)
    active: int = 0
    most_active: int = 0
    events: list[dict[str, Any]] = field(default_factory=list)

    async def call(self, name: str, fails: bool) -> str:
        self.calls.append(name)
        self.active += 1
        self.most_active = max(self.most_active, self.active)
        await asyncio.sleep(0.001)
        self.active -= 1
        if fails:
            raise CapabilityRejected("it was told to fail")
        return name

    def when(self, step_id: str, *types: str) -> list[int]:
        return [
            n for n, e in enumerate(self.events) if e["type"] in types and e["data"]["step_id"] == step_id
        ]


def capabilities_of(watch: Watch) -> list[Capability]:
    @capability("bench.look", trusted_result=True, mode="read_only")
    async def look(name: str, fails: bool) -> str:
        """Look at something."""
        return await watch.call(name, fails)

    @capability("bench.write", trusted_result=True, mode="local_write")
    async def write(name: str, fails: bool) -> str:
        """Write something, blindly."""
        return await watch.call(name, fails)

    @capability("bench.wipe", trusted_result=True, mode="destructive")
    async def wipe(name: str, fails: bool) -> str:
        """Wipe something."""
        return await watch.call(name, fails)

    return [look, write, wipe]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dags")


@pytest.fixture(scope="module")
def stores(folder: Path) -> Iterator[Stores]:
    opened = open_stores(folder / "store")
    yield opened
    opened.close()


def build(dag: Dag, watch: Watch, folder: Path, stores: Stores) -> Agent:
    chosen = load(
        folder,
        planning={"mode": "always", "replan_budget": 0},
        execution={"order": dag.order, "max_parallel_steps": dag.parallel},
        approval={"order": "plan_first", "depth": "plan"},
    )
    model = ScriptedModel(replies=[dag.reply(), "the answer"])
    return build_graph(chosen, model=model, capabilities=capabilities_of(watch), stores=stores)


async def enter(agent: Agent, entry: Any, config: RunnableConfig, watch: Watch) -> dict[str, StepResult]:
    """Make one invocation; read the journal into the watch, and return the settled steps by their ids."""
    await agent.ainvoke(entry, config)
    run = await agent.stores.runs.latest(config["configurable"]["thread_id"])
    assert run is not None
    query = "SELECT type, data FROM journal WHERE run_id = ? ORDER BY seq"
    rows = agent.stores.database.call("read", lambda c: c.execute(query, (run.run_id,)).fetchall())
    watch.events = [{"type": row["type"], "data": json.loads(row["data"])} for row in rows]
    settled = await agent.stores.ledger.settled_steps(run.run_id)
    return {result.step_id: result for result in settled}


def check_order(dag: Dag, watch: Watch) -> None:
    """Every step ran at most once, after all it had to wait for had settled."""
    assert len(watch.calls) == len(set(watch.calls))
    assert watch.most_active <= dag.parallel
    barrier: set[str] = set()
    earlier: dict[str, set[str]] = {}
    for wave in waves({step.id: step.needs for step in dag.steps}):
        earlier |= {id_: set(barrier) for id_ in wave}
        barrier |= set(wave)
    for step in dag.steps:
        (settled,) = watch.when(step.id, *SETTLED)
        begun = watch.when(step.id, "plan_step_start")
        assert len(begun) == watch.calls.count(step.id)
        for needed in earlier[step.id] if dag.order == "waves" else set(step.needs):
            assert watch.when(needed, *SETTLED)[0] < min([settled, *begun])


def check_outcome(
    dag: Dag, watch: Watch, results: dict[str, StepResult], rejected: frozenset[str] = frozenset()
) -> None:
    """Every step ended as the cascade says, and was called only if it had to run."""
    expected = dag.outcome(rejected)
    found = {id_: (result.status, result.missing) for id_, result in results.items()}
    assert found == expected
    assert set(watch.calls) == {
        id_ for id_, (status, _) in expected.items() if status in ("completed", "failed")
    }


@FEW
@given(dag=dags(CAPABILITIES, 12))
def test_any_plan_runs_each_step_at_most_once_in_order_and_ends(
    dag: Dag, folder: Path, stores: Stores
) -> None:
    async def run() -> None:
        watch, config = Watch(), thread()
        agent = build(dag, watch, folder, stores)
        results = await enter(agent, {"messages": [("user", "do it")]}, config, watch)
        results = await leave_what_failed(agent, config, watch, results)
        check_order(dag, watch)
        check_outcome(dag, watch, results)
        await check_end(agent, config, watch)

    asyncio.run(run())


@FEWER
@given(dag=dags((*CAPABILITIES, "bench.wipe"), 6), chance=st.randoms(use_true_random=False))
def test_any_plan_with_gates_runs_what_was_approved_and_ends(
    dag: Dag, chance: Random, folder: Path, stores: Stores
) -> None:
    async def run() -> None:
        watch, config = Watch(), thread()
        agent = build(dag, watch, folder, stores)
        results = await enter(agent, {"messages": [("user", "do it")]}, config, watch)
        if any(step.capability == "bench.wipe" for step in dag.steps):
            assert watch.calls == []
            results = await enter(agent, Command(resume="approve"), config, watch)
        rejected: frozenset[str] = frozenset()
        for _ in range(len(dag.steps) + 1):
            asked = await open_gates(agent, config)
            if not asked or "escalation" in asked.values():
                break
            check_waiting(dag, set(asked.values()), results)
            if chance.random() < 0.3:
                await enter(agent, None, config, watch)
            answers = {
                id_: chance.random() < 0.6
                for id_ in chance.sample(sorted(asked), chance.randint(1, len(asked)))
            }
            rejected |= {asked[id_] for id_, approved in answers.items() if not approved}
            results = await enter(agent, Command(resume=answers), config, watch)
        results = await leave_what_failed(agent, config, watch, results)
        check_order(dag, watch)
        check_outcome(dag, watch, results, rejected)
        await check_end(agent, config, watch)

    asyncio.run(run())


def thread() -> RunnableConfig:
    return {"configurable": {"thread_id": str(uuid.uuid4())}}


async def leave_what_failed(
    agent: Agent, config: RunnableConfig, watch: Watch, results: dict[str, StepResult]
) -> dict[str, StepResult]:
    """Answer the question about steps that failed: nothing is run again."""
    if "escalation" not in (await open_gates(agent, config)).values():
        return results
    return await enter(agent, Command(resume="reject"), config, watch)


async def open_gates(agent: Agent, config: RunnableConfig) -> dict[str, str]:
    """Map the open gates of a thread to the ids of their steps, or to `escalation`."""
    gates = await agent.stores.gates.of_thread(config["configurable"]["thread_id"])
    return {
        gate.gate_id: gate.kind if gate.kind == "escalation" else str(gate.card["step_id"]) for gate in gates
    }


def check_waiting(dag: Dag, asked: set[str], results: dict[str, StepResult]) -> None:
    """In dataflow, only what depends on an open gate waits with it."""
    waiting = set(asked)
    for step in dag.steps:
        if waiting & set(step.needs):
            waiting.add(step.id)
    assert asked.isdisjoint(results)
    if dag.order == "dataflow":
        assert set(results) == {step.id for step in dag.steps} - waiting


async def check_end(agent: Agent, config: RunnableConfig, watch: Watch) -> None:
    """The run has ended, the state knows what the ledger knows, and another recovery does nothing."""
    run = await agent.stores.runs.latest(config["configurable"]["thread_id"])
    assert run is not None
    assert run.status in TERMINAL
    assert watch.events[-1]["type"] == "run_end"
    results = (await agent.aget_state(config)).values["results"]
    settled = await agent.stores.ledger.settled_steps(run.run_id)
    assert results == {result.uid: result for result in settled}
    calls = list(watch.calls)
    await enter(agent, None, config, watch)
    assert watch.calls == calls
