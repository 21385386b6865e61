"""`planwright memory`: what is proposed and remembered, and how a person decides about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planwright.cli.actions.memory_runs import is_about
from planwright.cli.views.memory_views import invitation
from planwright.domain.plan import PlanStep
from planwright.graph.building import build_graph
from planwright.settings.settings import load
from tests.cli.desk import Desk, refusal

pytestmark = pytest.mark.long

SAID = "I prefer metric units"
STORE = ".planwright"


def say(folder: Path, request: str, thread: str) -> None:
    """Say something in Python, where it costs no start of the command."""
    agent = build_graph(load(folder))
    try:
        agent.invoke({"messages": [("user", request)]}, {"configurable": {"thread_id": thread}})
    finally:
        agent.close()


@pytest.fixture
def id_(desk: Desk) -> str:
    """What is proposed after something was said."""
    say(desk.folder, f"{SAID}. What time is it?", "said")
    ((found,),) = desk.rows("SELECT id FROM proposals")
    return str(found)


def thread(desk: Desk) -> str:
    ((found,),) = desk.rows("SELECT thread_id FROM runs")
    return str(found)


def effects(desk: Desk) -> list[tuple[Any, ...]]:
    return desk.rows("SELECT capability, status FROM effects ORDER BY intended_at")


def test_a_run_says_on_one_line_what_it_proposes_and_how_to_answer(desk: Desk) -> None:
    done = desk.run("run", f"{SAID}. What time is it?")
    ((found,),) = desk.rows("SELECT id FROM proposals")
    assert f"memory     proposed: {SAID} ({found})" in desk.run("show", thread(desk)).stdout
    lines = [line for line in done.stderr.splitlines() if line.startswith("memory")]
    assert lines == [f"memory     “{SAID}”? planwright memory accept {found} (or reject)"]


def test_a_proposal_that_is_accepted_is_written_through_gate_and_ledger(desk: Desk, id_: str) -> None:
    done = desk.run("memory", "accept", id_)
    assert done.code == 0, done.stderr
    assert "gate       approved by" in done.stderr
    assert f"({id_})" in done.stderr
    assert effects(desk) == [("memory.write", "done")]
    assert desk.rows("SELECT kind, status FROM gates") == [("plan", "approved")]
    ((source, said_in),) = desk.rows(
        "SELECT f.source_run, p.run_id FROM forks f, proposals p WHERE p.status = 'accepted'"
    )
    assert source == said_in
    listed = desk.run("memory", "ls", "--json").json
    assert [(memory["text"], memory["tags"]) for memory in listed] == [(SAID, ["preference"])]
    assert SAID in desk.run("memory", "ls").stdout
    again = refusal(desk.run("memory", "accept", id_))
    assert f"proposal {id_} is accepted already" in again


def test_a_proposal_that_is_rejected_is_not_made_again(desk: Desk, id_: str) -> None:
    done = desk.run("memory", "reject", id_)
    assert (done.code, done.stderr) == (0, "")
    assert SAID in done.stdout
    say(desk.folder, f"{SAID}!", "again")
    assert desk.run("memory", "proposals").stdout == "no proposals\n"
    (row,) = desk.run("memory", "proposals", "--all", "--json").json
    assert (row["id"], row["status"], effects(desk)) == (id_, "rejected", [])
    assert "is rejected already" in refusal(desk.run("memory", "accept", id_))


def test_a_memory_is_forgotten_through_gate_and_ledger(desk: Desk, id_: str) -> None:
    assert desk.run("memory", "accept", id_).code == 0
    (memory,) = desk.run("memory", "ls", "--json").json
    done = desk.run("memory", "forget", memory["id"])
    assert done.code == 0, done.stderr
    assert effects(desk) == [("memory.write", "done"), ("memory.forget", "done")]
    assert desk.run("memory", "ls", "--json").json == []
    assert desk.rows("SELECT status, text FROM proposals") == [("forgotten", "…")]


def test_a_policy_that_denies_it_stands_above_the_person_who_accepts(desk: Desk, id_: str) -> None:
    rules = '[[rule]]\nmatch.capability = "memory.*"\ndecide = "deny"\n[[rule]]\ndecide = "ask"\n'
    (desk.folder / "policy.toml").write_text(rules, "utf-8")
    done = desk.run("memory", "accept", id_)
    assert done.code == 1
    assert "the policy denies memory.write" in done.stdout
    assert effects(desk) == []
    assert desk.rows("SELECT status FROM proposals") == [("proposed",)]


def test_who_is_no_approver_cannot_accept_and_the_gate_waits_for_one_who_is(desk: Desk, id_: str) -> None:
    rules = '[[rule]]\nmatch.capability = "memory.*"\ndecide = "ask"\napprovers = ["nobody-here"]\n'
    (desk.folder / "policy.toml").write_text(rules + '[[rule]]\ndecide = "ask"\n', "utf-8")
    for _ in range(2):  # the second time it is the same run that goes on
        assert "nobody-here" in desk.run("memory", "accept", id_).stderr
    assert effects(desk) == []
    assert desk.rows("SELECT count(*) FROM forks") == [(1,)]
    assert desk.rows("SELECT status FROM proposals") == [("proposed",)]


def test_one_person_of_a_quorum_accepts_and_the_gate_waits_for_another(desk: Desk, id_: str) -> None:
    rules = '[[rule]]\nmatch.capability = "memory.*"\ndecide = "ask"\nquorum = 2\n'
    (desk.folder / "policy.toml").write_text(rules + '[[rule]]\ndecide = "ask"\n', "utf-8")
    done = desk.run("memory", "accept", id_)
    assert done.code == 3, done.printed
    assert "planwright approve gate_" in done.stderr
    assert desk.rows("SELECT capability FROM effects") == []
    assert desk.rows("SELECT status FROM proposals") == [("proposed",)]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("accept", "prop_x"), "there is no proposal prop_x"),
        (("reject", "prop_x"), "there is no proposal prop_x"),
        (("forget", "mem_x"), "there is no memory mem_x"),
    ],
)
def test_what_is_not_there_cannot_be_decided_on(desk: Desk, args: tuple[str, ...], said: str) -> None:
    assert said in refusal(desk.run("memory", *args))
    assert not (desk.folder / STORE).exists()


def test_a_new_workspace_has_nothing_to_list(desk: Desk) -> None:
    assert desk.run("memory", "ls").stdout.startswith("nothing is remembered yet")
    assert desk.run("memory", "proposals", "--json").json == []
    assert not (desk.folder / STORE).exists()


def test_several_proposals_are_one_line() -> None:
    rows = [{"id": "prop_1", "text": "a b"}, {"id": "prop_2", "text": "c d"}]
    assert invitation(rows, " -w x") == "2 things to remember are proposed: planwright memory proposals -w x"


STEP = PlanStep(id="remember", capability="memory.write", params={"text": "a b"})
ASKED = {"capability": "memory.write", "params": {"text": "a b"}}


@pytest.mark.parametrize(
    ("kind", "shown", "about"),
    [
        ("plan", {"steps": [ASKED]}, True),
        ("plan", {"steps": [ASKED, ASKED]}, False),
        ("plan", {"steps": [{**ASKED, "params": {"text": "c d"}}]}, False),
        ("plan", {"steps": []}, False),
        ("step", {"capability": "memory.write", "args": {"text": "a b", "tags": []}}, True),
        ("step", {"capability": "memory.write", "args": {"text": "c d"}}, False),
        ("step", {"capability": "mail.send", "args": {"text": "a b"}}, False),
        ("escalation", {"capability": "memory.write", "args": {"text": "a b"}, "steps": [ASKED]}, False),
        ("info", {"args": {"text": "a b"}}, False),
    ],
)
def test_accepting_approves_exactly_its_one_step(kind: str, shown: dict[str, Any], about: bool) -> None:
    assert is_about({"kind": kind, "shown": json.loads(json.dumps(shown))}, STEP) is about
