"""Greetings and questions about itself are answered; what it suggests, it can plan."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.extras.offline.planner import compose
from planwright.extras.offline.talking import EXAMPLES, reply_to, suggestions


@pytest.mark.parametrize(
    "request_",
    ["hello", "Hi there!", "Good morning, how are you?", "thanks a lot", "what can you do?", "who are you?"],
)
def test_talk_is_answered_without_a_step(capabilities: list[dict[str, Any]], request_: str) -> None:
    assert reply_to(request_)
    assert [step["capability"] for step in compose(request_, capabilities)["steps"]] == ["respond"]


@pytest.mark.parametrize("request_", ["hello, list the open tickets", "thank Mara for the mail", "help Mara"])
def test_a_request_is_no_talk(request_: str) -> None:
    assert reply_to(request_) is None


@pytest.mark.parametrize("text", [text for texts in EXAMPLES.values() for text in texts])
def test_every_suggestion_can_be_planned(capabilities: list[dict[str, Any]], text: str) -> None:
    assert len(compose(text, capabilities)["steps"]) > 1


def test_suggestions_are_about_what_was_spoken_of_and_only_what_is_there(
    capabilities: list[dict[str, Any]],
) -> None:
    names = [capability["name"] for capability in capabilities]
    answer = compose("translate my mail to French", capabilities)
    assert len(answer["instead"]) == 3
    assert all("mail" in text for text in answer["instead"])
    assert suggestions("translate my mail", [name for name in names if name.startswith("tickets.")]) == (
        "list the open tickets",
    )


@pytest.mark.parametrize(
    ("request_", "works"),
    [
        ("I am back from holiday. What is in my calendar today?", True),
        ("It was a long week. list the open tickets", True),
        ("hello! show closed tickets, thanks", True),
        ("I need only the unread ones. show my mail", False),
        ("My printer is broken. Pay it", False),
    ],
)
def test_a_remark_beside_a_request_is_no_part_of_it(
    capabilities: list[dict[str, Any]], request_: str, works: bool
) -> None:
    assert ("steps" in compose(request_, capabilities)) is works
