"""A scene: one workspace, its agents and processes, and the record of what was really done."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import load
from tests.forked import Forked
from tests.opened_store import URL, opened_store
from tests.patience import PATIENCE_S

HERE = Path(__file__).parent
CHILD = "tests.scenarios.child"
TOML = """
[capabilities]
modules = ["tests.scenarios.scenario_work"]
[planning]
mode = "always"
[execution]
retry_base_ms = 1
"""
# What a run has left behind; the lease of a run moves with every look at it.
TABLES = {
    "runs": "run_id, thread_id, status, request, answer, ended_at",
    "plans": "run_id, plan_hash, revision, gate_id",
    "gates": "gate_id, status, decided_at, decided_by, reason",
    "steps": "run_id, uid, status, result",
    "effects": "key, status, result",
    "journal": "run_id, seq, type",
}


@dataclass
class Scene:
    """What a scenario is played in."""

    workspace: Path
    thread: str = field(default_factory=lambda: str(uuid.uuid4()))
    agents: list[Agent] = field(default_factory=list)

    @property
    def config(self) -> RunnableConfig:
        """The config of this scene's thread."""
        return {"configurable": {"thread_id": self.thread}}

    @property
    def done(self) -> list[str]:
        """What the capabilities wrote down, in order, over all processes."""
        path = self.workspace / "done.log"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def wait_for(self, line: str) -> None:
        """Wait until a capability has written a line down. Fails when it does not in time."""
        deadline = time.monotonic() + PATIENCE_S
        while line not in self.done:
            assert time.monotonic() < deadline, f"{line!r} was never written"
            time.sleep(0.02)

    def step(self, id_: str, capability: str, *after: str, **more: Any) -> dict[str, Any]:
        """Write one step of a plan; its only parameter is its own name unless `params` says more."""
        first = {"id": id_, "capability": capability, "params": {"name": id_}}
        return {**first, "depends_on": list(after), **more}

    def plan(self, *steps: dict[str, Any], **more: Any) -> str:
        """Write a planner's reply."""
        return json.dumps({"goal": "Do it", "steps": list(steps), **more})

    def calls(self, *calls: tuple[str, dict[str, Any]], text: str = "") -> dict[str, Any]:
        """Write a model's reply that calls tools."""
        listed = [{"name": name, "args": args, "id": f"c{n}"} for n, (name, args) in enumerate(calls)]
        return {"content": text, "tool_calls": listed}

    def agent(self, *replies: str | dict[str, Any], **options: Any) -> Agent:
        """Build an agent with a scripted model over this workspace; it is closed with the scene.

        A model's call asks from High on, and a destructive step at a gate of its own, unless `approval` says
        otherwise.
        """
        given = ("model", "clock", "timer", "tools")
        mine: dict[str, Any] = {name: options.pop(name) for name in given if name in options}
        if isinstance(options.get("capabilities"), list):  # else they are settings
            mine["capabilities"] = options.pop("capabilities")
        mine.setdefault("model", ScriptedModel(replies=list(replies or ("never asked",))))
        options["approval"] = {"tool_risk": "High", "depth": "plan", **options.get("approval", {})}
        agent = build_graph(load(self.workspace, **options), **mine)
        self.agents.append(agent)
        return agent

    def ask(self, agent: Agent, message: str = "Do it") -> dict[str, Any]:
        """Send a request on this scene's thread."""
        output: dict[str, Any] = agent.invoke({"messages": [("user", message)]}, self.config)
        return output

    def answer(self, agent: Agent, resume: Any) -> dict[str, Any]:
        """Resume this scene's thread with an answer."""
        output: dict[str, Any] = agent.invoke(Command(resume=resume), self.config)
        return output

    def decide(self, agent: Agent, decision: str, message: str = "") -> dict[str, Any]:
        """Resume with one bare decision, in LangChain's form."""
        return self.answer(agent, {"decisions": [{"type": decision, "message": message}]})

    def recover(self, agent: Agent) -> dict[str, Any]:
        """Recover this scene's thread without an answer."""
        output: dict[str, Any] = agent.invoke(None, self.config)
        return output

    def waiting(self, agent: Agent) -> dict[str, str]:
        """Map what the open gates ask about (a step id, or `plan`) to their gate ids."""
        values = [found.value for found in agent.get_state(self.config).interrupts]
        return {value["shown"].get("step_id", "plan"): value["gate_id"] for value in values}

    def rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        """Read rows of the scene's own records, from outside the program."""
        with closing(opened_store(self.workspace / ".planwright")) as connection:
            return [dict(row) for row in connection.execute(query, values)]

    def everything(self) -> dict[str, Any]:
        """Read all that a refusal has to leave as it is: the records, and what was done.

        A table has no order of its own: PostgreSQL puts a row that is written again at another place.
        """
        tables = {name: self.rows(f"SELECT {columns} FROM {name}") for name, columns in TABLES.items()}
        return {"done": self.done, **{name: sorted(rows, key=repr) for name, rows in tables.items()}}

    def journal(self) -> list[dict[str, Any]]:
        """Read the journal of this scene's thread as events, in order."""
        found = self.rows(
            "SELECT j.* FROM journal j JOIN runs r USING (run_id) WHERE j.thread_id = ?"
            " ORDER BY r.started_at, j.seq",
            self.thread,
        )
        plain = ("seq", "ts", "run_id", "thread_id", "type")
        return [
            {"v": 1, **{key: row[key] for key in plain}, "data": json.loads(row["data"])} for row in found
        ]

    def entry(self, how: str = "invoke", **given: Any) -> dict[str, Any]:
        """Write one entry for a child process, on this scene's thread unless it names another."""
        return {"how": how, "thread": self.thread, **given}

    def child(self, *entries: dict[str, Any], **job: Any) -> dict[str, Any]:
        """Play entries in a process of their own and return its report.

        With `die`, `die_at` or `die_short_of` it has to end by SIGKILL, and with `dies=True` in a capability.
        """
        expected = -9 if job.pop("dies", False) or job.keys() & {"die", "die_at", "die_short_of"} else 0
        with Forked(CHILD, self._order(entries, job), folder=self.workspace, env=_environment()) as process:
            assert process.wait(PATIENCE_S) == expected, process.stderr
            return _report(process.stdout)

    def cold_child(self, *entries: dict[str, Any], script: str, **job: Any) -> dict[str, Any]:
        """Play entries in a new interpreter, which a script starts, and return its report."""
        ended = subprocess.run(
            [sys.executable, "-W", "error", str(HERE / script), self._order(entries, job)],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
            env={**_environment(), "PYTHONPATH": str(HERE.parents[1])},
        )
        assert ended.returncode == 0, ended.stderr
        return _report(ended.stdout)

    def _order(self, entries: Sequence[dict[str, Any]], job: dict[str, Any]) -> str:
        return json.dumps({"workspace": str(self.workspace), "entries": entries, **job})


def said(messages: Sequence[Any]) -> list[Any]:
    """List the messages of a conversation that are words: no calls, and no results of them."""
    return [each for each in messages if each.type != "tool" and not getattr(each, "tool_calls", None)]


def _environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PLANWRIGHT_", "OPENAI_"))}
    return kept | ({URL: os.environ[URL]} if URL in os.environ else {})


def _report(printed: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(printed or "{}")
    return report


@pytest.fixture(scope="session")
def stage() -> Callable[[Path], Scene]:
    """Open a scene in a folder, for fixtures that last longer than a test; they close its agents."""

    def prepare(folder: Path) -> Scene:
        (folder / "planwright.toml").write_text(TOML, encoding="utf-8")
        return Scene(folder)

    return prepare


@pytest.fixture
def scene(tmp_path: Path, stage: Callable[[Path], Scene]) -> Iterator[Scene]:
    """A fresh workspace whose registry holds `scenario_work` beside what is built in."""
    opened = stage(tmp_path)
    yield opened
    for agent in opened.agents:
        agent.close()
