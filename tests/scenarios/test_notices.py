"""People hear of gates, doubts and failures: once each, by mail and webhook, whoever dies in between."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig

from planwright.approvals.notices.notifier import Notifier
from planwright.domain.errors import SetupError
from planwright.extras.worker.worker import Worker
from planwright.graph.agent import Agent
from planwright.records.notices import AGAIN_S, MOST_ATTEMPTS
from tests.capabilities.post_office import PASSWORD, PostOffice
from tests.notice_receiver import NoticeReceiver
from tests.patience import PATIENCE_S
from tests.scenarios.conftest import Scene

pytestmark = pytest.mark.enable_socket
PEOPLE = ["kim@example.com", "lee@example.com"]


class Calendar:
    """A clock that is put forward by hand."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def receiver() -> Iterator[NoticeReceiver]:
    with NoticeReceiver() as opened:
        yield opened


def sent(agent: Agent) -> int:
    """Send what is due, once what the agent sends beside its work is sent."""
    agent.notifier.close()
    agent.notifier._until_s = float("inf")
    return asyncio.run(agent.notifier.send_due())


def at_gate(scene: Scene, *, text: str = "", **settings: Any) -> Agent:
    step = {**scene.step("s1", "work.destroy"), "params": {"name": "s1", **({"text": text} if text else {})}}
    agent = scene.agent(scene.plan(step), "done", **settings)
    scene.ask(agent)
    return agent


def test_a_gate_that_opens_is_posted_once_with_what_it_asks_and_how_to_answer(
    scene: Scene, receiver: NoticeReceiver
) -> None:
    agent = at_gate(scene, text="the old files", **receiver.settings)
    assert sent(agent) == 0
    (post,) = receiver.posts
    (gate,) = scene.rows("SELECT * FROM gates")
    assert post.content["event"] == "gate_opened"
    assert post.key == post.content["id"]
    assert post.content["gate_id"] == gate["gate_id"]
    assert f"planwright approve {gate['gate_id']}" in post.content["commands"]
    assert f"planwright approve {gate['gate_id']}" in post.content["text"]
    assert "the old files" in post.content["text"]
    assert post.content["link"] is None
    assert scene.rows("SELECT kind, subject, way, attempts, error, owner FROM notices") == [
        {
            "kind": "gate_opened",
            "subject": gate["gate_id"],
            "way": "webhook",
            "attempts": 1,
            "error": None,
            "owner": None,
        }
    ]


def test_a_gate_is_mailed_over_tls_to_everybody_with_a_link_to_its_card(scene: Scene, tmp_path: Path) -> None:
    with PostOffice(tmp_path, auth=True) as office:
        notify = {"mail": PEOPLE, "page": "https://agent.example.com/"}
        agent = at_gate(scene, **office.settings, notify=notify)
        sent(agent)
    ((recipients, mail),) = office.handler.taken
    (row,) = scene.rows("SELECT subject, notice_id FROM notices")
    assert recipients == PEOPLE
    assert office.handler.secure == [True]
    assert mail["Message-ID"] == f"<{row['notice_id']}@planwright.example>"
    assert mail["Subject"].startswith("A decision waits: ")
    assert f"https://agent.example.com/approvals/{row['subject']}" in mail.get_content()
    assert f"planwright reject {row['subject']}" in mail.get_content()


