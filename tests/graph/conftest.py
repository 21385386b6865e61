"""Agents in a fresh workspace, with a scripted model, closed after each test."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig

from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import load

MakeAgent = Callable[..., Agent]
MakeConfig = Callable[[], RunnableConfig]


@pytest.fixture
def make_agent(tmp_path: Path) -> Iterator[MakeAgent]:
    """Build an agent that plans the given steps and answers; `replies` come after that."""
    opened: list[Agent] = []

    def make(
        steps: list[dict[str, Any]],
        capabilities: Iterable[Capability] = (),
        *,
        flags: dict[str, Any] | None = None,
        plan: dict[str, Any] | None = None,
        replies: tuple[str, ...] = (),
        **options: Any,
    ) -> Agent:
        planning = {"mode": "always", "max_steps": 100, "replan_budget": 0}
        chosen = {"planning": planning, "approval": {"depth": "plan"}, **(flags or {})}
        settings = load(tmp_path, **chosen)
        reply = json.dumps({"goal": "the goal", **(plan or {}), "steps": steps})
        model = ScriptedModel(
            replies=[reply, "the answer", *(text.replace("PLAN", reply) for text in replies)]
        )
        agent = build_graph(settings, model=model, capabilities=capabilities, **options)
        opened.append(agent)
        return agent

    yield make
    for agent in opened:
        agent.close()


@pytest.fixture
def new_thread() -> MakeConfig:
    """Make the config of a thread nobody has used."""

    def make() -> RunnableConfig:
        return {"configurable": {"thread_id": str(uuid.uuid4())}}

    return make


@pytest.fixture
def done() -> list[str]:
    """What the capabilities of a test have done."""
    return []


@pytest.fixture
def wipe(done: list[str]) -> Capability:
    @capability("disk.wipe", mode="destructive")
    def wipe(name: str) -> str:
        """Wipe a disk."""
        done.append(name)
        return name

    return wipe
