"""Plans as readers wrote them in the place of a model, at requests of others: each is taken as it stands.

A reader saw a request of the planner and nothing else; `plans.jsonl` has what was answered, unchanged.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planwright.extras.demo.workspace import write_workspace
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import load
from tests.opened_store import opened_store

SAMPLES = [
    json.loads(line) for line in Path(__file__).with_name("plans.jsonl").read_text("utf-8").splitlines()
]

PLACES: dict[str, Any] = {
    "channels": {name: {"url": "https://chat.example.com/hook"} for name in ("team", "laden", "werkstatt")},
    "egress": {"allow": ["chat.example.com:443", "smtp.example.com:25"]},
    "mail": {"host": "smtp.example.com", "from": "nora@harbourlane.example"},
}
"""Where the readers' users could post and write to."""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    write_workspace(tmp_path)
    with closing(sqlite3.connect(tmp_path / "shop.db")) as shop:
        shop.execute("CREATE TABLE customers (id INTEGER)")
    return tmp_path


@pytest.mark.sampled(4)
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample["request"][:40])
def test_a_plan_of_a_reader_is_read_and_verified_as_it_stands(
    workspace: Path, sample: dict[str, Any]
) -> None:
    settings = load(workspace, planning={"mode": "always"}, approval={"plan": "always"}, **PLACES)
    config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}
    given: Any = {"messages": [("user", sample["request"])]}
    with build_graph(settings, model=ScriptedModel(replies=[json.dumps(sample["plan"])])) as agent:
        out = agent.invoke(given, config)
    with closing(opened_store(settings.store_folder)) as store:
        rows = store.execute("SELECT data FROM journal WHERE type = 'plan_verified'").fetchall()
    verified = [json.loads(row[0]) for row in rows]
    assert [(each["outcome"], each["findings"]) for each in verified] == [("ok", [])]
    (gate,) = out["__interrupt__"]
    steps = {step["id"]: step for step in gate.value["shown"]["steps"]}
    assert list(steps) == [step["id"] for step in sample["plan"]["steps"]]
