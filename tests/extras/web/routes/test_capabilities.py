"""Capabilities on the page, and a call that begins there: through gate and ledger, like any other."""

from __future__ import annotations

from tests.extras.web.conftest import TOKENS, MakeStage

PATH = "/workspace/capabilities/tickets.create"


async def test_capabilities_are_listed_searched_and_shown(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in(TOKENS["ada"])
    listed = (await ada.get("/workspace/capabilities")).text
    for capability in stage.agent.door.parts.registry:
        assert f"/workspace/capabilities/{capability.name}" in listed
    page = (await ada.get("/workspace/capabilities?text=CREATE A TICKET")).text
    assert PATH in page
    assert "mail.send" not in page
    assert "No capability is like that" in (await ada.get("/workspace/capabilities?text=zzz")).text
    page = (await ada.get(PATH)).text
    for text in ("built in", "arg-title", "tickets.close", "idempotent", "writes here"):
        assert text in page
    assert (await ada.get("/workspace/capabilities/no.such")).status_code == 404


async def test_a_call_asks_at_its_gate_and_its_effect_is_on_record(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in(TOKENS["ada"])
    begun = await ada.post(PATH, **{"arg-title": "Cables", "arg-body": "Three"})
    assert begun.status_code == 303, begun.text
    run_id = begun.headers["location"].rsplit("/", 1)[1]
    gate_id = await stage.open_gate(run_id)
    assert list(await stage.agent.stores.undos.effects_of(run_id)) == []
    await stage.answer(ada, gate_id, "approve")
    assert await stage.ended(run_id) == "completed"
    (effect,) = await stage.agent.stores.undos.effects_of(run_id)
    assert effect.args["title"] == "Cables"


async def test_a_call_that_reads_needs_nobody(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in(TOKENS["ada"])
    begun = await ada.post("/workspace/capabilities/datetime.now")
    run_id = begun.headers["location"].rsplit("/", 1)[1]
    assert await stage.ended(run_id) == "completed"


async def test_a_call_that_the_policy_denies_is_not_made(make_stage: MakeStage) -> None:
    deny = '[[rule]]\nmatch.capability = "tickets.*"\ndecide = "deny"\n\n[[rule]]\ndecide = "allow"\n'
    stage = make_stage(policy=deny)
    ada = await stage.sign_in(TOKENS["ada"])
    begun = await ada.post(PATH, **{"arg-title": "Cables", "arg-body": "Three"})
    run_id = begun.headers["location"].rsplit("/", 1)[1]
    assert await stage.ended(run_id) == "refused"
    assert list(await stage.agent.stores.undos.effects_of(run_id)) == []


async def test_wrong_arguments_are_shown_again_and_begin_nothing(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in(TOKENS["ada"])
    answer = await ada.post(PATH, **{"arg-title": "Typed", "arg-body": "{{steps.s1.output}}"})
    assert answer.status_code == 409
    assert 'value="Typed"' in answer.text
    assert (await ada.post(PATH, **{"arg-body": "Three"})).status_code == 409
    assert "Nothing was asked yet" in (await ada.get("/runs")).text
