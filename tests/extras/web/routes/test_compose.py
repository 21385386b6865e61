"""A new request: begun with the words and options of its form, and with nothing that the form may not say."""

from __future__ import annotations

from tests.extras.web.conftest import TOKENS, MakeStage


async def test_a_request_without_words_begins_nothing(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in()
    assert (await ada.post("/new", request=" \r\n ")).status_code == 409
    assert "Nothing was asked yet" in (await ada.get("/runs")).text


async def test_a_request_with_a_nul_is_refused_with_what_to_do(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in()
    answer = await ada.post("/new", request="Buy\0cables")
    assert answer.status_code == 409
    assert "the request holds a NUL character" in answer.text
    assert "save it as UTF-8" in answer.text
    assert "Nothing was asked yet" in (await ada.get("/runs")).text


async def test_options_of_the_form_are_those_of_the_run_and_the_tenant_is_that_of_the_token(
    make_stage: MakeStage,
) -> None:
    stage = make_stage()
    eve = await stage.sign_in(TOKENS["eve"])
    answer = await eve.post("/new", request="Do it", planning="always", dry_run="yes", tenant="default")
    run_id = answer.headers["location"].rsplit("/", 1)[1]
    assert await stage.ended(run_id) == "planned"
    run = await stage.agent.stores.runs.read(run_id)
    assert run is not None
    assert (run.tenant, run.context["planning_mode"], run.context["channel"]) == ("other", "always", "web")


async def test_an_agent_that_is_not_there_begins_nothing(make_stage: MakeStage) -> None:
    ada = await make_stage().sign_in()
    answer = await ada.post("/new", request="Do it", agent="nobody")
    assert (answer.status_code, "nobody" in answer.text) == (409, True)


async def test_what_has_completed_is_offered_again_to_its_tenant(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada, eve = await stage.sign_in(), await stage.sign_in(TOKENS["eve"])
    assert "What works here" not in (await ada.get("/new")).text
    run_id, gate_id = await stage.waiting_gate(ada, "Buy cables")
    await stage.answer(ada, gate_id, "approve")
    await stage.ended(run_id)
    assert "/new?request=Buy%20cables" in (await ada.get("/new")).text
    assert "cables" not in (await eve.get("/new")).text


async def test_a_call_by_name_is_no_example_of_a_request(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in()
    await stage.agent.ainvoke(None, await stage.agent.acall("tickets.list", context={"tenant": "default"}))
    assert "Call tickets.list" in (await ada.get("/runs?status=completed")).text
    assert "What works here" not in (await ada.get("/new")).text
