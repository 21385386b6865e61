"""Planwright as a node of a graph of the user's own, with that graph's saver."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send
from typing_extensions import TypedDict

from planwright.checkpoints.serde import AllowListedSerializer
from planwright.domain.errors import RunError, SetupError
from planwright.domain.run_context import RunContext
from planwright.models.scripted import ScriptedModel

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene


class Mine(TypedDict, total=False):
    """The state of the user's graph."""

    messages: Annotated[list[AnyMessage], add_messages]
    answer: str


class App:
    """A graph that hands its messages to an agent."""

    def __init__(self, scene: Scene, *replies: Any, **options: Any) -> None:
        graph = StateGraph(Mine)
        graph.add_node("agent", scene.agent(*replies, **options))
        graph.add_edge(START, "agent")
        graph.add_edge("agent", END)
        self.graph = graph.compile(checkpointer=InMemorySaver(serde=AllowListedSerializer()))
        self.config = scene.config

    def send(self, given: Any) -> dict[str, Any]:
        """Enter the user's graph."""
        entered: Any = {"messages": [("user", given)]} if isinstance(given, str) else given
        output: dict[str, Any] = self.graph.invoke(entered, self.config)
        return output


def asked(output: dict[str, Any]) -> dict[str, Any]:
    """Read what a gate asks."""
    value: dict[str, Any] = output["__interrupt__"][0].value
    return value


def in_a_context(scene: Scene, schema: Any, *, called: bool = False) -> Any:
    """Build a graph with a context of its own, whose node is an agent or a function that calls one."""
    agent = scene.agent(gated(scene), "the answer")

    async def call(state: Mine) -> Any:
        return {"answer": (await agent.ainvoke({"messages": state["messages"]}))["answer"]}

    graph = StateGraph(Mine, context_schema=schema)
    graph.add_node("agent", call if called else agent)
    graph.add_edge(START, "agent")
    return graph.compile(checkpointer=InMemorySaver(serde=AllowListedSerializer()))


@pytest.mark.parametrize("called", [False, True], ids=["a node", "called by a node"])
@pytest.mark.parametrize(
    "context",
    [RunContext(dry_run=True, tenant="acme"), {"dry_run": True, "tenant": "acme"}],
    ids=["own", "dict"],
)
async def test_the_options_of_the_graph_around_are_those_of_the_run(
    scene: Scene, context: Any, called: bool
) -> None:
    graph = in_a_context(scene, dict if isinstance(context, dict) else RunContext, called=called)
    output = await graph.ainvoke({"messages": [("user", "Do it")]}, scene.config, context=context)
    if "__interrupt__" in output:  # a rehearsal asks nobody, and does nothing
        await graph.ainvoke(Command(resume={"type": "approve"}), scene.config, context=context)
    assert scene.done == []
    assert scene.rows("SELECT tenant FROM runs") == [{"tenant": "acme"}]


@pytest.mark.parametrize("context", [{"dry_run": True, "user": "ada"}, {}, "dry_run"], ids=str)
async def test_another_context_of_the_graph_around_is_none_of_ours(scene: Scene, context: Any) -> None:
    graph = in_a_context(scene, dict)
    await graph.ainvoke({"messages": [("user", "Do it")]}, scene.config, context=context)
    await graph.ainvoke(Command(resume={"type": "approve"}), scene.config, context=context)
    assert scene.done == ["s1"]


async def test_a_wrong_option_of_the_graph_around_is_refused(scene: Scene) -> None:
    with pytest.raises(SetupError, match="the run context is wrong"):
        await in_a_context(scene, dict).ainvoke(
            {"messages": [("user", "Do it")]}, scene.config, context={"dry_run": "perhaps"}
        )


def gated(scene: Scene) -> str:
    return scene.plan(scene.step("s1", "work.write", estimated_risk="Medium"))


