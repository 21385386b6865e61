"""A function that calls LangGraph's interrupt() in the middle of its call asks a person."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolRuntime
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.declaration import capability
from planwright.domain.errors import CapabilityRejected, CapabilityUnavailable, GateError
from planwright.extras.audit.replay import replay_run
from planwright.graph.agent import Agent
from planwright.models.scripted import ScriptedModel
from planwright.records.audit.verification import verify_chain
from planwright.store.blobs import Blobs
from tests.opened_store import opened_store

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

AUTO = {"planning": {"mode": "auto"}}
READS = {"mode": "read_only"}
BLIND = {"mode": "local_write", "effect": "blind"}
BOOK = {"night": "Monday"}
QUESTION = {"question": "Which room?", "free": ["12", "14"]}


class Hotel:
    """A hotel whose tool asks which room is wanted, and for whom."""

    def __init__(self) -> None:
        self.began = 0
        self.booked: list[str] = []

    def book(self, night: str) -> str:
        """Book a room."""
        self.began += 1
        room = interrupt(QUESTION)
        guest = interrupt("For whom?")
        self.booked.append(f"{night} {room} {guest}")
        return f"booked {room}"

    def tool(self, **metadata: Any) -> StructuredTool:
        """Make the tool that books."""
        return StructuredTool.from_function(self.book, metadata=metadata or BLIND)


def in_loop(scene: Scene, tool: Any, **options: Any) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(replies=[scene.calls((tool.name, BOOK)), "done"])
    return scene.agent(model=model, tools=[tool], **AUTO, **options), model


def in_plan(scene: Scene, tool: Any, *more: dict[str, Any]) -> tuple[Agent, ScriptedModel]:
    plan = scene.plan({"id": "s1", "capability": tool.name, "params": BOOK}, *more)
    model = ScriptedModel(replies=[plan, "done"])
    return scene.agent(model=model, tools=[tool], approval={"plan": "never"}), model


def in_step(scene: Scene, tool: Any) -> tuple[Agent, ScriptedModel]:
    step = {"id": "s1", "description": "Book", "tool_hints": [tool.name]}
    model = ScriptedModel(replies=[scene.plan(step), scene.calls((tool.name, BOOK)), "booked", "done"])
    return scene.agent(model=model, tools=[tool], approval={"plan": "never"}), model


def in_sub_agent(scene: Scene, tool: Any) -> tuple[Agent, ScriptedModel]:
    part = ("agent__delegate", {"task": "Book", "tools": [tool.name]})
    model = ScriptedModel(replies=[scene.calls(part), scene.calls((tool.name, BOOK)), "booked", "done"])
    return scene.agent(model=model, tools=[tool], **AUTO), model


def in_chain(scene: Scene, tool: Any) -> tuple[Agent, ScriptedModel]:
    steps = [{"toolName": tool.name, "arguments": {"night": "{{input.night}}"}}]
    make = {"name": "book_it", "description": "Do it in a row", "steps": steps}
    calls = scene.calls(("tool__create_chain", make)), scene.calls(("book_it", BOOK))
    model = ScriptedModel(replies=[*calls, "done"])
    with (scene.workspace / "planwright.toml").open("a") as file:
        file.write("[tools]\ntop_k = 40\n")
    return scene.agent(model=model, tools=[tool], **AUTO), model


def question(output: dict[str, Any]) -> list[str]:
    (asked,) = output["__interrupt__"]
    assert asked.value["kind"] == "info"
    assert asked.value["review_configs"][0]["allowed_decisions"] == ["respond", "reject"]
    questions: list[str] = asked.value["shown"]["args"]["questions"]
    return questions


@pytest.mark.parametrize("metadata", [READS, BLIND], ids=["reads", "blind"])
@pytest.mark.parametrize("place", [in_loop, in_plan, in_step, in_sub_agent, in_chain])
def test_it_asks_twice_and_is_made_once(scene: Scene, place: Any, metadata: dict[str, str]) -> None:
    hotel = Hotel()
    agent, _ = place(scene, hotel.tool(**metadata))
    assert question(scene.ask(agent, "Chain tools: book a room")) == ['Which room? {"free":["12","14"]}']
    assert question(scene.answer(agent, "12")) == ["For whom?"]
    out = scene.answer(agent, {"name": "Ada", "age": 36})
    assert (out["status"], out["answer"]) == ("completed", "done")
    assert hotel.booked == ["Monday 12 {'name': 'Ada', 'age': 36}"]
    assert hotel.began == 3
    effects = scene.rows("SELECT status, code FROM effects WHERE capability = 'book'")
    assert effects == ([{"status": "done", "code": ""}] if metadata is BLIND else [])


def test_null_is_an_answer_and_takes_no_other_question(scene: Scene) -> None:
    hotel = Hotel()
    agent, _ = in_plan(scene, hotel.tool())
    scene.ask(agent, "Chain tools: book a room")
    (asked,) = agent.get_state(scene.config).interrupts
    assert question(scene.answer(agent, {asked.id: None})) == ["For whom?"]
    scene.answer(agent, "Ada")
    assert hotel.booked == ["Monday None Ada"]


def instead(scene: Scene, done: list[str], *, first: str, asks: bool) -> Agent:
    """Plan a booking that fails or asks, with another capability to try instead, and a step behind it."""

    @capability("office.book", mode="local_write", tags=("book",), trusted_result=True)
    def book(night: str) -> str:
        """Book a room."""
        if first == "fails":
            raise CapabilityRejected("full")
        done.append(f"booked {interrupt('Really?')}")
        return "booked"

    @capability("office.reserve", mode="local_write", tags=("book",), trusted_result=True)
    def reserve(night: str) -> str:
        """Book a room in another system."""
        done.append(f"reserved {interrupt('Reserve?') if asks else ''}")
        return "reserved"

    plan = scene.plan(
        {"id": "s1", "capability": "office.book", "params": BOOK}, scene.step("behind", "work.read", "s1")
    )
    other = json.dumps({"capability": "office.reserve", "params": BOOK})
    model = ScriptedModel(replies=[plan, "done", "done"], alternatives=[other] * 2)
    settings: dict[str, Any] = {"approval": {"plan": "never"}, "alternative": {"enabled": True}}
    return scene.agent(model=model, capabilities=[book, reserve], **settings)


def test_a_call_that_is_tried_instead_may_ask_and_what_is_behind_it_waits(scene: Scene) -> None:
    done: list[str] = []
    agent = instead(scene, done, first="fails", asks=True)
    assert question(scene.ask(agent)) == ["Reserve?"]
    scene.answer(agent, "yes")
    assert done == ["reserved yes"]
    assert scene.done == ["behind"]


def test_nothing_is_tried_instead_of_what_a_person_said_no_to(scene: Scene) -> None:
    done: list[str] = []
    agent = instead(scene, done, first="asks", asks=False)
    assert question(scene.ask(agent)) == ["Really?"]
    scene.decide(agent, "reject", "do not book at all")
    assert done == []


def test_a_call_that_may_have_arrived_before_it_asked_keeps_its_key(scene: Scene) -> None:
    keys, tries = list[str](), [0]

    @capability("office.book", mode="local_write", effect="idempotent", trusted_result=True)
    def book(night: str, call: CallContext) -> str:
        """Book a room."""
        tries[0] += 1
        if tries[0] == 2:
            interrupt("The line broke. Go on?")
        keys.append(call.idempotency_key)
        if tries[0] == 1:
            raise CapabilityUnavailable("no answer; it may have arrived")
        return "booked"

    reply = scene.calls(("office__book", BOOK))
    agent = scene.agent(reply, reply, "done", capabilities=[book], **AUTO)
    scene.ask(agent)
    if "__interrupt__" in scene.decide(agent, "reject", "later"):
        scene.decide(agent, "approve")
    assert len(keys) == 2
    assert len(set(keys)) == 1


@pytest.mark.parametrize(
    "answer", ["Ada", "yes", "3", True, False, 0, 2.5, ["a"], [{"type": "accept", "args": None}], {"a": 1}]
)
def test_any_value_is_an_answer_as_in_langgraph(scene: Scene, answer: Any) -> None:
    heard: list[Any] = []

    @capability("office.hear", mode="read_only")
    def hear() -> str:
        """Hear."""
        heard.append(interrupt("Well?"))
        return "heard"

    agent = scene.agent(scene.calls(("office__hear", {})), "done", capabilities=[hear], **AUTO)
    assert question(scene.ask(agent)) == ["Well?"]
    scene.answer(agent, answer)
    assert heard == [answer]
    assert type(heard[0]) is type(answer)


def test_a_decision_in_langchains_form_answers_in_words(scene: Scene) -> None:
    hotel = Hotel()
    agent, _ = in_loop(scene, hotel.tool())
    scene.ask(agent, "Chain tools: book a room")
    scene.decide(agent, "respond", "14")
    scene.decide(agent, "respond", "Ada")
    assert hotel.booked == ["Monday 14 Ada"]


@pytest.mark.parametrize(
    ("schema", "typed", "heard"),
    [
        (None, "14", "14"),
        (None, '{"room": 14}', {"room": 14}),
        ({"type": "string"}, "14", "14"),
        ({"type": "integer"}, "14", 14),
        ({"type": "strnig"}, "14", "14"),
        ({"$ref": "http://127.0.0.1:9/none"}, "Ada", "Ada"),
    ],
)
def test_what_is_typed_is_text_unless_the_schema_wants_something_else(
    scene: Scene, schema: Any, typed: str, heard: Any
) -> None:
    answers: list[Any] = []

    @capability("office.hear", mode="read_only")
    def hear() -> str:
        """Hear."""
        answers.append(interrupt("Well?", response_schema=schema))
        return "heard"

    agent = scene.agent(scene.calls(("office__hear", {})), "done", capabilities=[hear], **AUTO)
    scene.ask(agent)
    scene.decide(agent, "respond", typed)
    assert answers == [heard]


def test_the_answer_may_name_its_interrupt_or_its_gate(scene: Scene) -> None:
    hotel = Hotel()
    agent, _ = in_plan(scene, hotel.tool())
    (asked,) = scene.ask(agent, "Chain tools: book a room")["__interrupt__"]
    (asked,) = scene.answer(agent, {asked.id: "14"})["__interrupt__"]
    scene.answer(agent, {asked.value["gate_id"]: "Ada"})
    assert hotel.booked == ["Monday 14 Ada"]


@pytest.mark.parametrize("place", [in_loop, in_plan, in_step, in_sub_agent, in_chain])
def test_without_an_answer_it_is_not_made_and_nothing_is_in_doubt(scene: Scene, place: Any) -> None:
    hotel = Hotel()
    agent, model = place(scene, hotel.tool())
    scene.ask(agent, "Chain tools: book a room")
    out = scene.decide(agent, "reject", "no room")
    assert hotel.booked == []
    assert "__interrupt__" not in out or out["__interrupt__"][0].value["kind"] == "escalation"
    (effect,) = scene.rows("SELECT status, error FROM effects WHERE capability = 'book'")
    assert effect == {"status": "failed", "error": "book asked a person, and was not answered"}
    if place is in_loop:
        (told,) = [m.text for m in model.prompts[-1] if isinstance(m, ToolMessage)]
        assert "book asked, and got no answer: rejected by" in told
        assert "no room" in told


def test_a_model_may_call_it_again_after_that(scene: Scene) -> None:
    hotel = Hotel()
    call = scene.calls(("book", BOOK))
    agent = scene.agent(call, call, "done", tools=[hotel.tool()], **AUTO)
    scene.ask(agent, "Chain tools: book a room")
    (asked,) = scene.decide(agent, "reject", "wait")["__interrupt__"]
    assert asked.value["kind"] == "step"
    assert question(scene.decide(agent, "approve")) == ['Which room? {"free":["12","14"]}']
    scene.answer(agent, "12")
    scene.answer(agent, "Ada")
    assert hotel.booked == ["Monday 12 Ada"]


def test_two_calls_ask_at_once_and_each_gets_its_own_answer(scene: Scene) -> None:
    heard: list[str] = []

    def ask_for(what: str) -> str:
        """Ask for something."""
        heard.append(f"{what}: {interrupt(what)}")
        return what

    tool = StructuredTool.from_function(ask_for, metadata=READS)
    reply = scene.calls(("ask_for", {"what": "a"}), ("ask_for", {"what": "b"}))
    agent = scene.agent(reply, "done", tools=[tool], **AUTO)
    asked = {
        gate.value["shown"]["args"]["questions"][0]: gate.id for gate in scene.ask(agent)["__interrupt__"]
    }
    with pytest.raises(GateError, match="2 gates are open"):
        scene.answer(agent, "1")
    assert scene.answer(agent, {asked["b"]: "2", asked["a"]: "1"})["answer"] == "done"
    assert sorted(heard) == ["a: 1", "b: 2"]


def test_other_steps_go_on_and_those_behind_it_wait(scene: Scene) -> None:
    hotel = Hotel()
    free, behind = scene.step("free", "work.write"), scene.step("behind", "work.write", "s1")
    agent, _ = in_plan(scene, hotel.tool(), free, behind)
    scene.ask(agent, "Chain tools: book a room")
    assert scene.done == ["free"]
    scene.answer(agent, "12")
    scene.answer(agent, "Ada")
    assert scene.done == ["free", "behind"]


def test_an_async_tool_asks_too_and_sees_its_runtime(scene: Scene) -> None:
    async def book(night: str, runtime: ToolRuntime) -> str:
        """Book a room."""
        await asyncio.sleep(0)
        return f"{night} {interrupt('Which room?')} {bool(runtime.tool_call_id)}"

    tool = StructuredTool.from_function(coroutine=book, name="book", metadata=BLIND)
    agent, model = in_loop(scene, tool)
    assert question(scene.ask(agent, "Chain tools: book a room")) == ["Which room?"]
    scene.answer(agent, "14")
    assert "Monday 14 True" in model.prompts[-1][-1].text


def test_a_graph_within_a_tool_asks_and_goes_on_where_it_was(scene: Scene) -> None:
    heard: list[Any] = []

    def first(_: Any) -> dict[str, Any]:
        heard.append(interrupt("Which room?"))
        return {}

    def second(_: Any) -> dict[str, Any]:
        heard.append([interrupt("For whom?"), interrupt("Until when?")])
        return {}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("first", first)
    graph.add_node("second", second)
    graph.add_edge(START, "first")
    graph.add_edge("first", "second")
    inner = graph.compile()

    def book(night: str) -> str:
        """Book a room."""
        inner.invoke({"messages": []})
        return f"booked for {night}"

    agent, _ = in_loop(scene, StructuredTool.from_function(book, metadata=BLIND))
    assert question(scene.ask(agent, "Book a room")) == ["Which room?"]
    assert question(scene.answer(agent, "12")) == ["For whom?"]
    assert question(scene.answer(agent, "Ada")) == ["Until when?"]
    assert scene.answer(agent, "Tuesday")["answer"] == "done"
    assert heard == ["12", ["Ada", "Tuesday"]]


class Room(BaseModel):
    """A room."""

    number: int


def test_an_answer_has_to_fit_the_schema_that_a_tool_gives(scene: Scene) -> None:
    heard: list[Room] = []

    def book(night: str) -> str:
        """Book a room."""
        heard.append(interrupt("Which room?", response_schema=Room))
        return "booked"

    agent, _ = in_loop(scene, StructuredTool.from_function(book, metadata=BLIND))
    scene.ask(agent, "Chain tools: book a room")
    with pytest.raises(GateError, match="the answer does not fit: 'x' is not of type 'integer'"):
        scene.answer(agent, {"number": "x"})
    assert scene.answer(agent, {"number": 12})["answer"] == "done"
    assert heard == [Room(number=12)]


def test_a_tool_that_says_nothing_of_itself_asks_before_and_within(scene: Scene) -> None:
    hotel = Hotel()
    tool = StructuredTool.from_function(hotel.book)
    agent, _ = in_loop(scene, tool)
    (asked,) = scene.ask(agent, "Chain tools: book a room")["__interrupt__"]
    assert (asked.value["kind"], hotel.began) == ("step", 0)
    assert question(scene.decide(agent, "approve")) == ['Which room? {"free":["12","14"]}']
    scene.answer(agent, "12")
    scene.answer(agent, "Ada")
    assert hotel.booked == ["Monday 12 Ada"]


def test_the_answer_may_come_in_another_process(scene: Scene) -> None:
    hotel = Hotel()
    agent, _ = in_loop(scene, hotel.tool())
    scene.ask(agent, "Chain tools: book a room")
    scene.answer(agent, "12")
    agent.close()
    scene.agents.remove(agent)
    later = scene.agent("done", tools=[hotel.tool()], **AUTO)
    assert scene.answer(later, "Ada")["answer"] == "done"
    assert hotel.booked == ["Monday 12 Ada"]


def test_a_run_that_is_cancelled_while_it_asks_has_nothing_in_doubt(scene: Scene) -> None:
    hotel = Hotel()
    agent, _ = in_plan(scene, hotel.tool())
    scene.ask(agent, "Chain tools: book a room")
    agent.cancel(scene.thread)
    scene.recover(agent)
    assert scene.rows("SELECT status FROM runs") == [{"status": "cancelled"}]
    assert scene.rows("SELECT status, code FROM effects") == [{"status": "failed", "code": "asked"}]
    assert hotel.booked == []


def test_a_direct_call_asks_as_well(scene: Scene) -> None:
    hotel = Hotel()
    agent = scene.agent("never asked", tools=[hotel.tool(**READS)])
    config = agent.call("book", BOOK)
    assert question(agent.invoke(None, config)) == ['Which room? {"free":["12","14"]}']
    agent.invoke(Command(resume="12"), config)
    assert agent.invoke(Command(resume="Ada"), config)["status"] == "completed"
    assert hotel.booked == ["Monday 12 Ada"]


def test_an_answer_is_on_record_and_the_run_replays_equal(scene: Scene) -> None:
    hotel = Hotel()
    agent, _ = in_plan(scene, hotel.tool())
    scene.ask(agent, "Chain tools: book a room")
    scene.answer(agent, "12")
    scene.answer(agent, "Ada")
    gates = scene.rows("SELECT status, reason FROM gates ORDER BY rowid")
    assert gates == [{"status": "responded", "reason": '"12"'}, {"status": "responded", "reason": "Ada"}]
    with closing(opened_store(scene.workspace / ".planwright")) as store:
        (run_id,) = store.execute("SELECT run_id FROM runs").fetchone()
        blobs = Blobs(scene.workspace / ".planwright" / "blobs")
        assert not replay_run(store, blobs, run_id).differences
        assert not verify_chain(store)[0]


def test_a_function_that_is_edited_before_the_answer_is_asked_for_anew(scene: Scene) -> None:
    done: list[str] = []

    @capability("office.book", mode="local_write", risk="Medium", tags=("book",))
    def book(night: str) -> str:
        """Book a room."""
        done.append(f"booked {night} {interrupt('Which room?')}")
        return "booked"

    @capability("office.book", mode="local_write", risk="Medium", tags=("book",))
    def edited(night: str) -> str:
        """Book a room, and pay for it."""
        done.append(f"paid {night} {interrupt('Which room?')}")
        return "paid"

    plan = scene.plan({"id": "s1", "capability": "office.book", "params": BOOK})
    agent = scene.agent(plan, capabilities=[book])
    scene.ask(agent)
    assert question(scene.decide(agent, "approve")) == ["Which room?"]
    agent.close()
    scene.agents.remove(agent)
    later = scene.agent("the answer", capabilities=[edited])
    (asked,) = scene.answer(later, "12")["__interrupt__"]
    assert asked.value["kind"] == "plan"
    assert "office.book has changed" in str(asked.value["shown"]["changes"])
    assert done == []
    assert question(scene.decide(later, "approve")) == ["Which room?"]
    assert scene.answer(later, "14")["status"] == "completed"
    assert done == ["paid Monday 14"]
