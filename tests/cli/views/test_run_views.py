"""`ls`, `show`, `events`, `capabilities`, `doctor` and `--help`: what is recorded, and what is loaded."""

from __future__ import annotations

import io
import json
import re
import uuid

import pytest
from rich.console import Console

from benchmarks.waiting_runs import fill
from planwright.cli.views.rendering import runs_table
from tests.cli.conftest import Waiting, reject
from tests.cli.desk import Desk, refusal

pytestmark = pytest.mark.long

LOADED = re.compile(r"^import time: .*\|\s+([\w.]+)$", re.MULTILINE)


def test_ls_in_a_new_workspace_says_how_to_begin(desk: Desk) -> None:
    done = desk.run("ls")
    assert (done.code, done.stderr) == (0, "")
    assert "planwright run" in done.stdout


def test_ls_json_in_a_new_workspace_lists_no_run(desk: Desk) -> None:
    done = desk.run("ls", "--json")
    assert done.code == 0
    assert done.json == {"runs": [], "total": 0, "page": 1, "pages": 0, "limit": 200}


def test_a_piped_ls_leaves_ids_whole(desk: Desk, waiting: Waiting) -> None:
    done = desk.run("ls", "--waiting", env={"COLUMNS": "60"})
    assert done.code == 0
    assert waiting.thread_id in done.stdout


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("is_waiting", [False, True])
def test_a_terminal_shows_ids_and_status_whole_and_some_of_the_request(width: int, is_waiting: bool) -> None:
    row = {"thread_id": str(uuid.uuid4()), "status": "completed", "gates": f"gate_{'0' * 16}"}
    row |= {"started_at": "2026-11-21T08:20:00+00:00", "request": "List the files in notes, and then " * 3}
    screen = Console(file=io.StringIO(), width=width)
    with screen.capture() as captured:
        screen.print(runs_table([row], width, is_waiting))
    shown = captured.get()
    fits = 36 + 2 + len(row["gates"]) <= width
    assert row["thread_id"] in shown
    assert ("gate_" if is_waiting else "completed") in shown
    assert row["gates"] in shown or not (is_waiting and fits)
    assert "List the files in n" in shown
    assert all(len(line) <= width for line in shown.splitlines())


def test_ls_json_lists_a_run_with_its_status(desk: Desk, waiting: Waiting) -> None:
    (row,) = desk.run("ls", "--json").json["runs"]
    assert row["thread_id"] == waiting.thread_id
    assert row["status"] == "waiting"
    assert row["request"] == "Save hello to note.md"


def test_ls_waiting_names_the_gates(desk: Desk, waiting: Waiting) -> None:
    assert waiting.gate_id in desk.run("ls", "--waiting").stdout


def test_the_version_is_said(desk: Desk) -> None:
    done = desk.run("--version")
    assert (done.code, done.stdout.split()[0]) == (0, "planwright")


def test_doctor_names_the_variable_that_is_not_set(desk: Desk) -> None:
    desk.settings('[providers.local]\nmodel = "m"\napi_key_env = "NOT_SET_ANYWHERE"\n')
    done = desk.run("doctor")
    assert (done.code, "set NOT_SET_ANYWHERE" in done.stdout) == (1, True)


def test_a_provider_that_is_not_there_begins_no_run(desk: Desk) -> None:
    done = desk.run("run", "What time is it?", "--provider", "nope")
    assert (done.code, "there is no provider 'nope'" in done.stderr) == (2, True)
    assert desk.run("ls", "--json").json["runs"] == []


def test_ls_waiting_leaves_out_what_has_ended(desk: Desk, waiting: Waiting) -> None:
    reject(desk.folder, waiting)
    assert desk.run("ls", "--waiting", "--json").json["runs"] == []


def test_show_names_the_request_the_gate_and_the_status(desk: Desk, waiting: Waiting) -> None:
    done = desk.run("show", waiting.thread_id)
    assert done.code == 0
    for text in ("Save hello to note.md", waiting.gate_id, "waiting", waiting.run_id):
        assert text in done.stdout


def test_show_json_holds_the_plan_and_the_hash_that_an_answer_names(desk: Desk, waiting: Waiting) -> None:
    shown = desk.run("show", waiting.run_id, "--json").json
    assert [step["capability"] for step in shown["plan"]["steps"]] == ["files.write", "respond"]
    assert shown["gates"][0]["plan_hash"] == waiting.plan_hash


