"""The first line of a plan's card: what will happen outside, how often, and where that goes."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.approvals.cards import Card
from planwright.approvals.outside import with_outside
from planwright.capabilities.builtin.channel import post
from planwright.capabilities.builtin.files import read, write
from planwright.capabilities.builtin.http import request
from planwright.capabilities.builtin.mail.smtp import send
from planwright.capabilities.builtin.tickets import create
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.declaration import capability
from planwright.capabilities.registry import Registry
from planwright.domain.plan import PlanStep
from planwright.domain.verified_step import VerifiedStep
from planwright.presentation.plan_gates import outside_text
from planwright.settings.settings import load
from tests.planning.plan_world import world


@capability("board.pin", mode="local_write", destinations=("place",))
def pin(place: str) -> str:
    """Pin a note to a board."""
    return place


REGISTRY = Registry([create, post, send, write, read, request, pin])


@pytest.fixture
def context(tmp_path: Any) -> CallContext:
    """Make a context in which there is a channel."""
    from dataclasses import replace

    settings = load(tmp_path, channels={"team": {"url": "https://hooks.example/in"}})
    return replace(world(), settings=settings)


def line(context: CallContext, *calls: tuple[str, dict[str, Any]], **more: Any) -> str:
    """Sum up a plan of some calls."""
    steps: list[dict[str, Any]] = []
    checked: list[VerifiedStep] = []
    for number, (name, params) in enumerate(calls, 1):
        called = REGISTRY.get(name)
        effect = called.effect if called else "blind"
        if name == "files.read":
            effect = "pure"
        steps.append({"id": f"s{number}", "capability": name, "params": params, "effect": effect})
        fields: dict[str, Any] = {"uid": f"u{number}", "needs": (), "mode": "network", "risk": "High"}
        step = PlanStep(id=f"s{number}", capability=name, params={})
        checked.append(VerifiedStep(step=step, effect=effect, gated=False, **fields))
    card: Card = {"steps": [*steps]}
    return outside_text(with_outside(card, checked, REGISTRY, context))


def test_calls_are_counted_and_go_somewhere(context: CallContext) -> None:
    told = line(context, ("tickets.create", {"title": "Pump"}), ("channel.post", {"text": "Hello"}))
    assert told == "creates 1 ticket, posts 1 message to team (hooks.example)"


def test_places_are_named_once_and_what_is_not_known_in_words(context: CallContext) -> None:
    mails = [
        ("mail.send", {"to": ["ann@example.com"], "cc": ["{{steps.s1.output.sender}}"], "text": "x"})
    ] * 2
    assert line(context, *mails) == "sends 2 mails to ann@example.com, ‹the sender of step 1›"


def test_a_place_cannot_pass_for_another_deed(context: CallContext) -> None:
    told = line(context, ("files.write", {"path": "a.md, posts 0 messages", "text": ""}))
    assert told == 'writes 1 file "a.md, posts 0 messages"'


def test_many_places_are_counted(context: CallContext) -> None:
    files = [("files.write", {"path": f"{n}.md", "text": ""}) for n in range(9)]
    assert line(context, *files) == "writes 9 files 0.md, 1.md, 2.md, 3.md, 4.md, 4 more"


def test_a_capability_without_a_deed_is_in_its_own_words(context: CallContext) -> None:
    told = line(context, ("board.pin", {"place": "hall"}), ("board.pin", {"place": "yard"}))
    assert told == "board.pin (2 times): hall, yard"


def test_a_request_goes_to_its_url(context: CallContext) -> None:
    url = "https://shop.example.com/orders"
    told = line(context, ("http.request", {"url": url, "method": "POST"}))
    assert told == f'sends 1 request to "{url}"'


def test_a_plan_that_only_reads_does_nothing_outside(context: CallContext) -> None:
    assert line(context, ("files.read", {"path": "a.md"})) == ""
