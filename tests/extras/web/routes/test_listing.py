"""Lists over the page: ten thousand runs page by page, effects by what became of them, doubts one by one."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

from planwright.capabilities.declaration import capability
from tests.extras.web.conftest import TOKENS, MakeStage, Stage

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


@capability("post.send", mode="local_write", risk="Medium", effect="blind", timeout_s=0.01)
async def send(to: str) -> dict[str, Any]:
    """Send a letter whose receipt never comes."""
    await asyncio.Event().wait()
    return {"to": to}


def fill(stage: Stage, count: int) -> None:
    """Write runs down: every tenth has failed, every fifth is of an agent, two are of another tenant."""
    with closing(sqlite3.connect(stage.folder / ".planwright" / "planwright.db")) as database, database:
        database.executemany(
            "INSERT INTO runs (run_id, thread_id, tenant, status, request, messages, context, started_at,"
            " ended_at) VALUES (?, ?, ?, ?, ?, '[]', ?, ?, ?)",
            [
                (
                    f"run_{n:016x}",
                    f"thread-{n}",
                    "other" if n < 2 else "default",
                    "failed" if n % 10 == 0 else "completed",
                    f"Request number {n} about {'cables' if n % 100 == 7 else 'paper'}",
                    json.dumps({"agent": "clerk"} if n % 5 == 0 else {}),
                    (BEGAN + timedelta(minutes=n)).isoformat(),
                    (BEGAN + timedelta(minutes=n, seconds=3)).isoformat(),
                )
                for n in range(count)
            ],
        )
    database.close()


async def test_ten_thousand_runs_are_searched_and_paged(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in()
    await stage.agent.stores.runs.latest("nobody")  # makes the store
    fill(stage, 10_000)
    began = time.process_time()
    first = (await ada.get("/runs")).text
    print(f"\na page of 10,000 runs: {time.process_time() - began:.3f} s of CPU")
    assert first.count("<tr>") == 51
    assert "1 to 50 of 9,998" in first
    assert "Request number 9999 about" in first
    last = (await ada.get("/runs?page=200")).text
    assert "9951 to 9998 of 9,998" in last
    assert "Request number 2 about" in last
    assert "of 100</span>" in (await ada.get("/runs?text=CABLES")).text
    assert "of 1,999</span>" in (await ada.get("/runs?agent=clerk&status=")).text
    failed = (await ada.get("/runs?status=failed&text=&page=2")).text
    assert "51 to 100 of 999" in failed
    assert "status=failed&amp;page=3" in failed
    assert "Nothing" not in failed
    assert "No run is like that" in (await ada.get("/runs?text=elephants")).text


async def test_runs_that_no_process_works_on_are_listed_and_found_as_interrupted(
    make_stage: MakeStage,
) -> None:
    stage = make_stage()
    ada = await stage.sign_in()
    left, _ = await stage.waiting_gate(ada, "Left behind")
    ended, other = await stage.waiting_gate(ada, "Done with")
    await stage.answer(ada, other, "approve")
    assert await stage.ended(ended) == "completed"
    change = "UPDATE runs SET status = 'running', owner = NULL, lease_until = 0 WHERE run_id = ?"
    await stage.agent.stores.database.run("left", lambda c: c.execute(change, (left,)).rowcount)
    listed = (await ada.get("/runs")).text
    assert "interrupted (1)" in listed
    assert "running (" not in listed
    assert "Left behind" in (await ada.get("/runs?status=interrupted")).text
    assert "Left behind" not in (await ada.get("/runs?status=running")).text
    head = (await ada.get(f"/runs/{left}")).text
    assert "<span>interrupted</span>" in head


async def test_a_run_that_nobody_works_on_is_interrupted_and_not_running(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in()
    await stage.agent.stores.runs.latest("nobody")
    fill(stage, 3)
    with closing(sqlite3.connect(stage.folder / ".planwright" / "planwright.db")) as database, database:
        database.execute("UPDATE runs SET status = 'running', ended_at = NULL WHERE run_id LIKE '%2'")
    database.close()
    assert "<span>interrupted</span>" in (await ada.get("/runs")).text
    page = (await ada.get(f"/runs/run_{2:016x}")).text
    assert "<span>interrupted</span>" in page
    assert "Go on with it" in page


async def test_effects_show_what_was_done_with_what_and_on_whose_word(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in(TOKENS["ada"])
    run_id, gate_id = await stage.waiting_gate(ada)
    await stage.answer(ada, gate_id, "approve")
    await stage.ended(run_id)
    page = (await ada.get("/effects")).text
    assert "tickets.create" in page
    assert "Cables" in page
    assert "approved by ada via web" in page
    assert "No effect is like that" in (await ada.get("/effects?text=elephants")).text
    assert "Cables" in (await ada.get("/effects?text=cables&status=done")).text
    assert "Cables" not in (await ada.get("/effects?status=in_doubt")).text
    assert "No effect is like that" in (await ada.get("/effects?text=%25")).text  # a sign is no pattern


async def test_effects_in_doubt_are_decided_one_by_one_at_their_gate(make_stage: MakeStage) -> None:
    steps = [
        {"id": f"s{n}", "capability": "post.send", "params": {"to": name}}
        for n, name in enumerate(("kim", "lee"))
    ]
    stage = make_stage(steps, capabilities=[send])
    ada = await stage.sign_in(TOKENS["ada"])
    run_id, plan_gate = await stage.waiting_gate(ada)
    await stage.answer(ada, plan_gate, "approve")
    gate_id = await stage.open_gate(run_id)
    gate = await stage.agent.stores.gates.read(gate_id)
    kim, lee = (doubt.key for doubt in gate.doubts)
    page = (await ada.get(f"/approvals/{gate_id}")).text
    assert f'name="happened-{kim}"' in page
    assert "2 in doubt" in (await ada.get("/effects")).text
    half = await stage.answer(ada, gate_id, "respond", **{f"happened-{kim}": "yes"})
    assert half.status_code == 409
    assert "does not say whether these happened" in half.text
    said = {f"happened-{kim}": "yes", f"result-{kim}": '{"ok": true}', f"happened-{lee}": "yes"}
    assert (await stage.answer(ada, gate_id, "respond", **said)).status_code == 303
    assert await stage.ended(run_id) == "completed"
    assert "in doubt" not in (await ada.get("/effects?status=in_doubt")).text.split("</form>")[-1]


async def test_what_an_ended_run_left_in_doubt_is_decided_afterwards(make_stage: MakeStage) -> None:
    stage = make_stage(
        [{"id": "s1", "capability": "post.send", "params": {"to": "kim"}}], capabilities=[send]
    )
    ada = await stage.sign_in(TOKENS["ada"])
    run_id, plan_gate = await stage.waiting_gate(ada)
    await stage.answer(ada, plan_gate, "approve")
    await stage.answer(ada, await stage.open_gate(run_id), "reject")
    await stage.ended(run_id)
    assert f"/runs/{run_id}/doubts" in (await ada.get(f"/runs/{run_id}")).text
    (doubt,) = await stage.agent.stores.doubts.of_run(run_id)
    assert doubt.key in (await ada.get(f"/runs/{run_id}/doubts")).text
    assert (await ada.post(f"/runs/{run_id}/doubts", **{f"happened-{doubt.key}": "no"})).status_code == 303
    assert await stage.agent.stores.doubts.of_run(run_id) == []
    assert (await ada.post(f"/runs/{run_id}/doubts")).status_code == 409


async def test_a_question_is_listed_and_asked_on_its_page_until_it_is_answered(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in()
    await stage.agent.stores.runs.latest("nobody")
    fill(stage, 3)
    with closing(sqlite3.connect(stage.folder / ".planwright" / "planwright.db")) as database, database:
        now = datetime.now(UTC).isoformat()
        ends = "UPDATE runs SET status = 'needs_input', answer = 'Which cables?', ended_at = ?"
        database.execute(f"{ends} WHERE run_id LIKE '%2'", (now,))
    database.close()
    assert "Which cables?" in (await ada.get("/approvals")).text
    run = f"/runs/run_{2:016x}"
    assert "Your answer" in (await ada.get(run)).text
    answer = await ada.post(f"{run}/reply", message="The long ones")
    assert answer.status_code == 303
    await stage.open_gate(answer.headers["location"].rsplit("/", 1)[1])
    assert "Which cables?" not in (await ada.get("/approvals")).text
    assert "Your answer" not in (await ada.get(run)).text
