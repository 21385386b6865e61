"""Signing in: only with a token of this server, and as the person and tenant that the token names."""

from __future__ import annotations

from tests.web.conftest import BASE, START, TOKENS, MakeStage


async def test_a_typed_token_signs_its_person_in(make_stage: MakeStage) -> None:
    stage = make_stage()
    client = stage.client()
    wrong = await client.post("/sign-in", data={"token": "x" * 43}, headers={"Origin": BASE})
    assert (wrong.status_code, "no token of this server" in wrong.text) == (401, True)
    right = await client.post("/sign-in", data={"token": f" {TOKENS['ben']} "}, headers={"Origin": BASE})
    assert right.status_code == 303
    assert "<summary>ben</summary>" in (await client.get("/runs")).text


async def test_the_token_of_the_start_counts_on_this_machine_alone(make_stage: MakeStage) -> None:
    stage = make_stage()
    outside = stage.client("http://203.0.113.7:2025")
    assert (await outside.get(f"/sign-in?token={START}")).status_code == 403


async def test_a_link_without_a_token_shows_the_form(make_stage: MakeStage) -> None:
    answer = await make_stage().client().get("/sign-in")
    assert answer.status_code == 200
    assert 'name="token"' in answer.text
