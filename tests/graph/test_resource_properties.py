"""Whatever the plan and whatever it overwrites: never two writers of one thing at once, and always an end."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.records.stores import Stores, open_stores
from planwright.settings.settings import load
from tests.patience import PATIENCE_S

FEW = settings(max_examples=12, database=None, deadline=None, suppress_health_check=list(HealthCheck))
KEYS = "pqr"


class Watch:
    """Who writes what now, and the most who ever did; nobody ends before so many `meet`."""

    def __init__(self, meet: int = 0) -> None:
        self.meet, self.met = meet, asyncio.Event()
        self.writing: Counter[str] = Counter()
        self.most = 0
        self.calls = 0
        self.together = 0

    def capability(self) -> Capability:
        @capability(
            "bench.put",
            mode="local_write",
            writes=lambda args, call: list(map(str, cast(list[object], args["keys"]))),
        )
        async def put(keys: list[str]) -> int:
            """Put something into places."""
            self.calls += 1
            self.writing.update(keys)
            self.most = max([self.most, *self.writing.values()])
            self.together = max(self.together, self.writing.total())
            if self.writing.total() >= self.meet:
                self.met.set()
            await self.met.wait()
            await asyncio.sleep(0.002)
            self.writing.subtract(keys)
            return self.calls

        return put


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("resources")


@pytest.fixture(scope="module")
def stores(folder: Path) -> Iterator[Stores]:
    opened = open_stores(folder / "store")
    yield opened
    opened.close()


@st.composite
def plans(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Make steps that write random places, spelled so that no two look alike before they run."""
    steps: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 9))):
        earlier = [step["id"] for step in steps]
        needs = draw(st.lists(st.sampled_from(earlier), unique=True, max_size=2)) if earlier else []
        blanks = " " * (number + 1)
        keys = [f"{{{{{blanks}input.request}}}}{key}" for key in sorted(draw(st.sets(st.sampled_from(KEYS))))]
        steps.append(
            {"id": f"s{number}", "capability": "bench.put", "params": {"keys": keys}, "depends_on": needs}
        )
    return steps


async def play(steps: list[dict[str, Any]], watch: Watch, folder: Path, stores: Stores, parallel: int) -> Any:
    chosen = load(
        folder,
        planning={"mode": "always", "replan_budget": 0},
        execution={"max_parallel_steps": parallel},
        approval={"plan": "never"},
    )
    model = ScriptedModel(replies=[json.dumps({"goal": "g", "steps": steps}), "the answer"])
    agent = build_graph(chosen, model=model, capabilities=[watch.capability()], stores=stores)
    config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}
    async with asyncio.timeout(PATIENCE_S):
        return await agent.ainvoke({"messages": [("user", "place ")]}, config)


@FEW
@given(steps=plans(), parallel=st.sampled_from((1, 2, 8)))
def test_no_two_steps_of_any_plan_write_one_thing_at_once_and_all_of_them_end(
    steps: list[dict[str, Any]], parallel: int, folder: Path, stores: Stores
) -> None:
    watch = Watch()
    output = asyncio.run(play(steps, watch, folder, stores, parallel))
    assert output["status"] == "completed"
    assert watch.calls == len(steps)
    assert watch.most <= 1


async def test_two_runs_of_one_agent_keep_out_of_each_others_way(folder: Path, stores: Stores) -> None:
    watch = Watch()
    steps = [{"id": "s1", "capability": "bench.put", "params": {"keys": ["p"]}}]
    reply = json.dumps({"goal": "g", "steps": steps})
    chosen = load(folder, planning={"mode": "always"}, approval={"plan": "never"})
    model = ScriptedModel(replies=[reply, reply, "one", "two"])
    agent = build_graph(chosen, model=model, capabilities=[watch.capability()], stores=stores)
    configs: list[Any] = [{"configurable": {"thread_id": str(uuid.uuid4())}} for _ in range(2)]
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*(agent.ainvoke({"messages": [("user", "x")]}, config) for config in configs))
    assert (watch.calls, watch.most) == (2, 1)


def test_what_nobody_else_writes_is_written_at_the_same_time(folder: Path, stores: Stores) -> None:
    watch = Watch(meet=len(KEYS))
    steps = [{"id": f"s{key}", "capability": "bench.put", "params": {"keys": [key]}} for key in KEYS]
    output = asyncio.run(play(steps, watch, folder, stores, 8))
    assert (output["status"], watch.together) == ("completed", len(KEYS))