def test_an_answer_that_names_its_gate_runs_the_plan_to_its_end(scene: Scene) -> None:
    app = App(scene, gated(scene), "the answer")
    gate = asked(app.send("Do it"))["gate_id"]
    output = app.send(Command(resume={"type": "approve", "gate_id": gate}))
    assert (output["answer"], scene.done) == ("the answer", ["s1"])
    assert output["messages"][-1].text == "the answer"


def test_the_run_waits_on_record_so_that_any_door_sees_it(scene: Scene) -> None:
    App(scene, gated(scene)).send("Do it")
    assert scene.rows("SELECT status FROM runs") == [{"status": "waiting"}]


@pytest.mark.parametrize(
    "answer",
    [True, "approve", {"type": "approve"}, {"decisions": [{"type": "approve"}]}, [{"type": "accept"}]],
    ids=str,
)
def test_the_only_gate_takes_an_answer_that_names_none(scene: Scene, answer: Any) -> None:
    app = App(scene, gated(scene), "the answer")
    app.send("Do it")
    assert app.send(Command(resume=answer))["answer"] == "the answer"
    assert scene.done == ["s1"]


def test_an_answer_by_the_id_of_its_interrupt_is_taken(scene: Scene) -> None:
    app = App(scene, gated(scene), "the answer")
    (waiting,) = app.send("Do it")["__interrupt__"]
    output = app.send(Command(resume={waiting.id: {"decisions": [{"type": "approve"}]}}))
    assert (output["answer"], scene.done) == ("the answer", ["s1"])


def test_gates_of_one_plan_are_answered_by_the_ids_of_their_interrupts(scene: Scene) -> None:
    plan = scene.plan(scene.step("a", "work.wipe"), scene.step("b", "work.wipe"))
    app = App(scene, plan, "the answer", approval={"plan": "never"})
    waiting = app.send("Do it")["__interrupt__"]
    assert len(waiting) == 2
    answers = {
        one.id: {"type": "approve" if one.value["shown"]["step_id"] == "a" else "reject"} for one in waiting
    }
    app.send(Command(resume=answers))
    assert scene.done == ["a"]


def test_of_two_gates_none_takes_an_answer_that_names_none(scene: Scene) -> None:
    plan = scene.plan(scene.step("a", "work.wipe"), scene.step("b", "work.wipe"))
    app = App(scene, plan, "the answer", approval={"plan": "never"})
    app.send("Do it")
    with pytest.raises(RuntimeError, match="multiple pending interrupts"):
        app.send(Command(resume={"decisions": [{"type": "approve"}]}))
    assert scene.done == []


@pytest.mark.parametrize("answer", [{"type": "approve", "gate_id": "gate_0"}], ids=str)
def test_an_answer_that_names_another_gate_is_asked_for_again(scene: Scene, answer: Any) -> None:
    app = App(scene, gated(scene), "the answer")
    gate = asked(app.send("Do it"))["gate_id"]
    again = asked(app.send(Command(resume=answer)))
    assert (again["gate_id"], scene.done) == (gate, [])
    assert gate in again["refused"]
    assert app.send(Command(resume={"type": "approve", "gate_id": gate}))["answer"] == "the answer"


def test_a_rejection_runs_nothing(scene: Scene) -> None:
    app = App(scene, gated(scene))
    gate = asked(app.send("Do it"))["gate_id"]
    output = app.send(Command(resume={"type": "reject", "gate_id": gate}))
    assert "rejected" in output["answer"]
    assert scene.done == []


def test_no_gate_takes_the_answer_of_the_one_before(scene: Scene) -> None:
    plan = scene.plan(scene.step("a", "work.wipe"), scene.step("b", "work.wipe", "a"))
    app = App(scene, plan, "the answer", approval={"plan": "never"})
    first = asked(app.send("Do it"))["gate_id"]
    output = app.send(Command(resume={"type": "approve", "gate_id": first}))
    assert scene.done == ["a"]
    second = asked(output)["gate_id"]
    assert app.send(Command(resume={"type": "approve", "gate_id": second}))["answer"] == "the answer"
    assert scene.done == ["a", "b"]


