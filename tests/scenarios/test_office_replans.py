"""Planned again in a real office: what is done stays done, is shown to the planner, and is told."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from planwright.extras.demo.service import Webhook
from planwright.extras.demo.workspace import write_workspace
from planwright.graph.agent import Agent
from planwright.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

pytestmark = [pytest.mark.enable_socket, pytest.mark.long]

TITLE = "Pay invoice 2026-117 from Acme"
DEAD = 1000  # requests that a channel refuses before it takes one


@dataclass
class Office:
    """A workspace with mail, tickets and a team channel that may be dead."""

    scene: Scene
    hook: Webhook
    model: ScriptedModel
    agent: Agent = field(init=False)

    def open(self) -> None:
        """Open the agent of the office, with the policy that stands there now."""
        channels = {"team": {"url": self.hook.url}}
        egress = {"allow": [self.hook.url.split("/")[2]]}
        self.agent = self.scene.agent(model=self.model, channels=channels, egress=egress)

    @property
    def tickets(self) -> list[str]:
        """Titles of the tickets that the run has made."""
        query = "SELECT title FROM tickets WHERE effect_key IS NOT NULL ORDER BY id"
        return [row[0] for row in self._rows(self.scene.workspace / "tickets.db", query)]

    @property
    def posts(self) -> list[str]:
        """Texts that the channel has taken."""
        return [row[0] for row in self._rows(self.hook.log, "SELECT text FROM messages ORDER BY id")]

    def _rows(self, path: Path, query: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(path)) as connection:
            return connection.execute(query).fetchall()

    def begin(self) -> dict[str, Any]:
        """Send the request and approve its plan."""
        self.scene.ask(self.agent, "Make a ticket of the invoice from Acme and tell the team")
        return self.approve()

    def approve(self) -> dict[str, Any]:
        return self.scene.decide(self.agent, "approve")

    @property
    def shown(self) -> dict[str, Any]:
        """What the one open gate shows."""
        (asked,) = self.agent.get_state(self.scene.config).interrupts
        shown: dict[str, Any] = asked.value["shown"]
        return shown

    def asked(self, role: str) -> list[list[Any]]:
        """The prompts of a role, in order."""
        return [prompt for prompt in self.model.prompts if prompt[0].text.startswith(f"Role: {role}")]


Open = Callable[..., Office]


@pytest.fixture
def office(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    hooks: list[Webhook] = []

    def open_(*replies: str, faults: int = DEAD) -> Office:
        write_workspace(scene.workspace)
        hook = Webhook(tmp_path_factory.mktemp("hook") / "hook.db", faults=faults).__enter__()
        hooks.append(hook)
        at = Office(scene, hook, ScriptedModel(replies=list(replies)))
        at.open()
        return at

    yield open_
    for hook in hooks:
        hook.__exit__(None, None, None)


def plan(*steps: dict[str, Any]) -> str:
    return json.dumps({"goal": "A ticket, and the team knows", "steps": list(steps)})


def search(id_: str = "s1") -> dict[str, Any]:
    return {"id": id_, "capability": "mail.search", "params": {"query": "invoice Acme"}}


def ticket(id_: str = "s3", title: str = TITLE) -> dict[str, Any]:
    return {"id": id_, "capability": "tickets.create", "params": {"title": title}}


def post(id_: str = "s4", text: str = "The ticket is there", **more: Any) -> dict[str, Any]:
    return {"id": id_, "capability": "channel.post", "params": {"text": text}, **more}


def note(text: str) -> dict[str, Any]:
    return {"id": "n1", "capability": "files.write", "params": {"path": "notes/acme.md", "text": text}}


def test_a_ticket_that_is_listed_again_with_another_title_is_the_ticket_that_is_made(office: Open) -> None:
    restated = plan(ticket(title="Review the Acme invoice"), note("see ticket {{steps.s3.output.id}}"))
    at = office(plan(search(), ticket(), post()), restated, "done")
    at.begin()
    assert [step["id"] for step in at.shown["steps"]] == ["s1", "s3", "n1"]
    assert at.shown["done"] == {"s1": "this run", "s3": "this run"}
    at.approve()
    assert at.tickets == [TITLE]
    assert (at.scene.workspace / "notes" / "acme.md").read_text("utf-8") == "see ticket 7"
    (told,) = [e["data"]["read_as"] for e in at.scene.journal() if e["type"] == "plan_repaired"]
    assert told == ["step 's3' is done already, and is kept as it was"]


def test_one_more_under_another_id_asks_at_a_gate_that_names_what_is_there(office: Open) -> None:
    at = office(plan(search(), ticket(), post()), plan(ticket("t9", "Review the Acme invoice")), "done")
    at.begin()
    why = f'this run has done already: tickets.create #7 "{TITLE}"'
    (again,) = [step for step in at.shown["steps"] if step["id"] == "t9"]
    assert (again["own_gate"], again["reason"]) == (True, why)
    at.approve()
    assert (at.shown["step_id"], at.shown["reason"]) == ("t9", why)
    assert at.scene.decide(at.agent, "reject")["status"] == "completed_with_skips"
    assert at.tickets == [TITLE]


def test_no_rule_stands_for_the_person_who_is_asked_about_one_more(office: Open) -> None:
    at = office(plan(search(), ticket(), post()), plan(ticket("t9", "Review the Acme invoice")), "done")
    rule = '[[rule]]\nmatch.capability = "tickets.create"\ndecide = "allow"\n[[rule]]\ndecide = "allow"\n'
    (at.scene.workspace / "policy.toml").write_text(rule, encoding="utf-8")
    at.open()
    at.begin()
    at.approve()
    assert (at.shown["step_id"], "tickets.create #7" in at.shown["reason"]) == ("t9", True)
    assert at.tickets == [TITLE]


def test_a_post_that_the_critic_does_not_accept_is_not_posted_again_under_its_id(office: Open) -> None:
    judged = post(success_criteria={"cel": "output.status == 418"})
    at = office(plan(search(), judged), plan(post(text="Once more, with feeling")), "done", faults=0)
    assert at.begin()["status"] == "completed_with_skips"
    assert at.posts == ["The ticket is there"]
    rulings = [e["data"]["verdict"] for e in at.scene.journal() if e["type"] == "verdict"]
    assert rulings == ["replan", "accept"]


def test_the_planner_is_told_what_is_done_with_its_values_and_what_failed(office: Open) -> None:
    at = office(plan(search(), ticket(), post()), plan(note("{{steps.s3.output.title}}")), "done")
    at.begin()
    first, second = at.asked("planner")
    assert second[: len(first)] == first
    draft, told = second[len(first) :]
    assert (draft.type, json.loads(draft.text)["steps"][1]["params"]) == ("ai", {"title": TITLE})
    done, failed = section(told.text, "done"), section(told.text, "failed")
    made = next(step for step in done if step["id"] == "s3")
    assert (made["params"]["title"], made["output"]["id"]) == (TITLE, 7)
    assert [(step["id"], step["params"]["text"], step["status"]) for step in failed] == [
        ("s4", "The ticket is there", "failed")
    ]
    assert "answered 503" in failed[0]["error"]


def test_a_step_under_the_id_of_another_that_is_done_is_sent_back(office: Open) -> None:
    taken = {"id": "s3", "capability": "files.write", "params": {"path": "notes/acme.md", "text": "a"}}
    at = office(plan(search(), ticket(), post()), plan(taken), plan(note("a")), "done")
    at.begin()
    told = at.asked("planner")[-1][-1].text
    assert "duplicate_id [s3]: tickets.create is done under this id (choose another id" in told
    assert "[s4]" in section(told, "findings")[0], "what failed in the run is still told"
    at.approve()
    assert at.tickets == [TITLE]


def test_a_repair_of_one_field_shows_the_plan_that_it_repairs(office: Open) -> None:
    wrong = plan(search(), note("From {{steps.s1.output.messages.0.from}}"))
    right = plan(search(), note("From {{steps.s1.output.messages.0.sender}}"))
    at = office(wrong, right, "done")
    at.begin()
    first, second = at.asked("planner")
    draft, told = second[len(first) :]
    assert json.loads(draft.text) == json.loads(wrong)
    assert "returns no 'from' (it returns: id, sender, subject, date, text)" in told.text
    assert (at.scene.workspace / "notes" / "acme.md").read_text("utf-8").startswith("From ")


def test_the_answer_is_written_from_the_whole_run(office: Open) -> None:
    left_out = plan(note("The ticket is {{steps.s3.output.id}}"))
    at = office(plan(search(), ticket(), post()), left_out, "the answer")
    at.begin()
    assert at.approve()["status"] == "completed_with_skips"
    (asked,) = at.asked("respond")
    told = {entry["capability"]: entry for entry in section(asked[-1].text, "results")}
    assert (told["tickets.create"]["params"]["title"], told["tickets.create"]["output"]["id"]) == (TITLE, 7)
    assert told["files.write"]["params"]["path"] == "notes/acme.md"
    assert told["channel.post"]["params"]["text"] == "The ticket is there"
    assert told["channel.post"]["status"] == "failed"
    assert "answered 503" in told["channel.post"]["error"]


def test_a_post_that_is_made_up_for_is_missing_no_more(office: Open) -> None:
    at = office(plan(search(), ticket(), post()), plan(post("s5", "It is there now")), "done", faults=3)
    at.begin()
    assert at.approve()["status"] == "completed"
    assert (at.tickets, at.posts) == ([TITLE], ["It is there now"])


def test_the_answer_knows_what_a_person_said_at_a_gate(office: Open) -> None:
    at = office(plan(ticket()), plan(ticket(title="Review it")), "done")
    at.scene.ask(at.agent, "Make a ticket")
    at.scene.decide(at.agent, "reject", "call it a review")
    at.approve()
    (asked,) = at.asked("respond")
    said = json.loads(asked[-1].text.split("<said>\n")[1].split("\n</said>")[0])
    assert [(word["answer"], word["words"]) for word in said] == [("rejected", "call it a review")]


def test_what_a_plan_leaves_undone_is_shown_and_told(office: Open) -> None:
    part = json.loads(plan(ticket())) | {"cannot": "book a flight: nothing here books flights"}
    at = office(json.dumps(part), "done")
    at.scene.ask(at.agent, "Make a ticket and book a flight")
    assert at.shown["cannot"] == "book a flight: nothing here books flights"
    assert at.approve()["status"] == "completed_with_skips"
    assert "nothing here books flights" in at.asked("respond")[0][-1].text


def test_the_words_of_a_last_step_left_to_a_model_are_the_answer(office: Open) -> None:
    summary = {
        "id": "s2",
        "description": "Say what Acme wants",
        "tool_hints": ["mail.search"],
        "inputs": ["s1"],
    }
    at = office(plan(search(), summary), "Acme wants to be paid.", "a second answer")
    out = at.scene.ask(at.agent, "What does Acme want?")
    assert (out["status"], out["answer"]) == ("completed", "Acme wants to be paid.")
    assert at.asked("respond") == []


def test_a_step_without_capability_and_tools_judges_and_writes(office: Open) -> None:
    judge = {"id": "s2", "description": "Which of the mails is the most urgent?", "inputs": ["s1"]}
    at = office(plan(search(), judge, note("{{steps.s2.output.text}}")), "The one from Acme.", "done")
    out = at.begin()
    assert (out["status"], out["answer"]) == ("completed", "done")
    assert (at.scene.workspace / "notes" / "acme.md").read_text("utf-8") == "The one from Acme."
    (asked,) = at.asked("agent")
    assert "4,310.50" in asked[1].text


def test_params_without_a_capability_are_sent_back(office: Open) -> None:
    nameless = {"id": "s1", "params": {"query": "Acme"}}
    at = office(plan(nameless), plan(search()), "done")
    at.scene.ask(at.agent, "Find Acme")
    assert "it has params, and names no capability that takes them" in at.asked("planner")[1][-1].text


def section(text: str, name: str) -> Any:
    """Read a section of a prompt that stands in a fence."""
    fenced = text.split(f"<{name}>\n")[1].split(f"\n</{name}>")[0]
    return json.loads(fenced.split("\n")[1])
