"""Who else hears: the next after a while, whom a schedule names, and all that Apprise can reach."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from planwright.approvals.notices.notifier import Notifier
from planwright.domain.errors import SetupError
from planwright.extras.worker.schedules import Schedules
from planwright.graph.agent import Agent
from planwright.security.redaction.redactor import Redactor
from planwright.settings.settings import load
from tests.notice_receiver import NoticeReceiver
from tests.scenarios.conftest import Scene
from tests.scenarios.test_notices import Calendar, at_gate, receiver, sent

__all__ = ["receiver"]
pytestmark = pytest.mark.enable_socket


def by_way(scene: Scene) -> list[tuple[str, str]]:
    """List what was sent, and how."""
    rows = scene.rows("SELECT kind, way FROM notices WHERE sent_at IS NOT NULL ORDER BY rowid")
    return [(row["kind"], row["way"]) for row in rows]


def as_apprise(receiver: NoticeReceiver) -> str:
    """Write the address of a receiver as Apprise does, which posts JSON to it."""
    return str(receiver.settings["notify"]["webhook"]).replace("http://", "json://")


def test_a_gate_that_nobody_decides_climbs_to_the_next_once(scene: Scene, receiver: NoticeReceiver) -> None:
    calendar, settings = Calendar(), receiver.settings
    url = settings["notify"]["webhook"]
    settings["notify"] |= {"webhook": f"{url}/first", "climb_s": 600, "next": {"webhook": f"{url}/next"}}
    agent = at_gate(scene, clock=calendar, **settings)
    sent(agent)
    calendar.now += timedelta(seconds=590)
    assert sent(agent) == 0
    calendar.now += timedelta(seconds=20)
    assert (sent(agent), sent(agent)) == (1, 0)
    first, climbed = receiver.posts
    assert [post.path.rpartition("/")[2] for post in (first, climbed)] == ["first", "next"]
    assert climbed.content["event"] == "gate_climbed"
    assert climbed.content["text"].startswith("Nobody has decided yet: ")
    assert climbed.content["gate_id"] == first.content["gate_id"]


def test_a_gate_that_was_decided_in_time_does_not_climb(scene: Scene, receiver: NoticeReceiver) -> None:
    calendar, settings = Calendar(), receiver.settings
    settings["notify"] |= {"climb_s": 600, "next": dict(settings["notify"])}
    agent = at_gate(scene, clock=calendar, **settings)
    sent(agent)
    scene.decide(agent, "reject")
    calendar.now += timedelta(seconds=700)
    assert sent(agent) == 0


def test_apprise_takes_a_gate_and_says_where_it_does_not(scene: Scene, receiver: NoticeReceiver) -> None:
    calendar, settings = Calendar(), receiver.settings
    settings["notify"] = {"apprise": [as_apprise(receiver)]}
    receiver.answers = [500]
    agent = at_gate(scene, text="the old files", clock=calendar, **settings)
    sent(agent)
    (row,) = scene.rows("SELECT sent_at, error FROM notices")
    assert (row["sent_at"], row["error"]) == (
        None,
        "one of the addresses for Apprise did not take it; its log says why",
    )
    calendar.now += timedelta(minutes=1)
    assert sent(agent) == 1
    assert "the old files" in receiver.posts[0].content["message"]
    assert receiver.posts[0].content["title"].startswith("A decision waits: ")
    assert by_way(scene) == [("gate_opened", "apprise")]


@pytest.mark.parametrize("place", ["notify", "next", "schedule"])
def test_an_address_that_apprise_does_not_know_is_refused_and_not_shown(place: str, scene: Scene) -> None:
    wrong = {"apprise": ["nowhere://secret-token"]}
    schedule = {"cron": "0 * * * *", "request": "Read", "answer_to": wrong}
    settings: dict[str, Any] = {
        "notify": {"notify": {"notify": wrong}, "next": {"notify": {"next": wrong}}}.get(place),
        "schedule": {"schedules": {"hourly": schedule}},
    }
    given = settings["schedule"] if place == "schedule" else settings["notify"]
    with pytest.raises(SetupError, match="address 1 is none that Apprise knows") as refused:
        scene.agent("done", **given)
    assert "secret-token" not in str(refused.value)


def test_the_answer_of_a_schedule_goes_where_it_says(scene: Scene, receiver: NoticeReceiver) -> None:
    calendar, settings = Calendar(), receiver.settings
    told = {"cron": "0 * * * *", "request": "Read", "planning": "never", "answer_to": settings.pop("notify")}
    silent = {**told, "answer_to": {}}
    agent = scene.agent(
        "All is well.", clock=calendar, schedules={"hourly": told, "silent": silent}, **settings
    )

    async def work() -> None:
        schedules = Schedules(agent)
        await schedules.queue_due()
        calendar.now += timedelta(hours=1)
        await schedules.queue_due()
        for run in await agent.stores.queue.runnable():
            await agent.ainvoke(None, {"configurable": {"thread_id": run.thread_id}})

    asyncio.run(work())
    sent(agent)
    (post,) = receiver.posts
    assert post.content["event"] == "schedule_answered"
    assert (post.content["schedule"], post.content["answer"]) == ("hourly", "All is well.")
    assert post.content["text"].startswith(
        "hourly: Read\n\nhourly: Read\nAll is well.\nIt ended as completed."
    )
    assert sent(agent) == 0


def test_without_addresses_nobody_looks(tmp_path: Path, scene: Scene) -> None:
    agent: Agent = scene.agent("done")
    settings = load(tmp_path, notify={"next": {"mail": []}, "climb_s": 5})
    assert not Notifier(settings, agent.stores, Redactor()).is_on
