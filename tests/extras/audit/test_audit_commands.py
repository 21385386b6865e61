"""`planwright audit`, `replay` and `diff`, as at a shell."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import Waiting
from tests.cli.desk import Desk, refusal
from tests.opened_store import opened_store

TIME = "What time is it?"
NO_FILES = """
[[rule]]
match.capability = "files.*"
decide = "deny"
reason = "no files"

[[rule]]
decide = "ask"
"""


def change(desk: Desk, statement: str) -> None:
    with closing(opened_store(desk.folder / ".planwright")) as connection, connection:
        connection.execute(statement)


def test_a_workspace_without_runs_has_nothing_to_verify(desk: Desk) -> None:
    done = desk.run("audit", "verify")
    assert done.code == 2
    assert "there are no runs" in done.stderr


def test_a_store_verifies_and_names_what_was_changed(desk: Desk, waiting: Waiting) -> None:
    assert desk.run("approve", waiting.thread_id).code == 0
    done = desk.run("audit", "verify")
    assert done.code == 0
    assert "4 entries, no findings" in done.stdout
    assert "set [audit] anchor" in " ".join(done.stdout.split())
    change(desk, "UPDATE gates SET decided_by = 'boss'")
    done = desk.run("audit", "verify", "--json")
    assert done.code == 1
    report = json.loads(done.stdout)
    assert not report["verified"]
    assert "gates gate_" in report["findings"][0]["problem"]
    assert "gates gate_" in desk.run("audit", "verify").stdout


def test_the_anchor_tells_of_a_chain_that_was_cut(desk: Desk, tmp_path: Path) -> None:
    assert desk.run("run", TIME).code == 0
    (tmp_path / "heads").write_text(f"2 {'0' * 64}\n", "ascii")
    done = desk.run("audit", "verify", "--anchor", str(tmp_path / "heads"))
    assert done.code == 1
    assert "entry 2 is not the one that was anchored" in " ".join(done.stdout.split())


def test_the_chain_is_written_to_a_new_file(desk: Desk, tmp_path: Path) -> None:
    assert desk.run("run", TIME).code == 0
    to = tmp_path / "chain.jsonl"
    assert desk.run("audit", "export", str(to)).code == 0
    (entry,) = [json.loads(line) for line in to.read_text("utf-8").splitlines()]
    assert entry["content"]["record"]["outcome"] == "completed"
    refused = desk.run("audit", "export", str(to))
    assert refused.code == 2
    assert "cannot be written" in refusal(refused)


def test_a_run_replays_equal_until_its_records_are_changed(desk: Desk) -> None:
    assert desk.run("run", TIME).code == 0
    done = desk.run("replay", "last")
    assert (done.code, "equal; 1 verdict made anew" in " ".join(done.stdout.split())) == (0, True)
    assert json.loads(desk.run("replay", "all", "--json").stdout)["equal"]
    change(desk, "UPDATE steps SET result = replace(result, 'completed', 'skipped')")
    done = desk.run("replay", "all")
    assert done.code == 1
    assert "result.status" in done.stdout
    assert "1 different" in " ".join(done.stdout.split()) or "not equal" in done.stdout


def test_another_policy_says_what_it_would_block(desk: Desk, waiting: Waiting, tmp_path: Path) -> None:
    assert desk.run("approve", waiting.thread_id).code == 0
    policy = tmp_path / "strict.toml"
    policy.write_text(NO_FILES, "utf-8")
    done = desk.run("replay", "all", "--policy", str(policy), "--json")
    assert done.code == 1
    (call,) = json.loads(done.stdout)["calls"]
    assert (call["capability"], call["answer"], call["reason"]) == ("files.write", "deny", "no files")
    assert "1 deny" in desk.run("replay", "all", "--policy", str(policy)).stdout
    refused = desk.run("replay", "all", "--policy", str(tmp_path / "nowhere.toml"))
    assert (refused.code, "cannot be read" in refusal(refused)) == (2, True)


def test_two_runs_differ_or_do_not(desk: Desk, waiting: Waiting) -> None:
    assert desk.run("approve", waiting.thread_id).code == 0
    assert desk.run("run", TIME).code == 0
    done = desk.run("diff", waiting.thread_id, "last")
    assert done.code == 1
    assert "files.write → datetime.now" in " ".join(done.stdout.split())
    same = desk.run("diff", "last", "last", "--json")
    assert (same.code, json.loads(same.stdout)["equal"]) == (0, True)


def test_the_figures_of_past_runs_are_shown(desk: Desk) -> None:
    assert desk.run("run", TIME).code == 0
    done = desk.run("eval", "--by", "week", "--json")
    (row,) = json.loads(done.stdout)["rows"]
    assert (done.code, row["runs"], row["step_completion"]) == (0, 1, 1)
    assert "██████████" in desk.run("eval").stdout


@pytest.mark.parametrize("day", ["yesterday", "2026-13-45"])
def test_figures_since_what_is_no_day_are_refused(desk: Desk, day: str) -> None:
    assert "is no day" in refusal(desk.run("eval", "--since", day))


@pytest.mark.parametrize("day", ["2000-01-01", "20000101"])
def test_figures_since_a_day_count_the_runs_after_it(desk: Desk, day: str) -> None:
    desk.run("run", "What time is it?")
    (row,) = desk.run("eval", "--since", day, "--json").json["rows"]
    assert row["runs"] == 1
