"""The sweep over asking: a few of its plays, and a judge that can fail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.asking import WAYS, mails, play_task
from benchmarks.asking_tasks import TASKS
from benchmarks.asking_world import Talk, World, unseen, world

pytestmark = pytest.mark.enable_socket
CARD = {
    "outside": ["posts 1 message to team (hooks.example)"],
    "steps": [
        {
            "capability": "channel.post",
            "params": {"text": "{{steps.s1.output.text}}"},
            "values": {"text": "Hi"},
        }
    ],
}


@pytest.fixture(scope="module")
def outside() -> Iterator[World]:
    with world() as place:
        yield place


@pytest.mark.long
def test_a_task_asks_once_by_each_way_and_its_card_has_every_value(outside: World, tmp_path: Path) -> None:
    plays = play_task(TASKS[0], outside, tmp_path)
    assert [(play.way, play.questions, play.unseen, play.holds) for play in plays] == [
        (way, 1, [], True) for way in WAYS
    ]


@pytest.mark.long
def test_five_mails_are_one_card(outside: World, tmp_path: Path) -> None:
    assert mails(outside, tmp_path) == 1


def test_a_search_that_finds_nothing_asks_nobody_and_ends(outside: World, tmp_path: Path) -> None:
    with outside.agent(tmp_path) as agent:
        talk = Talk(agent)
        assert talk.say("Search my emails for the newsletter, and save a summary of it to newsletter.md") == (
            "completed_with_skips"
        )
    assert talk.cards == []


def test_a_task_that_nobody_plans_fails_by_each_way(outside: World, tmp_path: Path) -> None:
    plays = play_task("Please overwrite the moon with a summary", outside, tmp_path)
    assert [(play.way, play.holds) for play in plays] == [(way, False) for way in WAYS]


@pytest.mark.parametrize(
    ("args", "missing"),
    [
        ({"text": "Hi", "channel": "team"}, []),
        ({"text": "Hi", "channel": ""}, []),
        ({"text": "Ho"}, ['channel.post.text = "Ho"']),
        ({"text": "Hi", "channel": "all"}, ['channel.post.channel = "all"']),
    ],
)
def test_the_judge_sees_a_value_that_no_card_showed(args: dict[str, str], missing: list[str]) -> None:
    assert unseen([("channel.post", args)], [CARD]) == missing
    assert unseen([("mail.send", args)], [CARD]) == [
        f'mail.send.{name} = "{args[name]}"' for name in args if args[name]
    ]
