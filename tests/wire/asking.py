"""Ask an agent whose provider is a scripted server, over real HTTP, and look at what is on record."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.types import Command

from planwright.cli.views.run_views import find_run, report
from planwright.domain.run_context import RunContext
from planwright.graph.building import build_graph
from planwright.settings.settings import Settings, load
from tests.opened_store import opened_store
from tests.wire.scripted_server import ScriptedServer

LISTING = json.dumps(
    {
        "goal": "List the open tickets",
        "steps": [{"id": "s1", "capability": "tickets.list", "params": {}, "estimated_risk": "None"}],
    }
)
QUESTION = "What tickets are open?"


@dataclass(frozen=True)
class Ended:
    """How a run ended: what the caller got, and what is recorded."""

    status: str
    answer: str
    record: Mapping[str, Any]
    events: list[dict[str, Any]]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The data of the recorded events of one kind."""
        return [event["data"] for event in self.events if event["type"] == kind]


def provider(server: ScriptedServer | None = None, **more: Any) -> dict[str, Any]:
    """Describe a provider as the settings do."""
    address = {} if server is None else {"base_url": server.base_url}
    return {**address, "api_key": "key-of-local", "model": "my-model", **more}


def settings_for(folder: Path, providers: Mapping[str, dict[str, Any]], **sections: Any) -> Settings:
    """Load settings that retry at once, ask for a plan once, and plan whatever is asked."""
    planner = {"attempts": 1, **sections.pop("planner", {})}
    failover = {"base_ms": 1, "jitter": 0, **sections.pop("failover", {})}
    planning = {"mode": "always", **sections.pop("planning", {})}
    return load(
        folder, providers=dict(providers), planner=planner, failover=failover, planning=planning, **sections
    )


def ask(settings: Settings, request: str = QUESTION, context: RunContext | None = None) -> Ended:
    """Send one request, approve what waits, and read how it ended."""
    agent = build_graph(settings)
    config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}
    try:
        out = agent.invoke({"messages": [("user", request)]}, config, context=context)
        while waiting := out.get("__interrupt__"):
            yes = {gate.id: {"decisions": [{"type": "approve"}]} for gate in waiting}
            out = agent.invoke(Command(resume=yes), config)
    finally:
        agent.close()
    run = find_run(settings, config["configurable"]["thread_id"])
    record = report(settings, str(run["run_id"]))
    return Ended(out["status"], out["answer"], record, _events(settings, record["run_id"]))


def _events(settings: Settings, run_id: str) -> list[dict[str, Any]]:
    with closing(opened_store(settings.store_folder)) as connection:
        rows = connection.execute("SELECT type, data FROM journal WHERE run_id = ? ORDER BY seq", (run_id,))
        return [{"type": kind, "data": json.loads(data)} for kind, data in rows]