def test_a_second_request_on_the_thread_runs_in_full(scene: Scene) -> None:
    plan = scene.plan(scene.step("s1", "work.read"))
    app = App(scene, plan, "one", '{"task": "again"}', plan, "two")
    assert [app.send("Do it")["answer"], app.send("again")["answer"]] == ["one", "two"]
    assert scene.done == ["s1", "s1"]


class Joined(TypedDict, total=False):
    """The state of a graph whose nodes all write down what they heard."""

    messages: Annotated[list[AnyMessage], add_messages]
    heard: Annotated[list[str], operator.add]


def calling(agent: Agent, *requests: str) -> Callable[[Joined], Joined]:
    """Make a node function that calls an agent without naming a thread."""

    def node(state: Joined) -> Joined:
        asks = requests or (state["messages"][-1].text,)
        answers = [agent.invoke({"messages": [("user", text)]})["answer"] for text in asks]
        return {"heard": answers}

    return node


def joined(nodes: dict[str, Any], *edges: tuple[str, str]) -> Any:
    """Compile a graph of nodes that all run at once, or as the edges say."""
    graph = StateGraph(Joined)
    for name, node in nodes.items():
        graph.add_node(name, node)
    for edge in edges or [(START, name) for name in nodes]:
        graph.add_edge(*edge)
    return graph.compile(checkpointer=InMemorySaver(serde=AllowListedSerializer()))


def approvals(output: dict[str, Any]) -> Command[Any]:
    """Approve all that waits, each by the id of its interrupt."""
    return Command(resume={waiting.id: {"type": "approve"} for waiting in output["__interrupt__"]})


def test_a_call_from_a_node_function_inherits_the_config_of_its_graph(scene: Scene) -> None:
    app = joined({"n": calling(scene.agent(gated(scene), "the answer"))})
    assert asked(app.invoke({"messages": [("user", "Do it")]}, scene.config))["kind"] == "plan"
    output = app.invoke(Command(resume={"decisions": [{"type": "approve"}]}), scene.config)
    assert (output["heard"], scene.done) == (["the answer"], ["s1"])


