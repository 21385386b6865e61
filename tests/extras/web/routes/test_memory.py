"""Memory on the page: searched, forgotten and accepted by runs that ask, rejected at once."""

from __future__ import annotations

from tests.extras.web.conftest import TOKENS, Browser, MakeStage, Stage


async def with_memory(stage: Stage, browser: Browser) -> dict[str, str]:
    """Let a run end that has remembered something and proposes more; return their ids."""
    run_id, gate_id = await stage.waiting_gate(browser)
    ids = await stage.remembered(run_id, "Cables are blue")
    await stage.answer(browser, gate_id, "approve")
    assert await stage.ended(run_id) == "completed"
    return ids


async def texts(stage: Stage) -> list[str]:
    """List what is remembered, the newest first."""
    return [memory.text for memory in await stage.agent.stores.memories.search("", "default", 10)]


async def test_a_memory_is_found_and_forgotten_once_a_person_approves(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in(TOKENS["ada"])
    assert "Nothing is remembered yet" in (await ada.get("/workspace/memory")).text
    ids = await with_memory(stage, ada)
    assert "Cables are blue" in (await ada.get("/workspace/memory?text=BLUE")).text
    assert "No memory holds that" in (await ada.get("/workspace/memory?text=green")).text
    path = f"/workspace/memory/{ids['memory_id']}/forget"
    begun = await ada.post(path)
    assert begun.status_code == 303
    run_id = begun.headers["location"].rsplit("/", 1)[1]
    gate_id = await stage.open_gate(run_id)
    assert await texts(stage) == ["Cables are blue"]
    assert (await ada.post(path)).headers["location"] == f"/runs/{run_id}"  # the one that is open
    await stage.answer(ada, gate_id, "approve")
    assert await stage.ended(run_id) == "completed"
    assert await texts(stage) == []
    assert (await ada.post(path)).status_code == 409


async def test_a_proposal_is_accepted_by_a_run_that_asks(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in(TOKENS["ada"])
    ids = await with_memory(stage, ada)
    path = f"/workspace/proposals/{ids['proposal_id']}/accept"
    run_id = (await ada.post(path)).headers["location"].rsplit("/", 1)[1]
    await stage.answer(ada, await stage.open_gate(run_id), "approve")
    assert await stage.ended(run_id) == "completed"
    assert await texts(stage) == ["Proposed: Cables are blue", "Cables are blue"]
    assert "Nothing is proposed" in (await ada.get("/workspace/memory")).text
    assert "accepted" in (await ada.get("/workspace/memory?every=yes")).text
    assert (await ada.post(path)).status_code == 409


async def test_a_proposal_that_is_rejected_is_gone_for_good(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in(TOKENS["ada"])
    ids = await with_memory(stage, ada)
    path = f"/workspace/proposals/{ids['proposal_id']}/reject"
    assert (await ada.post(path)).status_code == 303
    assert (await ada.post(path)).status_code == 409
    assert "rejected by ada" in (await ada.get("/workspace/memory?every=yes")).text
    assert await texts(stage) == ["Cables are blue"]


async def test_memories_of_another_tenant_are_not_there(make_stage: MakeStage) -> None:
    stage = make_stage()
    ids = await with_memory(stage, await stage.sign_in(TOKENS["ada"]))
    eve = await stage.sign_in(TOKENS["eve"])
    assert "blue" not in (await eve.get("/workspace/memory?every=yes")).text
    for path in (f"memory/{ids['memory_id']}/forget", f"proposals/{ids['proposal_id']}/accept"):
        assert (await eve.post(f"/workspace/{path}")).status_code == 409
    assert await texts(stage) == ["Cables are blue"]