def test_events_json_is_one_event_a_line_in_order(desk: Desk, waiting: Waiting) -> None:
    done = desk.run("events", waiting.thread_id, "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["type"] == "run_start"
    assert events[-1]["type"] == "approval_requested"


def test_events_prints_a_line_for_each(desk: Desk, waiting: Waiting) -> None:
    done = desk.run("events", waiting.thread_id)
    assert done.code == 0
    assert re.search(r"^ +2 .*user_message .*Save hello to note\.md", done.stdout, re.MULTILINE)


def test_capabilities_lists_mode_risk_and_effect(desk: Desk) -> None:
    done = desk.run("capabilities")
    assert done.code == 0
    assert re.search(r"^channel\.post +network +Medium +idempotent ", done.stdout, re.MULTILINE)


def test_capabilities_json_lists_the_same(desk: Desk) -> None:
    rows = desk.run("capabilities", "--json").json
    (row,) = [row for row in rows if row["name"] == "tickets.create"]
    assert (row["mode"], row["risk"], row["effect"]) == ("local_write", "Medium", "idempotent")


def test_one_capability_is_shown_with_its_arguments(desk: Desk) -> None:
    shown = desk.run("capabilities", "mail.search").json
    assert shown["mode"] == "read_only"
    assert {"query", "sender", "limit"} <= shown["args"]["properties"].keys()


def test_doctor_finds_a_good_workspace_good(desk: Desk) -> None:
    done = desk.run("doctor")
    assert done.code == 0
    assert "!!" not in done.stdout
    assert "embedded planner" in done.stdout


def test_doctor_says_what_to_mend(desk: Desk) -> None:
    desk.settings('[channels.team]\nurl = "https://chat.example/hook"\n')
    done = desk.run("doctor")
    assert done.code == 1
    assert "chat.example:443" in done.stdout
    assert "[egress] allow" in done.stdout


@pytest.mark.long
@pytest.mark.parametrize("wanted", ["--help", "ls", "show", "usage"])
def test_looking_loads_neither_langgraph_nor_langchain(desk: Desk, waiting: Waiting, wanted: str) -> None:
    args = ("show", waiting.thread_id) if wanted == "show" else (wanted,)
    done = desk.start_cold(*args, python=("-X", "importtime"))
    assert done.code == 0
    loaded = LOADED.findall(done.stderr)
    assert "typer" in loaded
    assert [name for name in loaded if name.startswith(("langgraph", "langchain"))] == []


def test_brackets_of_a_request_are_shown_as_they_are(desk: Desk, waiting: Waiting) -> None:
    desk.change("UPDATE runs SET request = 'tell [bold]all[/x] of :smile: [/team]'")
    desk.change("DELETE FROM threads")
    for words in (["ls"], ["ls", "--waiting"], ["show", waiting.thread_id]):
        done = desk.run(*words)
        assert (done.code, done.stderr) == (0, "")
        assert "tell [bold]all[/x] of :smile: [/team]" in done.stdout


def test_ls_pages_and_says_how_many_runs_there_are(desk: Desk) -> None:
    fill(desk.folder, 7)
    first = desk.run("ls", "--limit", "3").stdout.splitlines()
    assert [line.split()[0] for line in first[1:4]] == ["thread-6", "thread-5", "thread-4"]
    assert first[-1] == "3 of 7 runs; next: planwright ls --limit 3 --page 2"
    last = desk.run("ls", "--waiting", "--limit", "3", "--page", "3").stdout.splitlines()
    assert last[-1] == "7 to 7 of 7 waiting runs; this is the last page"
    beyond = desk.run("ls", "--limit", "3", "--page", "4").stdout
    assert beyond == "no runs on page 4: there are 7; the first page: planwright ls --page 1\n"
    found = desk.run("ls", "--limit", "3", "--page", "2", "--json").json
    assert [row["thread_id"] for row in found.pop("runs")] == ["thread-3", "thread-2", "thread-1"]
    assert found == {"total": 7, "page": 2, "pages": 3, "limit": 3}


def test_a_list_that_is_whole_has_no_last_line(desk: Desk, waiting: Waiting) -> None:
    assert "next:" not in desk.run("ls").stdout


def test_an_answer_without_a_name_tells_how_many_gates_are_open(desk: Desk) -> None:
    fill(desk.folder, 7)
    assert "7 gates are open" in refusal(desk.run("approve"))


def test_show_without_a_name_shows_the_last_run(desk: Desk, waiting: Waiting) -> None:
    assert f"on thread {waiting.thread_id}" in desk.run("show").stdout


def test_show_names_who_has_approved_at_a_gate_that_needs_two(desk: Desk) -> None:
    rule = '[[rule]]\nmatch.capability = "*"\ndecide = "ask"\nquorum = 2\n'
    (desk.folder / "policy.toml").write_text(rule, "utf-8")
    assert desk.run("run", "Save hello to note.md").code == 3
    assert [desk.run("approve", "last").code for _ in range(2)] == [3, 2]
    _, gate = desk.run("show", "--json").json["gates"]
    (by,) = gate["approvals"]
    assert f"open; approved by {by}, and somebody else has to approve, too" in desk.run("show").stdout


def test_a_single_call_tells_of_no_model_and_of_no_planner(desk: Desk) -> None:
    assert desk.run("call", "files.write", "--path=a.txt", "--text=x", "--no-input").code == 3
    assert "of a model" not in desk.run("show").stdout
    done = desk.run("approve")
    assert done.code == 0
    assert "planwright show" in done.stderr
    assert "embedded planner" not in done.stderr
