"""How widely an approval holds is chosen where it is asked for, and nothing wider passes."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.errors import GateError
from planwright.graph.agent import Agent

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

HIGH: dict[str, Any] = {
    "mode": "local_write",
    "effect": "idempotent",
    "risk": "High",
    "trusted_result": True,
}


@dataclass
class Office:
    """What is done with it: notes that are written, money that is paid, pages that are called."""

    done: list[str] = field(default_factory=list)

    @property
    def capabilities(self) -> list[Capability]:
        @capability("office.note", destinations=("path",), **HIGH)
        def note(path: str, text: str) -> str:
            """Write a note."""
            self.done.append(f"{path}: {text}")
            return text

        @capability("office.pay", **HIGH)
        def pay(to: str, amount: float) -> str:
            """Pay an amount."""
            self.done.append(f"{to} {amount:g}")
            return to

        @capability("office.call", destinations=("url",), **HIGH)
        def call(url: str, text: str) -> str:
            """Call a page."""
            self.done.append(url)
            return url

        return [note, pay, call]


@pytest.fixture
def office() -> Office:
    return Office()


def ask(scene: Scene, office: Office, *calls: tuple[str, dict[str, Any]], **options: Any) -> Agent:
    """Let a model make each call in a reply of its own, in one run."""
    replies = [scene.calls(each) for each in calls]
    model = {"planning": {"mode": "auto"}, "capabilities": office.capabilities}
    agent = scene.agent(*replies, "done", **model, **options)
    scene.ask(agent, "Do what has to be done in the office")
    return agent


def note(path: str, text: str = "x") -> tuple[str, dict[str, Any]]:
    return "office__note", {"path": path, "text": text}


def pay(to: str, amount: float) -> tuple[str, dict[str, Any]]:
    return "office__pay", {"to": to, "amount": amount}


def page(url: str) -> tuple[str, dict[str, Any]]:
    return "office__call", {"url": url, "text": "x"}


def approve(scene: Scene, agent: Agent, remember: Any) -> None:
    scene.answer(agent, {"type": "approve", "remember": remember})


def asked(scene: Scene, agent: Agent) -> dict[str, Any] | None:
    """Read the arguments that are asked about now; None where nobody is asked."""
    waiting = agent.get_state(scene.config).interrupts
    return waiting[0].value["shown"]["args"] if waiting else None


def test_for_this_conversation_is_as_wide_as_the_card_says_and_no_wider(scene: Scene, office: Office) -> None:
    agent = ask(scene, office, note("a.md", "one"))
    approve(scene, agent, "session")
    assert asked(scene, ask(scene, office, note("a.md", "two"))) is None
    assert asked(scene, ask(scene, office, note("b.md", "three"))) == {"path": "b.md", "text": "three"}
    scene.thread = str(uuid.uuid4())
    assert asked(scene, ask(scene, office, note("a.md", "four"))) == {"path": "a.md", "text": "four"}
    assert office.done == ["a.md: one", "a.md: two"]


def test_always_is_for_these_arguments(scene: Scene, office: Office) -> None:
    agent = ask(scene, office, note("a.md", "one"), note("a.md", "two"))
    approve(scene, agent, "always")
    assert asked(scene, agent) == {"path": "a.md", "text": "two"}


UNDER = {"scope": "always", "args": {"path": {"under": "notes"}, "text": {"any": True}}}


@pytest.mark.parametrize("path", ["notes/b.md", "notes/deep/c.md", "./notes/d.md"])
def test_a_folder_covers_the_paths_in_it(scene: Scene, office: Office, path: str) -> None:
    approve(scene, ask(scene, office, note("notes/a.md")), UNDER)
    scene.thread = str(uuid.uuid4())
    assert asked(scene, ask(scene, office, note(path, "y"))) is None
    assert len(office.done) == 2


@pytest.mark.parametrize(
    "path", ["a.md", "notes", "notes.md", "notes/../a.md", "/notes/a.md", "Notes/a.md", "notes\\..\\a.md"]
)
def test_a_folder_covers_no_other_path(scene: Scene, office: Office, path: str) -> None:
    approve(scene, ask(scene, office, note("notes/a.md")), UNDER)
    assert asked(scene, ask(scene, office, note(path, "y"))) == {"path": path, "text": "y"}


ORIGIN = {"scope": "always", "args": {"url": {"origin": "https://a.example"}}}


@pytest.mark.parametrize("url", ["https://a.example/other?x=1", "https://A.example:443/"])
def test_an_origin_covers_the_pages_of_its_host(scene: Scene, office: Office, url: str) -> None:
    approve(scene, ask(scene, office, page("https://a.example/one")), ORIGIN)
    assert asked(scene, ask(scene, office, page(url))) is None


@pytest.mark.parametrize(
    "url",
    [
        "http://a.example/one",
        "https://a.example.evil/one",
        "https://a.example:8443/one",
        "https://a.example@evil.example/one",
        "https://evil.example\\@a.example/one",
        "https://b.a.example/one",
        "//a.example/one",
        " https://a.example/one",
    ],
)
def test_an_origin_covers_no_other_host(scene: Scene, office: Office, url: str) -> None:
    approve(scene, ask(scene, office, page("https://a.example/one")), ORIGIN)
    assert asked(scene, ask(scene, office, page(url))) == {"url": url, "text": "x"}


def test_a_condition_is_asked_of_each_call_and_its_limit_is_kept(scene: Scene, office: Office) -> None:
    amounts = (10, 100, 101, 20, 30)
    agent = ask(scene, office, *(pay("Kim", amount) for amount in amounts))
    wide = {"scope": "always", "args": {"amount": {"any": True}}, "when": "amount <= 100", "most": 2}
    approve(scene, agent, wide)
    assert asked(scene, agent) == {"to": "Kim", "amount": 101}
    approve(scene, agent, None)
    assert asked(scene, agent) == {"to": "Kim", "amount": 30}
    assert office.done == ["Kim 10", "Kim 100", "Kim 101", "Kim 20"]
    assert [row["calls"] for row in scene.rows("SELECT calls FROM rule_uses")] == [2]


def test_a_limit_holds_for_calls_of_one_card_together(scene: Scene, office: Office) -> None:
    wide = {"scope": "session", "args": {"amount": {"any": True}}, "most": 2}
    approve(scene, ask(scene, office, pay("Kim", 1)), wide)
    reply = scene.calls(pay("Kim", 2), pay("Kim", 3), pay("Kim", 4))
    agent = scene.agent(reply, "done", planning={"mode": "auto"}, capabilities=office.capabilities)
    scene.ask(agent, "Do what has to be done in the office")
    assert asked(scene, agent) is not None
    assert office.done == ["Kim 1"]
    assert scene.rows("SELECT * FROM rule_uses") == []


def test_of_a_tool_without_destinations_a_person_chooses_what_may_differ(
    scene: Scene, office: Office
) -> None:
    agent = ask(scene, office, pay("Kim", 1), pay("Kim", 2), pay("Lee", 3))
    approve(scene, agent, {"scope": "run", "args": {"amount": {"any": True}}})
    assert asked(scene, agent) == {"to": "Lee", "amount": 3}


@pytest.mark.parametrize(
    ("call", "remember", "why"),
    [
        (note("notes/a.md"), {"args": {"path": {"any": True}}}, "wider than the card"),
        (note("notes/a.md"), {"args": {"path": {"glob": "notes/*"}}}, "wider than the card"),
        (note("notes/a.md"), {"args": {"path": {"under": "letters"}}}, "does not hold for this call"),
        (note("notes/a.md"), {"args": {"path": {"equals": "b.md"}}}, "does not hold for this call"),
        (note("notes/a.md"), {"args": {"path": {"under": "."}}}, "under names a folder"),
        (note("notes/a.md"), {"args": {"path": {"under": "notes/.."}}}, "under names a folder"),
        (page("https://a.example/"), {"args": {"url": {"origin": "a.example"}}}, "origin is http"),
        (page("https://a.example/"), {"args": {"url": {"origin": "https://b.example"}}}, "does not hold"),
        (pay("Kim", 200), {"when": "amount <= 100"}, "not true of this call"),
        (pay("Kim", 1), {"when": "sum <= 100"}, "no `sum`"),
        (pay("Kim", 1), {"when": "amount <="}, "when"),
        (pay("Kim", 1), {"when": "amount"}, "not true of this call"),
        (pay("Kim", 1), {"most": 0}, "most"),
    ],
)
def test_what_is_wider_or_makes_no_sense_is_refused(
    scene: Scene, office: Office, call: tuple[str, dict[str, Any]], remember: dict[str, Any], why: str
) -> None:
    agent = ask(scene, office, call)
    with pytest.raises(GateError, match=why):
        approve(scene, agent, {"scope": "always", **remember})
    assert (office.done, asked(scene, agent)) == ([], call[1])


def test_a_condition_that_cannot_be_evaluated_covers_nothing(scene: Scene, office: Office) -> None:
    agent = ask(scene, office, pay("Kim", 4), pay("Kim", 0))
    wide = {
        "scope": "always",
        "args": {"amount": {"any": True}},
        "when": "int(8.0 / amount) / int(amount) >= 0",
    }
    approve(scene, agent, wide)
    assert asked(scene, agent) == {"to": "Kim", "amount": 0}


def test_a_condition_on_a_conversation_leaves_the_rest_as_free_as_the_card_says(
    scene: Scene, office: Office
) -> None:
    approve(
        scene, ask(scene, office, note("a.md", "one")), {"scope": "session", "when": "path.endsWith('.md')"}
    )
    assert asked(scene, ask(scene, office, note("a.md", "two"))) is None
    assert asked(scene, ask(scene, office, note("b.md", "three"))) == {"path": "b.md", "text": "three"}
