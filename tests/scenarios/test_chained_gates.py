"""Three destructive steps in a row: each gate takes its own answer and never another's.

LangGraph keeps a scalar resume value until its superstep ends, and all three gates lie in one
superstep; so a second answer, a recovery or a new process must not find the first one's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

APPROVE = {"decisions": [{"type": "approve"}]}
DEPTH = {"approval": {"depth": "plan"}}
REJECT = {"decisions": [{"type": "reject", "message": "not this one"}]}


def chain(scene: Scene, middle: str = "work.destroy") -> str:
    """Write the plan: a, then b, then c."""
    return scene.plan(
        scene.step("a", "work.destroy"), scene.step("b", middle, "a"), scene.step("c", "work.destroy", "b")
    )


def approved(scene: Scene, middle: str = "work.destroy") -> Agent:
    """Begin the run and approve its plan; now the gate of `a` is open."""
    agent = scene.agent(chain(scene, middle), "the answer")
    scene.ask(agent)
    scene.decide(agent, "approve")
    return agent


def test_approving_the_plan_opens_only_the_first_gate(scene: Scene) -> None:
    agent = approved(scene)
    assert (list(scene.waiting(agent)), scene.done) == (["a"], [])


def test_each_gate_waits_for_its_own_answer(scene: Scene) -> None:
    agent = approved(scene)
    seen = []
    for _ in range(3):
        output = scene.decide(agent, "approve")
        seen.append((scene.done, list(scene.waiting(agent))))
    assert seen == [(["a"], ["b"]), (["a", "b"], ["c"]), (["a", "b", "c"], [])]
    assert (output["status"], output["answer"]) == ("completed", "the answer")


def test_a_recovery_between_answers_carries_out_nothing_more(scene: Scene) -> None:
    agent = approved(scene)
    seen = []
    for _ in range(2):
        scene.recover(agent)
        scene.decide(agent, "approve")
        scene.recover(agent)
        scene.recover(agent)
        seen.append((scene.done, list(scene.waiting(agent))))
    assert seen == [(["a"], ["b"]), (["a", "b"], ["c"])]


def test_a_rejection_after_an_approval_stays_a_rejection(scene: Scene) -> None:
    agent = approved(scene)
    scene.decide(agent, "approve")
    scene.recover(agent)
    output = scene.decide(agent, "reject", "not this one")
    assert scene.done == ["a"]
    assert output["status"] == "completed_with_skips"


def test_the_last_gate_rejected_leaves_the_first_two_done(scene: Scene) -> None:
    agent = approved(scene)
    scene.decide(agent, "approve")
    scene.decide(agent, "approve")
    scene.recover(agent)
    output = scene.decide(agent, "reject")
    assert scene.done == ["a", "b"]
    assert scene.recover(agent)["answer"] == output["answer"]
    assert output["answer"] == "work.destroy: rejected by python: no reason given\nthe answer"
    assert scene.done == ["a", "b"]


def test_answered_in_three_processes(scene: Scene) -> None:
    replies = [chain(scene), "the answer"]
    scene.child(scene.entry(message="Do it"), scene.entry(resume=APPROVE), replies=replies, settings=DEPTH)
    assert scene.done == []
    scene.child(scene.entry(), scene.entry(resume=APPROVE), scene.entry(), replies=["never asked"])
    assert scene.done == ["a"]
    last = scene.child(
        scene.entry(),
        scene.entry(resume=APPROVE),
        scene.entry(),
        scene.entry(resume=REJECT),
        scene.entry(),
        replies=["the answer"],
    )
    assert scene.done == ["a", "b"]
    assert last["outputs"][-1]["status"] == "completed_with_skips"


def test_processes_killed_right_after_their_answers(scene: Scene) -> None:
    agent = approved(scene)
    scene.child(scene.entry(resume=APPROVE), replies=["never asked"], die=True)
    scene.recover(agent)
    assert (scene.done, list(scene.waiting(agent))) == (["a"], ["b"])
    scene.child(scene.entry(resume=APPROVE), replies=["never asked"], die=True)
    scene.recover(agent)
    assert (scene.done, list(scene.waiting(agent))) == (["a", "b"], ["c"])
    scene.decide(agent, "reject")
    assert scene.done == ["a", "b"]


def test_a_process_killed_in_an_approved_idempotent_call_repeats_that_call_only(scene: Scene) -> None:
    agent = approved(scene, "work.wipe")
    scene.decide(agent, "approve")
    (scene.workspace / "die-b").touch()
    scene.child(scene.entry(resume=APPROVE), replies=["never asked"], dies=True)
    assert scene.done == ["a", "began b"]
    scene.recover(agent)
    assert (scene.done, list(scene.waiting(agent))) == (["a", "began b", "b"], ["c"])
    scene.decide(agent, "reject")
    assert scene.done == ["a", "began b", "b"]


def test_a_process_killed_in_an_approved_blind_call_leaves_it_in_doubt(scene: Scene) -> None:
    agent = approved(scene)
    scene.decide(agent, "approve")
    (scene.workspace / "die-b").touch()
    scene.child(scene.entry(resume=APPROVE), replies=["never asked"], dies=True)
    scene.recover(agent)
    assert scene.done == ["a", "began b"]
    (asked,) = agent.get_state(scene.config).interrupts
    assert (asked.value["kind"], asked.value["shown"]["in_doubt"]) == ("escalation", ["b"])
    assert scene.decide(agent, "reject")["status"] == "escalated"
    assert scene.done == ["a", "began b"]


def test_a_process_killed_in_the_first_approved_call_never_opens_the_second_gate(scene: Scene) -> None:
    agent = approved(scene)
    (scene.workspace / "die-a").touch()
    scene.child(scene.entry(resume=APPROVE), replies=["never asked"], dies=True)
    scene.recover(agent)
    assert scene.done == ["began a"]
    assert [gate["kind"] for gate in scene.rows("SELECT kind FROM gates ORDER BY rowid")] == [
        "plan",
        "step",
        "escalation",
    ]
