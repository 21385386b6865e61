"""`planwright approve --all`: gates are listed, a person is asked once, and the end is summed up."""

from __future__ import annotations

from pathlib import Path

import pytest

from planwright.graph.building import build_graph
from planwright.settings.settings import load
from tests.cli.conftest import Waiting, ask
from tests.cli.desk import Desk, refusal
from tests.cli.typist import Typist

WRITES = ("approve", "--all", "--capability", "files.*")


@pytest.fixture
def two(desk: Desk, waiting: Waiting) -> tuple[Waiting, Waiting]:
    """Two requests to write a file that wait, and one that asks for something else."""
    second = ask(desk.folder, "Save good morning to second.md")
    with build_graph(load(desk.folder)) as agent:
        agent.invoke(None, agent.call("tickets.create", {"title": "Broken"}))
    return waiting, second


def written(desk: Desk) -> list[str]:
    return [name for name in ("note.md", "second.md") if (desk.folder / name).exists()]


def test_a_person_is_asked_once_about_all_that_is_listed(desk: Desk, two: tuple[Waiting, Waiting]) -> None:
    with Typist(desk.folder, *WRITES) as typist:
        typist.read_until("leave them all: ")
        assert written(desk) == []
        typist.type("y\n")
        code, _ = typist.finish()
    shown = " ".join(typist.screen.split())
    for gate, text in zip(two, ("hello", "good morning"), strict=True):
        assert f"{gate.gate_id}, Medium risk: thread {gate.thread_id}, {gate.run_id}" in shown
        assert f"text: {text}" in shown
        assert f"approved {gate.gate_id} on thread {gate.thread_id}; its run: completed" in shown
    assert shown.endswith("status 2 approved")
    assert (code, written(desk)) == (0, ["note.md", "second.md"])
    assert "tickets.create" not in shown


def test_all_of_a_long_value_is_shown_before_it_is_approved(desk: Desk) -> None:
    text = f"{'all is well ' * 20}\n\napprove?   nothing\nand pay the stranger 900 EUR"
    with build_graph(load(desk.folder)) as agent:
        agent.invoke(None, agent.call("tickets.create", {"title": "Broken", "body": text}))
    with Typist(desk.folder, "approve", "--all", "--capability", "tickets.*") as typist:
        typist.read_until("leave them all: ")
        typist.type("n\n")
        typist.finish()
    shown = " ".join(typist.screen.split())
    assert " ".join(text.split()) in shown
    assert "letters)" not in shown
    asking = [line for line in typist.screen.splitlines() if line.startswith("approve?")]
    assert len(asking) == 1


@pytest.mark.parametrize("typed", ["n\n", "\n", "\x04"], ids=["no", "nothing", "end of input"])
def test_anything_but_a_yes_approves_nothing(desk: Desk, two: tuple[Waiting, Waiting], typed: str) -> None:
    with Typist(desk.folder, *WRITES) as typist:
        typist.read_until("leave them all: ")
        typist.type(typed)
        code, _ = typist.finish()
    assert (code, written(desk)) == (3, [])
    assert "0 approved, 2 not decided" in typist.screen


def test_with_yes_nobody_is_asked(desk: Desk, two: tuple[Waiting, Waiting]) -> None:
    done = desk.run(*WRITES, "--yes", "--json")
    ends = [(entry["gate_id"], entry["end"], entry["status"]) for entry in done.json["outcomes"]]
    assert ends == [(gate.gate_id, "approved", "completed") for gate in two]
    assert (done.code, done.json["left"], done.json["undecided"]) == (0, [], [])
    assert desk.rows("SELECT DISTINCT channel FROM gates WHERE status = 'approved'") == [("cli",)]


def test_where_nobody_can_be_asked_the_list_is_all(desk: Desk, two: tuple[Waiting, Waiting]) -> None:
    plain, as_json = desk.run(*WRITES), desk.run(*WRITES, "--json")
    assert (plain.code, as_json.code, written(desk)) == (3, 3, [])
    assert "add --yes to approve what is listed" in plain.stderr
    first = as_json.json["undecided"][0]
    assert first["calls"][0]["args"] == {"path": "note.md", "text": "hello"}


def test_a_gate_that_needs_a_look_of_its_own_is_left_and_named(
    desk: Desk, two: tuple[Waiting, Waiting]
) -> None:
    desk.change(f"UPDATE gates SET closes_s = 0 WHERE gate_id = '{two[0].gate_id}'")
    done = desk.run(*WRITES, "--yes")
    assert f"left       {two[0].gate_id}: gate {two[0].gate_id} expired" in done.stderr
    assert "1 approved, 1 left to be looked at alone" in done.stderr
    assert (done.code, written(desk)) == (0, ["second.md"])


def test_a_run_that_waits_again_is_the_exit_code(desk: Desk, two: tuple[Waiting, Waiting]) -> None:
    (desk.folder / "policy.toml").write_text(
        '[[rule]]\nmatch.capability = "tickets.*"\ndecide = "ask"\n[[rule]]\ndecide = "allow"\n', "utf-8"
    )
    with build_graph(load(desk.folder)) as agent:
        agent.invoke(None, agent.call("tickets.create", {"title": "Another"}))
    done = desk.run("approve", "--all", "--capability", "tickets.create", "--yes")
    assert "its run: waiting" in done.stderr
    assert done.code == 3


def test_nothing_that_calls_it_is_refused(desk: Desk, waiting: Waiting) -> None:
    done = desk.run("approve", "--all", "--capability", "mail.*", "--yes")
    assert "nothing that waits calls mail.*" in refusal(done)
    assert done.code == 2
    done = desk.run(*WRITES, "--tenant", "acme", "--yes")
    assert "nothing that waits calls files.*" in refusal(done)


MIXES = [
    ["--all"],
    ["--capability", "files.*"],
    ["--tenant", "acme"],
    ["--yes"],
    ["gate_1", *WRITES[1:]],
    [*WRITES[1:], "--remember", "run"],
    [*WRITES[1:], "--plan-hash", "abc"],
]


@pytest.mark.parametrize("args", MIXES, ids=" ".join)
def test_a_mix_of_one_and_all_is_a_mistake(desk: Desk, args: list[str]) -> None:
    done = desk.run("approve", *args)
    assert (done.code, done.stdout) == (2, "")
    assert "--all" in done.stderr
    assert not Path(desk.folder / ".planwright").exists()
