"""Signing in: by a link that is good once, or with a token of this server, as the person that it names."""

from __future__ import annotations

import re

from planwright.security.credentials import login_name
from planwright.security.tickets import make_ticket
from tests.extras.web.conftest import BASE, START, TOKENS, MakeStage


async def test_a_typed_token_signs_its_person_in(make_stage: MakeStage) -> None:
    stage = make_stage()
    client = stage.client()
    wrong = await client.post("/sign-in", data={"token": "x" * 43}, headers={"Origin": BASE})
    assert (wrong.status_code, "no token of this server" in wrong.text) == (401, True)
    right = await client.post("/sign-in", data={"token": f" {TOKENS['ben']} "}, headers={"Origin": BASE})
    assert right.status_code == 303
    assert "<summary>ben</summary>" in (await client.get("/runs")).text


async def test_a_link_signs_in_once(make_stage: MakeStage) -> None:
    stage = make_stage()
    first, second = stage.client(), stage.client()
    link = f"/sign-in?ticket={make_ticket(START)}"
    opened = await first.get(link)
    assert (opened.status_code, 'content="0; url=/"' in opened.text) == (200, True)
    assert f"<summary>{login_name()}</summary>" in (await first.get("/runs")).text
    again = await second.get(link)
    assert (again.status_code, "set-cookie" in again.headers) == (401, False)
    assert "this link was used" in again.text
    assert "planwright web --link" in again.text
    assert (await second.get("/runs")).status_code == 401
    assert (await first.get(link)).headers["location"] == "/"  # a visit is there already
    newest = await stage.parts.sign_ins.newest("default", 5, 0)
    assert [(row.way, row.outcome) for row in newest] == [("link", "refused"), ("link", "signed in")]


async def test_whoever_only_looks_at_a_link_does_not_use_it_up(make_stage: MakeStage) -> None:
    client, link = make_stage().client(), f"/sign-in?ticket={make_ticket(START)}"
    assert "set-cookie" not in (await client.head(link)).headers
    assert "set-cookie" in (await client.get(link)).headers


async def test_a_token_in_an_address_opens_nothing(make_stage: MakeStage) -> None:
    client = make_stage().client()
    for query in (f"token={START}", f"ticket={START}", f"ticket={make_ticket(TOKENS['ada'])}"):
        assert "set-cookie" not in (await client.get(f"/sign-in?{query}")).headers
    assert (await client.get("/runs")).status_code == 401


async def test_a_link_makes_nobody_another_person_unasked(make_stage: MakeStage) -> None:
    stage = make_stage()
    ben = await stage.sign_in(TOKENS["ben"])
    ticket = make_ticket(START)
    asked = await ben.get(f"/sign-in?ticket={ticket}")
    assert "You are signed in as ben" in asked.text
    assert f"Go on as {login_name()}" in asked.text
    assert "set-cookie" not in asked.headers
    assert "<summary>ben</summary>" in (await ben.get("/runs")).text
    for csrf in ("", "x" * 43):
        form = {"ticket": ticket, "csrf": csrf}
        refused = await ben.client.post("/sign-in", data=form, headers={"Origin": BASE})
        assert refused.status_code == 403
    csrf_shown = re.search(r'name="csrf" value="([^"]+)"', asked.text)
    assert csrf_shown is not None
    before = dict(ben.client.cookies)
    await ben.post("/sign-in", ticket=ticket)
    assert f"<summary>{login_name()}</summary>" in (await ben.get("/runs")).text
    left = stage.client()
    left.cookies.update(before)
    assert (await left.get("/runs")).status_code == 401  # the visit of ben is over


async def test_a_link_that_another_site_opens_is_looked_at_with_the_cookie_of_the_visit(
    make_stage: MakeStage,
) -> None:
    stage, ticket = make_stage(), make_ticket(START)
    ben = await stage.sign_in(TOKENS["ben"])
    other = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}  # no Strict cookie comes with it
    led = await stage.client().get(f"/sign-in?ticket={ticket}", headers=other)
    assert "set-cookie" not in led.headers
    onward = re.search(r'content="0; url=([^"]+)"', led.text)
    assert onward is not None
    assert "You are signed in as ben" in (await ben.get(onward[1])).text


async def test_the_token_of_the_start_counts_on_this_machine_alone(make_stage: MakeStage) -> None:
    stage = make_stage(more={"server": {"hosts": ["203.0.113.7:2025"]}})
    outside = stage.client("http://203.0.113.7:2025")
    origin = {"Origin": "http://203.0.113.7:2025"}
    assert (await outside.post("/sign-in", data={"token": START}, headers=origin)).status_code == 401
    assert (await outside.get(f"/sign-in?ticket={make_ticket(START)}")).status_code == 401
    assert (await outside.get("/runs")).status_code == 401


async def test_a_link_without_a_ticket_shows_the_form(make_stage: MakeStage) -> None:
    answer = await make_stage().client().get("/sign-in")
    assert answer.status_code == 200
    assert 'name="token"' in answer.text
