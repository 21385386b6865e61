"""https://docs.langchain.com/oss/python/langgraph/interrupts"""

from __future__ import annotations

import asyncio
import json

import pytest
from langchain_core.tools import StructuredTool
from langgraph.types import Command, interrupt

from planwright.domain.errors import GateError
from tests.documented.conftest import APPROVE, MESSAGE, Play, differs
from tests.scenarios.conftest import Scene

pytestmark = pytest.mark.long


def test_output_of_an_interrupt(writing: Play) -> None:
    """An interrupted `invoke` returns what there is, and the interrupts under `__interrupt__`."""
    output = writing.ask()
    (waiting,) = output["__interrupt__"]
    assert output["status"] == "interrupted"
    assert waiting.id
    assert waiting.value["kind"] == "plan"


def test_value_is_plain_data(writing: Play) -> None:
    """The value of an interrupt can be written as JSON."""
    value = writing.ask()["__interrupt__"][0].value
    assert json.loads(json.dumps(value)) == value


def test_resume(waiting: Play) -> None:
    """`Command(resume=…)` on the same thread goes on where the graph was interrupted."""
    assert waiting.agent.invoke(Command(resume=APPROVE), waiting.config)["answer"] == "the answer"


def test_resume_async(waiting: Play) -> None:
    """`ainvoke` resumes as `invoke` does."""
    output = asyncio.run(waiting.agent.ainvoke(Command(resume=APPROVE), waiting.config))
    assert output["answer"] == "the answer"


def test_resume_by_id(waiting: Play) -> None:
    """A resume may map the id of an interrupt to its answer."""
    (interrupt,) = waiting.agent.get_state(waiting.config).interrupts
    assert waiting.scene.answer(waiting.agent, {interrupt.id: APPROVE})["answer"] == "the answer"


def test_several_interrupts(scene_of_two: Play) -> None:
    """Tasks that are interrupted at once are resumed with one map from ids to answers."""
    interrupts = scene_of_two.ask()["__interrupt__"]
    assert len(interrupts) == 2
    output = scene_of_two.scene.answer(scene_of_two.agent, {one.id: APPROVE for one in interrupts})
    assert (output["answer"], sorted(scene_of_two.scene.done)) == ("the answer", ["a", "b"])


def test_one_of_several(scene_of_two: Play) -> None:
    """Answering one of several interrupts leaves the others waiting."""
    first, second = scene_of_two.ask()["__interrupt__"]
    output = scene_of_two.scene.answer(scene_of_two.agent, {first.id: APPROVE})
    assert [waiting.id for waiting in output["__interrupt__"]] == [second.id]
    assert len(scene_of_two.scene.done) == 1


def test_snapshot_shows_interrupts(waiting: Play) -> None:
    """The snapshot of a waiting thread lists its interrupts, also by task."""
    state = waiting.agent.get_state(waiting.config)
    assert state.interrupts == state.tasks[0].interrupts
    assert len(state.interrupts) == 1


def test_id_is_stable(waiting: Play) -> None:
    """An interrupt keeps its id as long as it waits."""
    first = waiting.agent.get_state(waiting.config).interrupts[0].id
    assert waiting.agent.invoke(None, waiting.config)["__interrupt__"][0].id == first


def test_finished_nodes_do_not_run_again(waiting: Play) -> None:
    """Resuming runs the interrupted node from its start, and no node before it."""
    nodes = [
        name
        for update in waiting.agent.stream(Command(resume=APPROVE), waiting.config, stream_mode="updates")
        for name in update
    ]
    assert nodes[0] == "plan_approval"
    assert "planner" not in nodes


def test_effects_come_once(waiting: Play) -> None:
    """What stands before the interrupt of a node is done once, however often it is resumed."""
    for _ in range(3):
        waiting.agent.invoke(None, waiting.config)
    waiting.scene.answer(waiting.agent, APPROVE)
    assert waiting.scene.done == ["s1"]
    assert waiting.scene.rows("SELECT count(*) AS n FROM gates") == [{"n": 1}]


def test_stream_shows_the_interrupt(writing: Play) -> None:
    """A stream of updates ends with `__interrupt__`."""
    chunks = list(writing.agent.stream(MESSAGE, writing.config, stream_mode="updates"))
    assert list(chunks[-1]) == ["__interrupt__"]


def test_approve_or_reject(waiting: Play) -> None:
    """The pattern "approve or reject": a rejection leads to the other branch."""
    output = waiting.scene.decide(waiting.agent, "reject")
    assert (output["status"], waiting.scene.done) == ("rejected", [])


