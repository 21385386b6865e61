"""Answers over the page: each is one decision in the name of who is signed in, bound to gate and hash."""

from __future__ import annotations

import asyncio

import pytest

from planwright.domain.errors import RunHeld
from tests.extras.web.conftest import TOKENS, MakeStage

QUORUM = """
[[rule]]
match.capability = "tickets.create"
decide = "ask"
quorum = 2

[[rule]]
decide = "allow"
"""


async def test_an_approval_runs_the_plan_and_is_signed_by_who_is_signed_in(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in(TOKENS["ada"])
    run_id, gate_id = await stage.waiting_gate(ada)
    page = (await ada.get(f"/approvals/{gate_id}")).text
    assert "Cables" in page
    hash_ = page.split('name="plan_hash" value="')[1].split('"')[0]
    answer = await ada.post(f"/approvals/{gate_id}", type="approve", plan_hash=hash_, decided_by="mallory")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/runs/{run_id}")
    assert await stage.ended(run_id) == "completed"
    gate = await stage.agent.stores.gates.read(gate_id)
    assert (gate.decided_by, gate.channel) == ("ada", "web")
    shown = (await ada.get(f"/runs/{run_id}")).text
    assert "the answer" in shown
    assert "approved" in (await ada.get(f"/approvals/{gate_id}/state")).text


async def test_a_tool_that_says_nothing_is_spoken_for_over_the_page(make_stage: MakeStage) -> None:
    def look(city: str) -> str:
        """Look at the weather."""
        return f"sunny in {city}"

    step = {"id": "s1", "capability": "look", "params": {"city": "Rome"}}
    stage = make_stage([step], tools=[look])
    ada = await stage.sign_in(TOKENS["ada"])
    run_id, gate_id = await stage.waiting_gate(ada)
    page = (await ada.get(f"/approvals/{gate_id}")).text
    assert "What may look do?" in page
    assert '<option value="asks_once">it changes something: ask once a run</option>' in page
    await stage.answer(ada, gate_id, "approve", **{"tool-look": "reads"})
    assert await stage.ended(run_id) == "completed"
    (said,) = stage.agent.stores.tool_answers.read()
    assert (said.capability, said.may, said.given_by) == ("look", "reads", "ada")


async def test_a_rejection_brings_its_reason(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in(TOKENS["ada"])
    run_id, gate_id = await stage.waiting_gate(ada)
    answer = await stage.answer(ada, gate_id, "reject", message="not\r\ntoday")
    assert answer.status_code == 303, answer.text
    assert await stage.ended(run_id) == "rejected"
    assert (await stage.agent.stores.gates.read(gate_id)).reason == "not\ntoday"


async def test_another_hash_than_was_looked_at_is_refused(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in(TOKENS["ada"])
    _, gate_id = await stage.waiting_gate(ada)
    for other in ("0" * 64, ""):
        answer = await ada.post(f"/approvals/{gate_id}", type="approve", plan_hash=other)
        assert answer.status_code == 409
        assert "plan_hash" in answer.text
    assert (await stage.agent.stores.gates.read(gate_id)).status == "open"


async def test_of_two_browsers_and_python_one_decides(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada, ben = await stage.sign_in(TOKENS["ada"]), await stage.sign_in(TOKENS["ben"])
    run_id, gate_id = await stage.waiting_gate(ada)
    posts = (stage.answer(browser, gate_id, "approve") for browser in (ada, ben))
    answers = await asyncio.gather(*posts)
    assert sorted(answer.status_code for answer in answers) == [303, 409]
    loser = next(answer for answer in answers if answer.status_code == 409)
    gate = await stage.agent.stores.gates.read(gate_id)
    assert f"by {gate.decided_by} via web" in loser.text
    assert await stage.ended(run_id) == "completed"
    effects = await stage.agent.stores.undos.effects_of(run_id)
    assert len(effects) == 1


async def test_a_gate_that_needs_two_people_counts_people(make_stage: MakeStage) -> None:
    stage = make_stage(policy=QUORUM)
    ada, ben = await stage.sign_in(TOKENS["ada"]), await stage.sign_in(TOKENS["ben"])
    run_id, plan_gate = await stage.waiting_gate(ada)
    await stage.answer(ada, plan_gate, "approve")
    gate_id = await stage.open_gate(run_id)
    assert gate_id != plan_gate
    for _ in range(2):  # the second time it is the same person
        await stage.answer(ada, gate_id, "approve")
    assert "1 of 2" in (await ben.get(f"/approvals/{gate_id}")).text
    assert await stage.open_gate(run_id) == gate_id
    assert (await stage.answer(ben, gate_id, "approve")).status_code == 303
    assert await stage.ended(run_id) == "completed"


async def test_who_asked_does_not_approve_where_the_policy_says_so(make_stage: MakeStage) -> None:
    stage = make_stage(policy=QUORUM.replace("quorum = 2", "exclude_requester = true"))
    ada, ben = await stage.sign_in(TOKENS["ada"]), await stage.sign_in(TOKENS["ben"])
    run_id, plan_gate = await stage.waiting_gate(ada)
    await stage.answer(ada, plan_gate, "approve")
    gate_id = await stage.open_gate(run_id)
    page = (await ada.get(f"/approvals/{gate_id}")).text
    assert "who asked: ada" in page
    assert "not for who asked: ada" in page
    refused = await stage.answer(ada, gate_id, "approve")
    assert (refused.status_code, "is not for who asked, ada, to approve" in refused.text) == (409, True)
    assert f"planwright approve {gate_id}" in refused.text
    assert await stage.open_gate(run_id) == gate_id
    assert "not for who asked" not in (await ben.get(f"/approvals/{gate_id}")).text
    assert (await stage.answer(ben, gate_id, "approve")).status_code == 303
    assert await stage.ended(run_id) == "completed"


async def test_an_edit_is_checked_then_asked_for_again_with_what_it_changes(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in(TOKENS["ada"])
    run_id, gate_id = await stage.waiting_gate(ada)
    page = (await ada.get(f"/approvals/{gate_id}/edit")).text
    assert "param-1-0" in page
    hash_ = (await stage.agent.stores.gates.read(gate_id)).shown_hash
    wrong = await ada.post(
        f"/approvals/{gate_id}/edit",
        plan_hash=hash_,
        way="yaml",
        yaml="steps: [{id: s1, capability: no.such}]",
    )
    assert wrong.status_code == 409
    assert "no.such" in wrong.text
    checked = await ada.post(
        f"/approvals/{gate_id}/check", way="fields", **{"param-1-0": "Four", "param-1-1": "Ropes"}
    )
    assert "passes all rules" in checked.text
    assert (await stage.agent.stores.gates.read(gate_id)).status == "open"
    await ada.post(
        f"/approvals/{gate_id}/edit",
        plan_hash=hash_,
        way="fields",
        **{"param-1-0": "Four", "param-1-1": "Ropes"},
    )
    again = await stage.open_gate(run_id)
    assert again != gate_id
    assert "Ropes" in (await ada.get(f"/approvals/{again}")).text
    assert "What has changed" in (await ada.get(f"/approvals/{again}")).text


async def test_the_same_answer_twice_says_who_answered_while_the_run_works(
    make_stage: MakeStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = make_stage()
    ada = await stage.sign_in(TOKENS["ada"])
    run_id, gate_id = await stage.waiting_gate(ada)
    await stage.answer(ada, gate_id, "approve")
    assert await stage.ended(run_id) == "completed"

    async def held(*_: object) -> None:
        raise RunHeld("run is being worked on by another process", "take it over")

    monkeypatch.setattr(stage.parts.here, "enter", held)
    again = await stage.answer(ada, gate_id, "approve")
    assert again.status_code == 409
    assert "approved by ada via web" in again.text
    assert "take it over" not in again.text