def test_a_node_function_may_name_a_thread_of_its_own(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.read")), "the answer")

    def node(state: Joined) -> Joined:
        own: Any = {"configurable": {"thread_id": "own"}}
        return {"heard": [agent.invoke({"messages": state["messages"]}, own)["answer"]]}

    joined({"n": node}).invoke({"messages": [("user", "Do it")]}, scene.config)
    assert scene.rows("SELECT thread_id FROM runs") == [{"thread_id": "own"}]


def test_agents_in_parallel_nodes_wait_and_go_on_apart(scene: Scene) -> None:
    plans = {name: scene.plan(scene.step(name, "work.write", estimated_risk="Medium")) for name in "ab"}
    app = joined({name: calling(scene.agent(plan, f"answer {name}")) for name, plan in plans.items()})
    output = app.invoke({"messages": [("user", "Do it")]}, scene.config)
    ended = app.invoke(approvals(output), scene.config)
    assert (sorted(ended["heard"]), sorted(scene.done)) == (["answer a", "answer b"], ["a", "b"])


def test_one_of_two_parallel_agents_can_be_answered_alone(scene: Scene) -> None:
    plans = {name: scene.plan(scene.step(name, "work.write", estimated_risk="Medium")) for name in "ab"}
    app = joined({name: calling(scene.agent(plan, f"answer {name}")) for name, plan in plans.items()})
    output = app.invoke({"messages": [("user", "Do it")]}, scene.config)
    steps = {one.id: one.value["shown"]["steps"][0]["id"] for one in output["__interrupt__"]}
    first = next(id_ for id_, step in steps.items() if step == "a")
    output = app.invoke(Command(resume={first: {"type": "approve"}}), scene.config)
    assert (len(output["__interrupt__"]), scene.done) == (1, ["a"])
    assert sorted(app.invoke(approvals(output), scene.config)["heard"]) == ["answer a", "answer b"]
    assert scene.done == ["a", "b"]


def test_tasks_that_send_makes_of_one_node_have_threads_of_their_own(scene: Scene) -> None:
    graph = StateGraph(Joined)
    node: Any = calling(scene.agent(*["the answer"] * 3, planning={"mode": "never"}))
    graph.add_node("n", node)
    tasks = [Send("n", {"messages": [HumanMessage(f"Task {n}")]}) for n in range(3)]
    graph.add_conditional_edges(START, lambda _: tasks, ["n"])
    app: Any = graph.compile(checkpointer=InMemorySaver(serde=AllowListedSerializer()))
    output = app.invoke({"messages": [("user", "Do it")]}, scene.config)
    assert output["heard"] == ["the answer"] * 3
    assert len(scene.rows("SELECT DISTINCT thread_id FROM runs")) == 3


def test_a_node_that_calls_an_agent_twice_is_told_to_be_two(scene: Scene) -> None:
    read = scene.plan(scene.step("r", "work.read"))
    agent = scene.agent(read, "one", gated(scene), "two")
    app = joined({"n": calling(agent, "first", "second")})
    output = app.invoke({"messages": [("user", "Do it")]}, scene.config)
    with pytest.raises(RunError, match="a node of its own"):
        app.invoke(approvals(output), scene.config)
    assert scene.done == ["r"]


def test_a_node_that_begins_as_its_graph_is_resumed_takes_its_input(scene: Scene) -> None:
    read = scene.plan(scene.step("r", "work.read"))
    agent = scene.agent(read, "one", read, "two")
    app = joined({"n": calling(agent)})
    for answer in ("one", "two"):
        app.invoke({"messages": [("user", f"before {answer}")]}, scene.config, interrupt_before=["n"])
        assert app.invoke(None, scene.config)["heard"][-1] == answer
    assert scene.done == ["r", "r"]


def in_a_row(first: Agent, second: Agent, saver: Any) -> Any:
    """Build a graph in which one agent works after another."""
    graph = StateGraph(Mine)
    graph.add_node("one", first)
    graph.add_node("two", second)
    graph.add_edge(START, "one")
    graph.add_edge("one", "two")
    graph.add_edge("two", END)
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize("saved", [True, False], ids=["with a saver", "without"])
@pytest.mark.parametrize("way", ["never", "always"])
def test_two_agents_in_a_row(scene: Scene, way: str, saved: bool) -> None:
    does = "write" if saved else "read"  # without a saver nobody can be asked

    def model(name: str, said: str) -> ScriptedModel:
        call = scene.calls((f"work__{does}", {"name": name}))
        plan = scene.plan(scene.step(name, f"work.{does}"))
        task = ['{"task": "Write"}'] if name == "b" and way == "always" else []
        return ScriptedModel(replies=[*task, call if way == "never" else plan, said])

    models = model("a", "First."), model("b", "Second.")
    options: dict[str, Any] = {"planning": {"mode": way}, "approval": {"plan": "never", "risk": "Critical"}}
    agents = [scene.agent(model=each, **options) for each in models]
    app = in_a_row(agents[0], agents[1], InMemorySaver(serde=AllowListedSerializer()) if saved else None)
    output = app.invoke({"messages": [("user", "Write")]}, scene.config)
    while output.get("__interrupt__"):  # the second comes after words of others
        output = app.invoke(Command(resume={"decisions": [{"type": "approve"}]}), scene.config)
    words = [message.text for message in output["messages"] if message.type != "tool" and message.text]
    assert (words, scene.done) == (["Write", "First.", "Second."], ["a", "b"])
    assert any("First." in message.text for message in models[1].prompts[0])


def test_at_the_top_no_run_goes_on_from_words_of_a_model(scene: Scene) -> None:
    with pytest.raises(SetupError, match="words of a model"):
        scene.agent("no").invoke({"messages": [("user", "Write"), ("ai", "First.")]}, scene.config)
