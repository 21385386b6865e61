"""Sessions on the page: begun in the background, paused, given more, queued again, cancelled."""

from __future__ import annotations

import asyncio

from planwright.capabilities import capability
from planwright.extras.worker.worker import Worker
from tests.extras.web.conftest import TOKENS, Browser, MakeStage, Stage, until
from tests.patience import PATIENCE_S


async def queued(stage: Stage, browser: Browser) -> str:
    """Ask for something in the background, and return the id of its run."""
    answer = await browser.post("/new", request="Order cables", background="yes")
    assert answer.status_code == 303, answer.text
    return answer.headers["location"].rsplit("/", 1)[1]


async def test_a_request_in_the_background_waits_for_a_worker_that_takes_it_up(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in(TOKENS["ada"])
    assert "Nothing was begun in the background" in (await ada.get("/workspace/sessions")).text
    run_id = await queued(stage, ada)
    page = (await ada.get("/workspace/sessions")).text
    assert "No worker is there" in page
    assert "no plan yet" in page
    assert "queued" in (await ada.get(f"/runs/{run_id}")).text
    await Worker(stage.agent).run(until_idle=True)
    gate_id = await stage.open_gate(run_id)
    page = (await ada.get("/workspace/sessions?open=yes")).text
    assert f"/approvals/{gate_id}" in page
    assert "0 of 1 steps ended" in page
    assert "199 calls" in page or "200 calls" in page


async def test_a_session_is_paused_given_more_queued_again_and_cancelled(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in(TOKENS["ada"])
    run_id = await queued(stage, ada)

    async def status() -> str:
        run = await stage.agent.stores.runs.read(run_id)
        assert run is not None
        return run.status

    assert (await ada.post(f"/runs/{run_id}/pause")).headers["location"] == f"/workspace/sessions#{run_id}"
    assert await status() == "paused"
    assert "paused: paused by ada" in (await ada.get("/workspace/sessions")).text
    assert (await ada.post(f"/runs/{run_id}/pause")).status_code == 409
    given = await ada.post(f"/runs/{run_id}/extend", tokens="5", cost="", ttl_s="60")
    assert given.status_code == 303
    assert "200,005 tokens" in (await ada.get("/workspace/sessions")).text
    assert (await ada.post(f"/runs/{run_id}/queue")).status_code == 303
    assert await status() == "queued"
    assert (await ada.post(f"/runs/{run_id}/queue")).status_code == 409
    await ada.post(f"/runs/{run_id}/cancel")
    assert await status() == "cancelled"
    assert "No session is open" in (await ada.get("/workspace/sessions?open=yes")).text


async def test_a_run_of_this_page_is_paused_between_steps_and_goes_on(make_stage: MakeStage) -> None:
    begun, released = asyncio.Event(), asyncio.Event()

    @capability("post.wait", mode="read_only", risk="None", effect="pure")
    async def wait() -> dict[str, str]:
        """Wait until the test goes on."""
        begun.set()
        await released.wait()
        return {}

    steps = [
        {"id": "s1", "capability": "post.wait"},
        {"id": "s2", "capability": "post.wait", "after": ["s1"]},
    ]
    stage = make_stage(steps, capabilities=[wait])
    ada = await stage.sign_in(TOKENS["ada"])
    run_id = (await ada.post("/new", request="Wait twice")).headers["location"].rsplit("/", 1)[1]
    await asyncio.wait_for(begun.wait(), PATIENCE_S)
    assert f"/runs/{run_id}/pause" in (await ada.get(f"/runs/{run_id}")).text
    paused = await ada.post(f"/runs/{run_id}/pause")
    assert paused.headers["location"] == f"/runs/{run_id}"

    async def status() -> str:
        run = await stage.agent.stores.runs.read(run_id)
        free = run is not None and not stage.agent.stores.leases.is_leased(run)
        return run.status if run and free and run.status != "running" else ""  # let go since it was read

    async def heard() -> str:
        return "yes" if stage.agent.door.working[run_id].control.drain_requested else ""

    await until(heard)
    released.set()
    assert await until(status) == "paused"
    assert "paused by ada" in (await ada.get(f"/runs/{run_id}")).text
    assert (await ada.post(f"/runs/{run_id}/resume")).status_code == 303
    assert await stage.ended(run_id) == "completed"


async def test_what_is_no_amount_is_refused_and_changes_nothing(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in(TOKENS["ada"])
    run_id = await queued(stage, ada)
    for amounts in (
        {},
        {"tokens": "x"},
        {"tokens": "1.5"},
        {"cost": "-1"},
        {"cost": "nan"},
        {"ttl_s": "inf"},
    ):
        answer = await ada.post(f"/runs/{run_id}/extend", **amounts)
        assert answer.status_code == 409, amounts
    run = await stage.agent.stores.runs.read(run_id)
    assert run is not None
    assert run.extended is None


async def test_sessions_of_another_tenant_are_not_there(make_stage: MakeStage) -> None:
    stage = make_stage()
    run_id = await queued(stage, await stage.sign_in(TOKENS["ada"]))
    eve = await stage.sign_in(TOKENS["eve"])
    assert run_id not in (await eve.get("/workspace/sessions")).text
    for action in ("pause", "queue", "extend"):
        assert (await eve.post(f"/runs/{run_id}/{action}", tokens="5")).status_code == 409
    run = await stage.agent.stores.runs.read(run_id)
    assert run is not None
    assert (run.status, run.extended) == ("queued", None)
