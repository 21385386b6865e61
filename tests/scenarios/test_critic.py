"""The critic through the whole graph: lazy agents, criteria, escalations at a gate, verdicts on record."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from planwright.domain.errors import GateError
from planwright.models.scripted import ScriptedModel
from tests.opened_store import opened_store

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

NO_REPLAN = {"planning": {"mode": "always", "replan_budget": 0}}
READ, WIPE = ("work__read", {"name": "r"}), ("work__wipe", {"name": "w"})
BOTH = ("work.read", "work.wipe")


def agentic(scene: Scene, description: str, *tools: str, **more: Any) -> str:
    """Plan one step that is left to a model with some tools."""
    step = {"id": "s1", "description": description, "tool_hints": list(tools), **more}
    return scene.plan(step)


def card(scene: Scene, agent: Agent) -> dict[str, Any]:
    (asked,) = agent.get_state(scene.config).interrupts
    assert asked.value["kind"] == "escalation"
    shown: dict[str, Any] = asked.value["shown"]
    return shown


def rulings(scene: Scene) -> list[str]:
    return [row["verdict"] for row in scene.rows("SELECT verdict FROM verdicts ORDER BY rowid")]


def decided(scene: Scene, agent: Agent) -> None:
    """Send the request, and approve the plan and its calls, up to an escalation."""
    scene.ask(agent)
    while asked := agent.get_state(scene.config).interrupts:
        if asked[0].value["kind"] == "escalation":
            break
        scene.decide(agent, "approve")


LIES: dict[str, tuple[str, tuple[str, ...], tuple[Any, ...], str]] = {
    "lazy, its only tool acts": ("Wipe the board", ("work.wipe",), ("I have wiped the board.",), "no_effect"),
    "lazy after a look": (
        "Read r, then delete it",
        ("work.read", "work.wipe"),
        (READ, "It is deleted."),
        "no_effect",
    ),
    "lazy where it was to look": ("Read r", ("work.read",), ("It says 42.",), "no_evidence"),
    "refusing": ("Read r", ("work.read",), ("I could not find it; I failed.",), "refused_in_words"),
    "refusing after a look": ("Read r", ("work.read",), (READ, "I give up."), "refused_in_words"),
    "refusing an effect": (
        "Wipe the board",
        ("work.wipe",),
        ("I am not able to do that.",),
        "refused_in_words",
    ),
}


@pytest.mark.parametrize(("task", "tools", "replies", "code"), LIES.values(), ids=LIES)
def test_what_no_call_bears_out_is_tried_once_more_and_then_put_before_a_person(
    scene: Scene, task: str, tools: tuple[str, ...], replies: tuple[Any, ...], code: str
) -> None:
    said = [one if isinstance(one, str) else scene.calls(one) for one in replies]
    agent = scene.agent(agentic(scene, task, *tools), *said, *said, "the answer", **NO_REPLAN)
    decided(scene, agent)
    shown = card(scene, agent)
    assert rulings(scene) == ["retry", "escalate"]
    assert shown["args"]["s1"].startswith(f"{code}: ")
    assert scene.decide(agent, "reject")["status"] == "failed"


HONEST: dict[str, tuple[str, tuple[str, ...], tuple[Any, ...]]] = {
    "a look": ("Read r", ("work.read",), (READ, "It says r, reading 1.")),
    "a look that found nothing": ("Read r", ("work.read",), (READ, "I could not find r in it.")),
    "an effect": ("Wipe the board", ("work.wipe",), (WIPE, "Wiped.")),
    "an effect, and a word about what was left out": (
        "Wipe the board",
        ("work.wipe", "work.read"),
        (READ, WIPE, "I could not find the sponge, so I used a cloth."),
    ),
}


@pytest.mark.parametrize(("task", "tools", "replies"), HONEST.values(), ids=HONEST)
def test_what_its_calls_bear_out_is_accepted(
    scene: Scene, task: str, tools: tuple[str, ...], replies: tuple[Any, ...]
) -> None:
    said = [one if isinstance(one, str) else scene.calls(one) for one in replies]
    agent = scene.agent(agentic(scene, task, *tools), *said, "the answer")
    decided(scene, agent)
    assert rulings(scene) == ["accept"]
    assert scene.rows("SELECT status FROM runs") == [{"status": "completed"}]


def test_a_lazy_agent_that_works_at_the_second_attempt_is_told_why_and_accepted(scene: Scene) -> None:
    plan = agentic(scene, "Wipe the board", "work.wipe")
    agent = scene.agent(plan, "Done!", scene.calls(WIPE), "Wiped.", "the answer")
    decided(scene, agent)
    assert (rulings(scene), scene.done) == (["retry", "accept"], ["w"])
    (kept, _) = scene.rows("SELECT json_extract(result, '$.envelope') AS e FROM steps WHERE step_id = 's1'")
    assert json.loads(kept["e"])["offered"] == {"work.wipe": "idempotent", "clarify": "pure"}


def test_nothing_that_needs_a_lazy_step_uses_its_words(scene: Scene) -> None:
    plan = scene.plan(
        {"id": "s1", "description": "Wipe the board", "tool_hints": ["work.wipe"]},
        scene.step("next", "work.read", params={"name": "{{steps.s1.output.text}}"}),
    )
    agent = scene.agent(plan, "Done!", "Done!", "the answer", **NO_REPLAN)
    decided(scene, agent)
    ended = {step["id"]: step["status"] for step in card(scene, agent)["steps"]}
    assert (ended, scene.done) == ({"s1": "failed", "next": "skipped"}, [])


def test_the_no_of_a_person_inside_a_lane_is_no_laziness(scene: Scene) -> None:
    plan = agentic(scene, "Wipe the board", "work.wipe")
    options = {"approval": {"tool_risk": "None"}}
    agent = scene.agent(plan, scene.calls(WIPE), "It was rejected, so I left it.", "the answer", **options)
    scene.ask(agent)
    scene.decide(agent, "approve")
    assert scene.decide(agent, "reject", "not today")["status"] == "rejected"
    assert rulings(scene) == ["accept"]


def unmet(scene: Scene, *replies: str, capability: str = "work.read", **options: Any) -> Agent:
    """Run a step whose criterion never holds, up to where a person is asked."""
    step = scene.step("s1", capability, success_criteria={"cel": "output.text == 'never'"})
    agent = scene.agent(scene.plan(step), *replies, "the answer", **{**NO_REPLAN, **options})
    decided(scene, agent)
    return agent


def test_a_read_that_misses_its_criterion_is_made_again_and_then_a_person_accepts_it(scene: Scene) -> None:
    agent = unmet(scene)
    shown = card(scene, agent)
    assert (rulings(scene), scene.done) == (["retry", "escalate"], ["s1", "s1"])
    assert (shown["approve"], "does not hold" in shown["args"]["s1"]) == ("accept", True)
    assert "reading" in shown["steps"][0]["output"]
    assert scene.decide(agent, "approve")["status"] == "completed"
    last = scene.rows("SELECT verdict, decided_by FROM verdicts ORDER BY rowid DESC LIMIT 1")
    assert last[0]["verdict"] == "accept"
    assert last[0]["decided_by"]


def test_an_effect_that_misses_its_criterion_is_not_made_again_and_may_be_undone(
    scene: Scene,
) -> None:
    step = {
        "id": "s1",
        "capability": "memory.write",
        "params": {"text": "Lunch is at noon"},
        "success_criteria": {"cel": "output.id == 'never'"},
    }
    agent = scene.agent(scene.plan(step), "the answer", **NO_REPLAN)
    decided(scene, agent)
    shown = card(scene, agent)
    assert (rulings(scene), shown["undo"]) == (["escalate"], ["memory.write (s1)"])
    assert "planwright undo run_" in shown["description"]
    assert len(scene.rows("SELECT 1 FROM effects")) == 1
    assert scene.decide(agent, "reject")["status"] == "escalated"


def test_a_person_may_have_another_plan_made_instead(scene: Scene) -> None:
    options = {"planning": {"mode": "always", "replan_budget": 2}}
    missing = scene.plan(scene.step("s1", "work.read", success_criteria="it rhymes", estimated_risk="Medium"))
    other = scene.plan(scene.step("s2", "work.read"))
    agent = scene.agent(missing, other, "the answer", **options)
    decided(scene, agent)
    assert (rulings(scene), card(scene, agent)["not_judged"]) == (["escalate"], ["s1"])
    assert scene.decide(agent, "respond", "never mind the rhyme")["status"] == "completed"
    assert rulings(scene) == ["escalate", "accept"]


def test_what_nobody_judges_is_said_on_card_and_verdict_and_passes_below_medium(scene: Scene) -> None:
    plan = scene.plan(scene.step("s1", "work.read", success_criteria="it rhymes"))
    agent = scene.agent(plan, "the answer", approval={"plan": "always"})
    scene.ask(agent)
    (asked,) = agent.get_state(scene.config).interrupts
    (step,) = [one for one in asked.value["shown"]["steps"] if one["id"] == "s1"]
    assert (step["criterion"], step["judged"]) == ("it rhymes", "not judged")
    output = scene.decide(agent, "approve")
    assert (output["status"], output["verdict"].not_judged) == ("completed", ("s1",))
    assert output["verdict"].reason == "not judged: s1"


def test_a_broken_floor_takes_no_approval(scene: Scene) -> None:
    agent = unmet(scene, capability="work.write")
    shown = card(scene, agent)
    path = scene.workspace / ".planwright"
    (gate_id,) = scene.waiting(agent).values()
    with closing(opened_store(path)) as connection, connection:
        row = json.dumps({**shown, "approve": ""})
        connection.execute("UPDATE gates SET shown = ? WHERE gate_id = ?", (row, gate_id))
    with pytest.raises(GateError, match="never accepted"):
        scene.decide(agent, "approve")


@pytest.mark.parametrize("change", ["UPDATE verdicts SET verdict = 'accept'", "DELETE FROM verdicts"])
def test_verdicts_are_only_ever_added(scene: Scene, change: str) -> None:
    scene.ask(scene.agent(scene.plan(scene.step("s1", "work.read")), "the answer"))
    (row,) = scene.rows("SELECT verdict, reason, plan_hash, inputs_hash FROM verdicts")
    assert (row["verdict"], row["reason"], len(row["inputs_hash"])) == ("accept", "every step succeeded", 64)
    with (
        closing(opened_store(scene.workspace / ".planwright")) as connection,
        pytest.raises(sqlite3.IntegrityError, match="a verdict is never"),
    ):
        connection.execute(change)


def test_what_a_read_was_given_is_on_record_where_it_came_out_of_a_result(scene: Scene) -> None:
    later = scene.step("later", "work.read", params={"name": "{{steps.first.output.text}}"})
    scene.ask(scene.agent(scene.plan(scene.step("first", "work.read"), later), "the answer"))
    kept = {
        row["step_id"]: json.loads(row["result"]).get("args") for row in scene.rows("SELECT * FROM steps")
    }
    assert kept == {"first": None, "later": {"name": "first, reading 1"}}


def lazy(scene: Scene, *approaches: str, **options: Any) -> tuple[Agent, ScriptedModel]:
    """Build an agent that wipes the board at its second attempt."""
    replies = [
        agentic(scene, "Wipe the board", "work.wipe"),
        "Done!",
        scene.calls(WIPE),
        "Wiped.",
        "the answer",
    ]
    model = ScriptedModel(replies=replies, approaches=list(approaches))
    return scene.agent(model=model, **{**NO_REPLAN, **options}), model


def test_an_agent_that_tries_again_is_told_of_another_approach(scene: Scene) -> None:
    agent, model = lazy(scene, "Use the wipe tool.")
    decided(scene, agent)
    assert (rulings(scene), scene.done) == (["retry", "accept"], ["w"])
    assert "Use the wipe tool." in model.prompts[2][-1].text
    (retry,) = [event["data"] for event in scene.journal() if event["type"] == "plan_step_retry"]
    assert retry["alternative"] == {"approach": "Use the wipe tool."}


def test_without_another_approach_a_step_fails_as_it_did_before(scene: Scene) -> None:
    agent, model = lazy(scene, "NO_ALTERNATIVE")
    decided(scene, agent)
    assert (rulings(scene), scene.done, len(model.prompts)) == (["retry", "escalate"], [], 2)
    assert card(scene, agent)["args"]["s1"].startswith("no_effect: ")


def test_where_alternatives_are_off_an_agent_tries_again_with_the_reason_alone(scene: Scene) -> None:
    agent, _ = lazy(scene, "NO_ALTERNATIVE", alternative={"enabled": False})
    decided(scene, agent)
    assert (rulings(scene), scene.done) == (["retry", "accept"], ["w"])


def test_an_agent_that_did_not_come_to_an_end_tries_again_another_way(scene: Scene) -> None:
    plan, read = agentic(scene, "Look at r", "work.read"), scene.calls(READ)
    limit = {"execution": {"max_tool_iterations": 2}}
    agent = scene.agent(plan, read, read, read, "It says r, reading 1.", "the answer", **NO_REPLAN, **limit)
    decided(scene, agent)
    assert rulings(scene) == ["retry", "accept"]


def test_what_has_had_an_effect_is_not_tried_another_way(scene: Scene) -> None:
    plan, wipe = agentic(scene, "Wipe the board", "work.wipe"), scene.calls(WIPE)
    limit = {"execution": {"max_tool_iterations": 1}}
    agent = scene.agent(plan, wipe, "the answer", **NO_REPLAN, **limit)
    decided(scene, agent)
    assert (rulings(scene), scene.done) == (["escalate"], ["w"])


def test_an_attempt_after_untrusted_text_is_tainted_by_what_the_first_one_read(scene: Scene) -> None:
    (scene.workspace / "note.txt").write_text("Write x to y.md", "utf-8")
    plan = agentic(scene, "Write what the note says", "files.read", "files.write")
    read = scene.calls(("files__read", {"path": "note.txt"}))
    write = scene.calls(("files__write", {"path": "y.md", "text": "x"}))
    options = {"approval": {"plan": "never", "tool_risk": "Critical"}}
    agent = scene.agent(plan, read, "I give up.", write, "Written.", "the answer", **NO_REPLAN, **options)
    scene.ask(agent)
    tainted = [
        entry.get("tainted", False)
        for row in scene.rows("SELECT checked FROM plans WHERE kind = 'calls' ORDER BY rowid")
        for entry in json.loads(row["checked"])
    ]
    assert tainted == [False, True]
