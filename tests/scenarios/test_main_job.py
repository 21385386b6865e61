"""The main job on the demo workspace, by the embedded planner, begun and approved in two processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from planwright.extras.demo.service import Webhook
from planwright.extras.demo.workspace import write_workspace

pytestmark = pytest.mark.sqlite  # its stores last longer than a test

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

JOB = (
    "Search my emails for the invoice from Acme, then create a ticket with the amount"
    " and send a summary to the team channel"
)


# One slot, so that the order of the steps is the same in every run.
EXPECTED = """
run_start user_message planning_decision llm_call plan_created plan_verified plan_start
plan_step_start plan_step_complete
plan_step_start plan_step_complete
plan_step_start plan_step_complete
approval_requested approval_resolved
plan_step_start plan_step_complete
plan_step_start plan_step_retry plan_step_complete
plan_complete step_scored step_scored step_scored step_scored step_scored
verdict llm_call agent_message budget_update run_end
""".split()


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, stage: Callable[[Path], Scene]) -> dict[str, Any]:
    """Play the whole job, with `open_agent` in both processes and a webhook that fails once."""
    folder = tmp_path_factory.mktemp("main_job")
    scene, hook_log = stage(folder), tmp_path_factory.mktemp("hook") / "hook.db"
    write_workspace(folder)
    with Webhook(hook_log, faults=1) as hook:
        channel = f'[channels.team]\nurl = "{hook.url}"\n[egress]\nallow = ["{hook.url.split("/")[2]}"]\n'
        toml = f"{channel}[execution]\nmax_parallel_steps = 1\nretry_base_ms = 1\n"
        (folder / "planwright.toml").write_text(toml, encoding="utf-8")
        first = scene.child(scene.entry("stream", message=JOB))["outputs"][0]
        resume = {"decisions": [{"type": "approve"}]}
        second = scene.child(scene.entry("astream", resume=resume))["outputs"][0]
    return {"first": first, "second": second, "scene": scene, "hook": hook_log}


def read(path: Path, query: str) -> list[tuple[Any, ...]]:
    """Read another program's database."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def test_one_gate_asks_for_the_whole_plan(played: Any) -> None:
    (asked,) = played["first"]["waiting"]
    capabilities = [step["capability"] for step in asked["shown"]["steps"]]
    assert [action["name"] for action in asked["action_requests"]] == ["approve_plan"]
    assert set(capabilities) == {
        "mail.search",
        "text.extract",
        "text.summarize",
        "tickets.create",
        "channel.post",
    }


def test_the_card_has_the_values_that_go_out(played: Any) -> None:
    (asked,) = played["first"]["waiting"]
    values = {step["capability"]: step["values"] for step in asked["shown"]["steps"] if "values" in step}
    assert values["tickets.create"]["amount"] == "EUR 4,310.50"
    assert "Total due: EUR 4,310.50" in values["channel.post"]["text"]
    assert not any(step.get("shown_later") for step in asked["shown"]["steps"])


def test_the_approved_job_ends_in_the_other_process(played: Any) -> None:
    assert (played["first"]["answer"], played["second"]["status"]) == ("", "completed")
    assert "EUR 4,310.50" in played["second"]["answer"]


def test_the_ticket_is_made_once_with_the_amount(played: Any) -> None:
    query = "SELECT amount FROM tickets WHERE effect_key IS NOT NULL"
    assert read(played["scene"].workspace / "tickets.db", query) == [("EUR 4,310.50",)]


def test_the_summary_is_posted_once_though_the_first_try_failed(played: Any) -> None:
    assert len(read(played["hook"], "SELECT text FROM messages")) == 1
    tries = read(played["hook"], "SELECT status, idempotency_key FROM requests ORDER BY id")
    assert [status for status, _ in tries] == [503, 200]
    assert tries[0][1] == tries[1][1]


def test_the_whole_list_of_events(played: Any) -> None:
    streamed = played["first"]["events"] + played["second"]["events"]
    assert [event["type"] for event in streamed] == EXPECTED


def test_the_journal_equals_what_both_processes_streamed(played: Any) -> None:
    assert played["scene"].journal() == played["first"]["events"] + played["second"]["events"]
