"""A link of a message opens one gate, and takes one answer there in the name of its person."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from planwright.approvals.notices.notifier import Notifier
from planwright.domain.errors import SetupError
from planwright.security.redaction.redactor import Redactor
from planwright.settings.settings import load
from tests.capabilities.post_office import PostOffice
from tests.extras.web.conftest import ADDRESS, BASE, TOKENS, Browser, MakeStage, Stage

LINK = re.compile(r"/answer/([\w-]{43})")
TWO_OF_THEM = """
[[rule]]
match.capability = "tickets.create"
decide = "ask"
quorum = 2
approvers = ["kim", "ben"]

[[rule]]
decide = "allow"
"""


async def linked(stage: Stage, person: str = "kim") -> tuple[str, str]:
    """Let a gate wait; return its id and the path of a link to it."""
    _, gate_id = await stage.waiting_gate(await stage.sign_in())
    gate = await stage.agent.stores.gates.read(gate_id)
    token = await stage.agent.stores.answer_links.make(gate, person, stage.agent.door.clock())
    return gate_id, f"/answer/{token}"


async def opened(stage: Stage, path: str) -> Browser:
    """Open a link in a browser that has not signed in."""
    client = stage.client()
    asked = await client.get(path)
    assert (asked.status_code, f'action="{path}"' in asked.text) == (200, True)
    answer = await client.post(path, headers={"Origin": BASE})
    assert answer.status_code == 303, answer.text
    gate = answer.headers["location"]
    page = await client.get(gate)
    csrf = re.search(r'name="csrf" content="([^"]+)"', page.text)
    assert csrf is not None
    return Browser(client, csrf[1])


async def test_a_link_shows_the_card_and_takes_an_answer_in_the_name_of_its_person(
    make_stage: MakeStage,
) -> None:
    stage = make_stage()
    gate_id, path = await linked(stage)
    browser = await opened(stage, path)
    card = (await browser.get(f"/approvals/{gate_id}")).text
    assert "Cables" in card
    assert 'href="/runs' not in card
    answer = await stage.answer(browser, gate_id, "approve")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/approvals/{gate_id}")
    gate = await stage.agent.stores.gates.read(gate_id)
    assert (gate.status, gate.decided_by) == ("approved", "kim")
    assert await stage.ended(gate.run_id) == "completed"
    (sign_in, _) = await stage.parts.sign_ins.newest("default", 2, 0)
    assert (sign_in.way, sign_in.person) == ("answer", "kim")


async def test_a_link_is_good_for_one_answer(make_stage: MakeStage) -> None:
    stage = make_stage()
    gate_id, path = await linked(stage)
    browser = await opened(stage, path)
    await stage.answer(browser, gate_id, "reject", message="not now")
    again = await stage.answer(browser, gate_id, "approve")
    assert again.status_code == 409
    late = await stage.client().get(path)
    assert late.status_code == 404
    assert "this was decided already: rejected by kim" in late.text


async def test_what_only_looks_at_a_link_decides_nothing(make_stage: MakeStage) -> None:
    stage = make_stage()
    gate_id, path = await linked(stage)
    before = await stage.parts.sign_ins.count("default")
    for _ in range(3):
        client = stage.client()
        assert (await client.get(path)).status_code == 200
        assert (await client.head(path)).status_code == 200
        assert not client.cookies
    assert (await stage.client().post(path)).status_code == 403  # no form of ours
    assert await stage.parts.sign_ins.count("default") == before
    assert (await stage.agent.stores.gates.read(gate_id)).status == "open"


@pytest.mark.parametrize(
    "path", ["/approvals", "/runs", "/runs/{run}", "/new", "/workspace", "/approvals/gate_other", "/effects"]
)
async def test_the_visit_of_a_link_sees_nothing_else(path: str, make_stage: MakeStage) -> None:
    stage = make_stage()
    gate_id, link = await linked(stage)
    gate = await stage.agent.stores.gates.read(gate_id)
    browser = await opened(stage, link)
    answer = await browser.get(path.format(run=gate.run_id))
    assert answer.status_code == 403
    assert "opens its question alone" in answer.text
    assert (await browser.post("/new", request="Do more")).status_code == 403


async def test_forged_and_late_links_are_refused_and_counted(make_stage: MakeStage) -> None:
    stage = make_stage()
    gate_id, path = await linked(stage)
    assert (await stage.client().get(path[:-1] + ("A" if path[-1] != "A" else "B"))).status_code == 404
    gate = await stage.agent.stores.gates.read(gate_id)
    links = stage.agent.stores.answer_links
    token = path.removeprefix("/answer/")
    with pytest.raises(Exception, match="nobody decided in time"):
        await links.find(token, gate.expires_at)
    change = "UPDATE answer_links SET answer_hash = 'other'"
    await stage.agent.stores.database.run("test", lambda c: c.execute(change).rowcount)
    with pytest.raises(Exception, match="shows something else"):
        await links.find(token, gate.expires_at - timedelta(seconds=1))
    for _ in range(10):
        answer = await stage.client().get("/answer/none")
    assert answer.status_code == 429


async def test_a_link_gives_nobody_a_say_whom_the_policy_leaves_out(make_stage: MakeStage) -> None:
    stage = make_stage(policy=TWO_OF_THEM)
    ada = await stage.sign_in()
    run_id, plan_gate = await stage.waiting_gate(ada)
    await stage.answer(ada, plan_gate, "approve")
    gate_id = await stage.open_gate(run_id)
    gate = await stage.agent.stores.gates.read(gate_id)
    links = stage.agent.stores.answer_links
    paths = {name: f"/answer/{await links.make(gate, name, gate.requested_at)}" for name in ("kim", "lee")}
    lee, kim = await opened(stage, paths["lee"]), await opened(stage, paths["kim"])
    assert (await stage.answer(lee, gate_id, "approve")).status_code == 409
    for _ in range(2):
        await stage.answer(kim, gate_id, "approve")
    gate = await stage.agent.stores.gates.read(gate_id)
    assert (gate.status, [approval.by for approval in gate.approvals]) == ("open", ["kim"])
    assert "kim has approved this already" in (await stage.client().get(paths["kim"])).text


async def test_somebody_who_has_signed_in_stays_who_they_are(make_stage: MakeStage) -> None:
    stage = make_stage()
    gate_id, path = await linked(stage, "ada")
    ada, ben = await stage.sign_in(TOKENS["ada"]), await stage.sign_in(TOKENS["ben"])
    led = await ada.get(path)
    assert (led.status_code, led.headers["location"]) == (303, f"/approvals/{gate_id}")
    refused = await ben.get(path)
    assert refused.status_code == 403
    assert "this link is for ada, and you have signed in as ben" in refused.text


@pytest.mark.enable_socket
async def test_a_mail_has_the_link_of_its_reader_alone(
    make_stage: MakeStage, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with PostOffice(tmp_path_factory.mktemp("office"), auth=True) as office:
        people = {"kim": "kim@example.com", "lee": "lee@example.com"}
        notify = {"mail": ["all@example.com"], "links": people, "page": ADDRESS}
        stage = make_stage(more={**office.settings, "notify": notify})
        gate_id, _ = await linked(stage)
        stage.agent.notifier.close()
    mails = {tuple(recipients): mail for recipients, mail in office.handler.taken}
    assert sorted(mails) == [("all@example.com",), ("kim@example.com",), ("lee@example.com",)]
    texts = {recipients[0]: mail.get_content() for recipients, mail in mails.items()}
    tokens = {address: LINK.findall(text) for address, text in texts.items()}
    assert tokens.pop("all@example.com") == []
    assert len({token for each in tokens.values() for token in each}) == 2
    assert len({mail["Message-ID"] for mail in mails.values()}) == 3
    for person, address in people.items():
        (token,) = tokens[address]
        link = await stage.agent.stores.answer_links.find(token, datetime.now(UTC))
        assert (link.person, link.gate.gate_id) == (person, gate_id)
        assert "pass this mail on to nobody" in texts[address]


@pytest.mark.enable_socket
@pytest.mark.parametrize(("refusal", "again"), [("550 no such mailbox", False), ("450 come back", True)])
async def test_a_refused_reader_of_a_link_keeps_no_mail_from_the_next(
    refusal: str,
    again: bool,
    make_stage: MakeStage,
    tmp_path_factory: pytest.TempPathFactory,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with PostOffice(tmp_path_factory.mktemp("office"), auth=True) as office:
        office.handler.refused["kim@example.com"] = refusal
        people = {"kim": "kim@example.com", "lee": "lee@example.com"}
        notify = {"mail": ["all@example.com"], "links": people, "page": ADDRESS}
        stage = make_stage(more={**office.settings, "notify": notify})
        await linked(stage)
        stage.agent.notifier.close()
    got = [recipients for recipients, _ in office.handler.taken]
    assert got == [["all@example.com"], ["lee@example.com"]]
    assert ("was not sent" in caplog.text) is again  # for good: the others do not get it a second time
    assert "did not take a message for kim@example.com" in caplog.text


def test_links_need_the_address_of_the_page(make_stage: MakeStage) -> None:
    stage = make_stage()
    settings = load(stage.folder, notify={"links": {"kim": "kim@example.com"}})
    with pytest.raises(SetupError, match="links lead nowhere"):
        Notifier(settings, stage.agent.stores, Redactor())
