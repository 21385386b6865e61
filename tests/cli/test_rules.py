"""Always-allow rules from the command line: given at a gate, listed, and taken back."""

from __future__ import annotations

import json

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import load
from tests.cli.conftest import Waiting
from tests.cli.desk import Desk, refusal

MODULE = """
from planwright.capabilities.declaration import capability

@capability("fax.send", mode="network", effect="idempotent", tags=("fax",), destinations=("number",))
def send(text: str, number: int) -> str:
    \"""Send a fax.\"""
    return "sent"
"""


@pytest.fixture
def gate(desk: Desk) -> str:
    """The gate of one call, whose plan is approved."""
    (desk.folder / "fax.py").write_text(MODULE, "utf-8")
    desk.settings(
        '[capabilities]\nmodules = ["fax"]\n[planning]\nmode = "always"\n[approval]\ndepth = "plan"\n'
    )
    plan = {
        "goal": "Fax",
        "steps": [{"id": "s1", "capability": "fax.send", "params": {"text": "hello", "number": 7}}],
    }
    agent = build_graph(load(desk.folder), model=ScriptedModel(replies=[json.dumps(plan)]))
    try:
        config: RunnableConfig = {"configurable": {"thread_id": "t1"}}
        agent.invoke({"messages": [("user", "Fax it")]}, config)
        agent.invoke(Command(resume="approve"), config)
        return str(agent.get_state(config).interrupts[0].value["gate_id"])
    finally:
        agent.close()


def test_a_rule_is_given_listed_and_taken_back(desk: Desk, gate: str) -> None:
    done = desk.run("approve", gate, "--remember", "always", "--where", "text=hel*")
    assert (done.code, "decision is on record" in done.stderr) == (3, True)  # its model is in this process
    agent = build_graph(load(desk.folder), model=ScriptedModel(replies=["sent"]))
    agent.invoke(None, {"configurable": {"thread_id": "t1"}})
    agent.close()
    (rule,) = desk.run("rules", "ls", "--json").json
    assert (rule["capability"], rule["scope"]) == ("fax.send", "always")
    assert rule["args"] == {"text": {"glob": "hel*"}, "number": {"equals": 7}}
    listed = desk.run("rules", "ls").stdout
    assert "text like hel*" in listed
    assert f"planwright rules revoke {rule['id']}" in " ".join(listed.split())
    assert "asks again" in desk.run("rules", "revoke", rule["id"]).stdout
    assert desk.run("rules", "ls", "--json").json == []


def test_without_rules_it_says_how_to_give_one(desk: Desk) -> None:
    assert "--remember always" in desk.run("rules", "ls").stdout


@pytest.mark.parametrize(
    ("args", "cause"),
    [
        (["--where", "text=*"], "--remember"),
        (["--remember", "run", "--where", "text"], "ARG=GLOB"),
        (["--remember", "always"], "cannot be remembered"),
    ],
    ids=["a glob alone", "no glob", "a plan"],
)
def test_what_cannot_be_remembered_is_refused(
    desk: Desk, waiting: Waiting, args: list[str], cause: str
) -> None:
    done = desk.run("approve", waiting.gate_id, *args)
    assert done.code == 2
    assert cause in refusal(done)


def test_an_unknown_rule_and_a_broken_file_are_named(desk: Desk) -> None:
    assert "no rule allow_x" in refusal(desk.run("rules", "revoke", "allow_x"))
    folder = desk.folder / ".planwright"
    folder.mkdir(exist_ok=True)
    (folder / "allow.jsonl").write_text(json.dumps({"id": "x"}) + "\n", "utf-8")
    assert "allow.jsonl line 1" in refusal(desk.run("rules", "ls"))
