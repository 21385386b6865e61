"""A mail nobody knows the fate of: a person is asked, and it is not sent again unless they say so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.capabilities.post_office import PostOffice

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

pytestmark = pytest.mark.enable_socket
MAIL = {"to": ["jo@example.com"], "cc": ["kim@example.com"], "bcc": ["lee@example.com"], "text": "Hello"}


@pytest.fixture
def office(scene: Scene) -> Iterator[PostOffice]:
    with PostOffice(scene.workspace) as opened:
        yield opened


def planned(scene: Scene) -> str:
    return scene.plan(scene.step("s1", "mail.send", params=MAIL))


def in_doubt(scene: Scene, office: PostOffice) -> Agent:
    """Have the server take a mail and break off before it says so."""
    office.handler.replies["DATA"] = "take and drop"
    agent = scene.agent(planned(scene), "the answer", **office.settings)
    scene.ask(agent)
    scene.decide(agent, "approve")
    return agent


def asked(scene: Scene, agent: Agent) -> dict[str, Any]:
    (found,) = agent.get_state(scene.config).interrupts
    shown: dict[str, Any] = found.value["shown"]
    return shown


def test_the_card_names_everybody_who_would_get_the_mail(scene: Scene, office: PostOffice) -> None:
    agent = scene.agent(planned(scene), **office.settings)
    scene.ask(agent)
    (step,) = asked(scene, agent)["steps"]
    assert {name: step["params"][name] for name in MAIL} == MAIL
    assert (step["risk"], step["mode"], step["effect"]) == ("High", "network", "blind")
    assert office.handler.offered == 0


def test_a_person_is_asked_and_it_is_not_sent_again(scene: Scene, office: PostOffice) -> None:
    agent = in_doubt(scene, office)
    assert asked(scene, agent)["in_doubt"] == ["s1"]
    office.handler.replies.clear()
    scene.recover(agent)
    assert asked(scene, agent)["in_doubt"] == ["s1"]
    output = scene.decide(agent, "respond", "it arrived")
    assert output["status"] == "completed"
    assert office.handler.offered == 1


def test_it_is_sent_again_only_when_the_person_says_so(scene: Scene, office: PostOffice) -> None:
    agent = in_doubt(scene, office)
    office.handler.replies.clear()
    output = scene.decide(agent, "approve")
    while scene.waiting(agent):
        output = scene.decide(agent, "approve")
    assert output["status"] == "completed"
    assert office.handler.offered == 2


def test_a_process_that_dies_between_intent_and_record_sends_nothing_twice(
    scene: Scene, office: PostOffice
) -> None:
    scene.child(
        scene.entry(message="Do it"),
        scene.entry(resume="approve"),
        replies=[planned(scene)],
        settings=office.settings,
        die_at="intent",
    )
    agent = scene.agent("the answer", **office.settings)
    scene.recover(agent)
    assert asked(scene, agent)["in_doubt"] == ["s1"]
    assert office.handler.offered == 0
