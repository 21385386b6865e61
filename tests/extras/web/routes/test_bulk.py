"""Approving several gates at once: what was looked at is approved, what has changed is refused by name."""

from __future__ import annotations

import re

from tests.extras.web.conftest import TOKENS, WRITE, Browser, MakeStage, Stage

EACH_ASKS = {"approval": {"depth": "plan"}}
TWO_PEOPLE = """
[[rule]]
match.capability = "tickets.create"
decide = "ask"
approvers = ["ada", "ben"]
quorum = 2

[[rule]]
decide = "allow"
"""


async def three_gates(stage: Stage, ada: Browser) -> tuple[list[str], list[str]]:
    """Let three runs wait; return their ids, and the ids of their gates."""
    pairs = [await stage.waiting_gate(ada, f"Order {number}") for number in range(3)]
    return [run_id for run_id, _ in pairs], [gate_id for _, gate_id in pairs]


async def looked_at(browser: Browser, capability: str = "tickets.create") -> list[str]:
    """Look at what can be approved together, and return what its form names."""
    page = (await browser.get(f"/approvals/together?capability={capability}")).text
    return re.findall(r'name="gate" value="([^"]+)"', page)


async def test_all_that_was_looked_at_is_approved_and_each_run_goes_on(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in(TOKENS["ada"])
    runs, gates = await three_gates(stage, ada)
    page = (await ada.get("/approvals/together")).text
    assert "?capability=tickets.create" in page
    names = await looked_at(ada)
    assert [name.split()[0] for name in names] == gates
    answer = await ada.post("/approvals/together", gate=names, capability="tickets.create")
    assert "3 of 3 approvals were taken" in answer.text
    assert [await stage.ended(run_id) for run_id in runs] == ["completed"] * 3
    decided = [await stage.agent.stores.gates.read(gate_id) for gate_id in gates]
    assert {(gate.status, gate.decided_by, gate.channel) for gate in decided} == {("approved", "ada", "web")}


async def test_what_was_decided_or_is_another_since_is_refused_by_name(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada, ben = await stage.sign_in(TOKENS["ada"]), await stage.sign_in(TOKENS["ben"])
    runs, gates = await three_gates(stage, ada)
    names = await looked_at(ada)
    await stage.answer(ben, gates[0], "reject", message="not this one")
    assert await stage.ended(runs[0]) == "rejected"
    parts = names[1].split()
    other_hash = f"{parts[0]} {parts[1]} {'0' * 64}"
    answer = await ada.post(
        "/approvals/together", gate=[names[0], other_hash, names[2]], capability="tickets.create"
    )
    assert "1 of 3 approvals were taken" in answer.text
    assert f"gate {gates[0]} is rejected by ben via web" in answer.text
    assert f"gate {gates[1]} shows something else than was listed" in answer.text
    assert await stage.ended(runs[2]) == "completed"
    assert (await stage.agent.stores.gates.read(gates[1])).status == "open"


async def test_a_gate_that_asks_about_more_is_left_and_cannot_be_sent(make_stage: MakeStage) -> None:
    stage = make_stage([WRITE, {"id": "s2", "capability": "memory.write", "params": {"text": "Cables"}}])
    ada = await stage.sign_in(TOKENS["ada"])
    _, gate_id = await stage.waiting_gate(ada)
    assert await looked_at(ada) == []
    assert "it also calls memory.write" in (await ada.get("/approvals/together?capability=tickets.*")).text
    (name,) = await looked_at(ada, "*")
    for capability, cause in (("tickets.*", "it also calls"), ("mail.*", "it does not call mail.*")):
        answer = await ada.post("/approvals/together", gate=name, capability=capability)
        assert cause in answer.text
    assert (await stage.agent.stores.gates.read(gate_id)).status == "open"


async def test_where_two_people_have_to_approve_each_is_counted(make_stage: MakeStage) -> None:
    stage = make_stage(policy=TWO_PEOPLE, more=EACH_ASKS)
    ada, ben = await stage.sign_in(TOKENS["ada"]), await stage.sign_in(TOKENS["ben"])
    run_id, plan_gate = await stage.waiting_gate(ada)
    await stage.answer(ada, plan_gate, "approve")
    gate_id = await stage.open_gate(run_id)
    first = await ada.post("/approvals/together", gate=await looked_at(ada), capability="tickets.create")
    assert "more people have to approve" in first.text
    assert await stage.open_gate(run_id) == gate_id
    assert await looked_at(ada) == []
    second = await ben.post("/approvals/together", gate=await looked_at(ben), capability="tickets.create")
    assert "1 of 1 approvals were taken" in second.text
    assert await stage.ended(run_id) == "completed"


async def test_several_gates_of_one_run_are_approved_at_once(make_stage: MakeStage) -> None:
    stage = make_stage(
        [WRITE, {**WRITE, "id": "s2"}, {**WRITE, "id": "s3"}], policy=TWO_PEOPLE, more=EACH_ASKS
    )
    ada, ben = await stage.sign_in(TOKENS["ada"]), await stage.sign_in(TOKENS["ben"])
    run_id, plan_gate = await stage.waiting_gate(ada)
    await stage.answer(ada, plan_gate, "approve")
    await stage.open_gate(run_id)
    first = await ada.post("/approvals/together", gate=await looked_at(ada), capability="tickets.create")
    assert first.text.count("more people have to approve") == 3
    second = await ben.post("/approvals/together", gate=await looked_at(ben), capability="tickets.create")
    assert "3 of 3 approvals were taken" in second.text
    assert await stage.ended(run_id) == "completed"


async def test_a_gate_whose_time_is_up_is_left(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in(TOKENS["ada"])
    _, gate_id = await stage.waiting_gate(ada)
    (name,) = await looked_at(ada)
    update = "UPDATE gates SET expires_at = requested_at, closes_s = 0 WHERE gate_id = ?"
    await stage.agent.stores.database.run("late", lambda c: c.execute(update, (gate_id,)).rowcount)
    assert await looked_at(ada) == []
    assert "expired at" in (await ada.get("/approvals/together?capability=*")).text
    answer = await ada.post("/approvals/together", gate=name, capability="*")
    assert "0 of 1 approvals were taken" in answer.text


async def test_another_tenant_approves_nothing_and_a_form_without_gates_is_refused(
    make_stage: MakeStage,
) -> None:
    stage = make_stage()
    ada, eve = await stage.sign_in(TOKENS["ada"]), await stage.sign_in(TOKENS["eve"])
    _, gate_id = await stage.waiting_gate(ada)
    names = await looked_at(ada)
    assert await looked_at(eve) == []
    answer = await eve.post("/approvals/together", gate=names, capability="tickets.create")
    assert f"there is no gate {gate_id}" in answer.text
    assert (await ada.post("/approvals/together", capability="tickets.create")).status_code == 409
    wrong = await ada.post("/approvals/together", gate="x", capability="tickets.create")
    assert wrong.status_code == 409
    assert (await stage.agent.stores.gates.read(gate_id)).status == "open"