def test_review_and_edit(waiting: Play) -> None:
    """The pattern "review and edit": what a person changed is what runs."""
    shown = waiting.agent.get_state(waiting.config).interrupts[0].value["action_requests"][0]["args"]
    plan = json.loads(json.dumps(shown["plan"]).replace('"name": "s1"', '"name": "edited"'))
    edit = {"type": "edit", "edited_action": {"name": "approve_plan", "args": {"plan": plan}}}
    again = waiting.scene.answer(waiting.agent, {"decisions": [edit]})
    assert again["__interrupt__"][0].value["shown"]["steps"][0]["params"] == {"name": "edited"}
    waiting.scene.answer(waiting.agent, APPROVE)
    assert waiting.scene.done == ["edited"]


@differs("it is refused with an error that says what to send, and the gate stays open")
def test_validation(waiting: Play) -> None:
    """An answer that is no good is asked for again in a loop."""
    with pytest.raises(GateError, match="that is no decision"):
        waiting.scene.answer(waiting.agent, 42)
    assert waiting.scene.answer(waiting.agent, APPROVE)["answer"] == "the answer"


def test_in_a_tool(calling: Play) -> None:
    """A call of a tool can be interrupted before it is made."""
    actions = [
        action for waiting in calling.ask()["__interrupt__"] for action in waiting.value["action_requests"]
    ]
    assert [action["name"] for action in actions] == ["work.wipe"] * 2
    assert calling.scene.done == []


def test_a_tool_that_asks(scene: Scene) -> None:
    """A tool may call `interrupt()` itself, and is called again from its start with the answer."""
    heard: list[object] = []

    def send_mail(to: str) -> str:
        """Send a mail."""
        heard.append(to)
        heard.append(interrupt({"action": "send_mail", "to": to}))
        return "sent"

    tool = StructuredTool.from_function(send_mail, metadata={"mode": "local_write"})
    calls = scene.calls(("send_mail", {"to": "ada"}))
    agent = scene.agent(calls, "the answer", tools=[tool], planning={"mode": "auto"})
    (waiting,) = scene.ask(agent)["__interrupt__"]
    assert waiting.value["shown"]["call_question"]["value"] == {"action": "send_mail", "to": "ada"}
    assert scene.answer(agent, {"action": "approve"})["answer"] == "the answer"
    assert heard == ["ada", "ada", {"action": "approve"}]


def test_breakpoints(reading: Play) -> None:
    """`interrupt_before` stops in front of a node, and `invoke(None)` goes on."""
    reading.ask(interrupt_before=["dispatch"])
    assert reading.agent.get_state(reading.config).next == ("dispatch",)
    assert reading.agent.invoke(None, reading.config)["answer"] == "the answer"


def test_breakpoints_after(reading: Play) -> None:
    """`interrupt_after` stops behind a node."""
    reading.ask(interrupt_after=["planner"])
    assert reading.agent.get_state(reading.config).next == ("verify",)
    assert reading.agent.invoke(None, reading.config)["answer"] == "the answer"


def test_every_node_can_be_a_breakpoint(typical: Play) -> None:
    """`interrupt_before="*"` stops in front of every node."""
    typical.ask(interrupt_before="*")
    stops = []
    while state := typical.agent.get_state(typical.config).next:
        stops.extend(state)
        typical.agent.invoke(None, typical.config, interrupt_before="*")
    assert {"planning", typical.node, "session_close"} <= set(stops)
    assert typical.done == [*typical.calls]


@differs("nothing waits, so it is refused: an answer that nobody asked for is a mistake of the sender")
def test_resume_of_what_has_ended(played: Play) -> None:
    """A resume of a thread that has ended changes nothing."""
    with pytest.raises(GateError, match="nothing on thread"):
        played.scene.answer(played.agent, APPROVE)


@differs("goto and update would lead around the gates: such a Command is refused")
def test_command_with_an_update(waiting: Play) -> None:
    """A Command given to `invoke` may update the state and choose the next node."""
    for command in (Command(goto="dispatch"), Command(update={"approved": True})):
        with pytest.raises(GateError, match="may only resume"):
            waiting.agent.invoke(command, waiting.config)
    assert waiting.scene.done == []


@differs('it is refused, and names the gate that waits; `threads.new_input = "cancel"` ends the run first')
def test_a_message_over_an_interrupt(waiting: Play) -> None:
    """A new input on an interrupted thread begins anew."""
    with pytest.raises(Exception, match="waits for a decision"):
        waiting.ask()
    assert waiting.agent.get_state(waiting.config).interrupts


@pytest.fixture
def scene_of_two(reading: Play) -> Play:
    """An agent with two steps that wait for a person at the same time."""
    scene = reading.scene
    plan = scene.plan(scene.step("a", "work.wipe"), scene.step("b", "work.wipe"))
    return Play(scene.agent(plan, "the answer", approval={"plan": "never"}), scene)