def test_a_receiver_that_hangs_does_not_hold_the_end_of_a_process(
    scene: Scene, receiver: NoticeReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planwright.approvals.notices.notifier.CLOSE_S", 0.1)
    receiver.delay_s = PATIENCE_S
    agent = at_gate(scene, **receiver.settings)
    agent.notifier.close()
    (row,) = scene.rows("SELECT sent_at, error, owner FROM notices")
    assert (row["sent_at"], row["error"]) == (None, None)
    assert row["owner"], "it is still being sent"


def test_an_answered_gate_tells_nobody_any_more(scene: Scene, receiver: NoticeReceiver) -> None:
    receiver.answers = [503]
    calendar = Calendar()
    agent = at_gate(scene, clock=calendar, **receiver.settings)
    agent.notifier.close()
    assert scene.rows("SELECT sent_at, error FROM notices") == [
        {"sent_at": None, "error": "the webhook answered 503"}
    ]
    scene.decide(agent, "reject")
    calendar.now += timedelta(seconds=10 * AGAIN_S)
    assert sent(agent) == 0
    assert receiver.posts == []


def test_what_was_not_taken_is_sent_again_later_under_the_same_id(
    scene: Scene, receiver: NoticeReceiver
) -> None:
    receiver.answers = [503, 500]
    calendar = Calendar()
    agent = at_gate(scene, clock=calendar, **receiver.settings)
    agent.notifier.close()
    (first,) = scene.rows("SELECT notice_id FROM notices")
    assert sent(agent) == 0
    calendar.now += timedelta(seconds=AGAIN_S)
    assert sent(agent) == 0
    calendar.now += timedelta(seconds=AGAIN_S)
    assert sent(agent) == 0  # twice as long
    calendar.now += timedelta(seconds=AGAIN_S)
    assert sent(agent) == 1
    assert [post.key for post in receiver.posts] == [first["notice_id"]]


def test_a_receiver_that_never_takes_it_is_left_alone_in_the_end(
    scene: Scene, receiver: NoticeReceiver
) -> None:
    receiver.answers = [500] * 100
    calendar = Calendar()
    agent = at_gate(scene, clock=calendar, **receiver.settings)
    for _ in range(MOST_ATTEMPTS + 3):
        sent(agent)
        calendar.now += timedelta(hours=1)
    assert len(receiver.answers) == 100 - MOST_ATTEMPTS


def test_a_gate_near_its_end_is_told_once_more_and_one_that_is_over_is_not(
    scene: Scene, receiver: NoticeReceiver
) -> None:
    calendar = Calendar()
    settings = receiver.settings
    settings["notify"]["closing_s"] = 600
    agent = at_gate(scene, clock=calendar, sessions={"gate_ttl_s": 4000}, **settings)
    sent(agent)
    calendar.now += timedelta(seconds=3300)
    assert sent(agent) == 0
    calendar.now += timedelta(seconds=200)
    assert (sent(agent), sent(agent)) == (1, 0)
    assert [post.content["event"] for post in receiver.posts] == ["gate_opened", "gate_closing"]
    assert "Decide until" in receiver.posts[1].content["text"]
    assert len({post.key for post in receiver.posts}) == 2


def test_nobody_is_told_that_a_short_gate_is_near_its_end_when_it_opens(
    scene: Scene, receiver: NoticeReceiver
) -> None:
    calendar = Calendar()
    agent = at_gate(scene, clock=calendar, sessions={"gate_ttl_s": 400}, **receiver.settings)
    sent(agent)
    calendar.now += timedelta(seconds=290)
    assert sent(agent) == 0
    calendar.now += timedelta(seconds=20)
    assert sent(agent) == 1


def test_a_run_that_fails_is_told_and_one_that_failed_long_ago_is_not(
    scene: Scene, receiver: NoticeReceiver
) -> None:
    calendar = Calendar()
    agent = scene.agent("no plan", "no plan", "no plan", "no plan", clock=calendar, **receiver.settings)
    output = scene.ask(agent, "Count the words")
    assert output["status"] == "failed"
    sent(agent)
    (post,) = receiver.posts
    assert (post.content["event"], post.content["status"]) == ("run_failed", "failed")
    assert "Count the words" in post.content["text"]
    asyncio.run(agent.stores.database.run("test", lambda c: c.execute("DELETE FROM notices").rowcount))
    calendar.now += timedelta(days=2)
    assert sent(agent) == 0


def test_only_what_is_chosen_is_told(scene: Scene, receiver: NoticeReceiver) -> None:
    settings = receiver.settings
    settings["notify"]["events"] = ["run_failed"]
    agent = at_gate(scene, **settings)
    assert sent(agent) == 0
    assert receiver.posts == []


def test_messages_of_another_tenant_go_nowhere_else(scene: Scene, receiver: NoticeReceiver) -> None:
    settings = receiver.settings
    url = settings["notify"].pop("webhook")
    settings["notify"]["tenants"] = {"acme": {"webhook": url}}
    agent = at_gate(scene, **settings)
    assert sent(agent) == 0
    assert receiver.posts == []
    config: RunnableConfig = {"configurable": {"thread_id": "acmes"}}
    other = scene.agent(scene.plan(scene.step("s1", "work.destroy")), **settings)
    other.invoke({"messages": [("user", "Do it")]}, config, context={"tenant": "acme"})
    sent(other)
    assert [post.content["tenant"] for post in receiver.posts] == ["acme"]


def test_a_secret_is_in_no_message(
    scene: Scene, receiver: NoticeReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SECRET", PASSWORD)
    agent = at_gate(scene, text="all of it", secrets={"env": ["MY_SECRET"]}, **receiver.settings)
    change = f"""UPDATE gates SET shown = replace(shown, 'all of it', '{PASSWORD}')"""
    agent.notifier.close()
    receiver.posts.clear()
    asyncio.run(agent.stores.database.run("test", lambda c: c.execute("DELETE FROM notices").rowcount))
    asyncio.run(agent.stores.database.run("test", lambda c: c.execute(change).rowcount))
    assert sent(agent) == 1
    assert PASSWORD not in json.dumps(receiver.posts[0].content)


def test_a_text_that_a_plan_sends_is_in_the_message(scene: Scene, receiver: NoticeReceiver) -> None:
    text = "Dear all, the meeting is moved to Friday at ten, in the small room on the second floor. Kim"
    step = {**scene.step("s1", "work.post"), "params": {"name": "s1", "text": text}}
    agent = scene.agent(scene.plan(step), "done", approval={"plan": "always"}, **receiver.settings)
    output = scene.ask(agent)
    sent(agent)
    assert output["__interrupt__"][0].value["kind"] == "plan"
    assert text in receiver.posts[0].content["text"]


def test_a_long_card_is_cut(scene: Scene, receiver: NoticeReceiver) -> None:
    agent = at_gate(scene, text="x" * 50_000, **receiver.settings)
    sent(agent)
    assert len(receiver.posts[0].content["text"]) < 9_000


def test_two_processes_that_look_at_one_time_send_once(scene: Scene, receiver: NoticeReceiver) -> None:
    quiet = at_gate(scene)
    notifiers = [scene.agent(**receiver.settings).notifier for _ in range(4)]
    threads = [threading.Thread(target=asyncio.run, args=(each.send_due(),)) for each in notifiers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert quiet.notifier.is_on is False
    assert len(receiver.posts) == 1


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_gate_is_told_by_the_next_process_where_the_one_that_claimed_it_is_killed(
    scene: Scene, receiver: NoticeReceiver, when: str
) -> None:
    replies = [scene.plan(scene.step("s1", "work.destroy"))]
    entry = scene.entry(message="Do it")
    own = {"approval": {"tool_risk": "High", "depth": "plan"}, **receiver.settings}
    scene.child(entry, replies=replies, settings=own, die_at="notice", die_when=when)
    claimed = scene.rows("SELECT notice_id, sent_at FROM notices")
    assert (claimed, receiver.posts) == ([], []) if when == "before" else len(claimed) == 1
    assert sent(scene.agent(**receiver.settings)) == 1
    assert len(receiver.posts) == 1


def test_mail_without_a_server_is_refused_when_the_agent_is_built(scene: Scene) -> None:
    with pytest.raises(SetupError, match="needs a server that sends it"):
        scene.agent(notify={"mail": PEOPLE})
    with pytest.raises(SetupError, match="is no mail address"):
        scene.agent(notify={"mail": ["kim\nBcc: all@example.com"]}, mail={"host": "h", "from": "a@b.example"})


def test_a_webhook_in_a_private_network_has_to_be_listed(scene: Scene, receiver: NoticeReceiver) -> None:
    agent = at_gate(scene, notify=receiver.settings["notify"])
    agent.notifier.close()
    (row,) = scene.rows("SELECT sent_at, error FROM notices")
    assert row["sent_at"] is None
    assert "may not be reached" in row["error"]
    assert receiver.posts == []


def test_without_addresses_nothing_is_looked_at(scene: Scene) -> None:
    agent = at_gate(scene)
    assert isinstance(agent.notifier, Notifier)
    assert agent.notifier._thread is None
    assert scene.rows("SELECT * FROM notices") == []


def test_an_effect_in_doubt_is_told_unless_a_gate_asks_about_it(
    scene: Scene, receiver: NoticeReceiver
) -> None:
    (scene.workspace / "lose-after-s1").touch()
    plan = scene.plan(scene.step("s1", "work.post"))
    agent = scene.agent(plan, "done", approval={"plan": "never", "risk": "Critical"}, **receiver.settings)
    output = scene.ask(agent)
    while output["__interrupt__"][0].value["kind"] != "escalation":
        output = scene.decide(agent, "approve")
    sent(agent)
    assert receiver.by_event("effect_in_doubt") == []
    post = receiver.by_event("gate_opened")[-1]
    assert "work.post" in post.content["text"]
    assert "nobody knows" in post.content["text"]
    scene.decide(agent, "reject")
    sent(agent)
    (doubt,) = receiver.by_event("effect_in_doubt")
    (effect,) = scene.rows("SELECT run_id FROM effects WHERE status = 'in_doubt'")
    assert f"planwright respond {effect['run_id']}" in doubt.content["text"]


def test_who_is_refused_keeps_no_message_from_the_others(
    scene: Scene, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with PostOffice(tmp_path) as office:
        office.handler.refused["lee@example.com"] = "550 no such mailbox"
        agent = at_gate(scene, **office.settings, notify={"mail": PEOPLE})
        assert sent(agent) == 0
    assert [recipients for recipients, _ in office.handler.taken] == [["kim@example.com"]]
    assert "did not take a message for lee@example.com" in caplog.text


@pytest.mark.parametrize("security", ["tls", "none"])
def test_how_a_mail_server_is_reached_is_a_setting(scene: Scene, tmp_path: Path, security: str) -> None:
    with PostOffice(tmp_path, security=security) as office:
        sent(at_gate(scene, **office.settings, notify={"mail": PEOPLE}))
    assert [recipients for recipients, _ in office.handler.taken] == [PEOPLE]


def test_a_mail_server_whose_certificate_nobody_trusts_gets_nothing(scene: Scene, tmp_path: Path) -> None:
    with PostOffice(tmp_path) as office:
        settings = office.settings
        del settings["mail"]["ca_file"]
        agent = at_gate(scene, **settings, notify={"mail": PEOPLE})
        agent.notifier.close()
    assert office.handler.taken == []
    (row,) = scene.rows("SELECT sent_at, error FROM notices")
    assert row["sent_at"] is None
    assert "certificate" in row["error"].lower()


async def test_a_worker_tells_of_what_others_left_untold(scene: Scene, receiver: NoticeReceiver) -> None:
    await asyncio.to_thread(at_gate, scene)
    agent = scene.agent(queue={"look_s": 0.01}, **receiver.settings)
    worker = Worker(agent)
    working = asyncio.create_task(worker.run())
    async with asyncio.timeout(PATIENCE_S):
        while not receiver.posts:  # noqa: ASYNC110 - what is waited for happens in another thread
            await asyncio.sleep(0.01)
    worker.stop()
    await working
    assert len(receiver.posts) == 1
