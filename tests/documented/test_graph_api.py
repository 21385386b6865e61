"""https://docs.langchain.com/oss/python/langgraph/graph-api"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import HumanMessage, RemoveMessage, ToolMessage
from langgraph.errors import GraphRecursionError

from planwright.domain.errors import SetupError
from planwright.domain.run_context import RunContext
from tests.documented.conftest import MESSAGE, Play, differs, loop_of
from tests.scenarios.conftest import Scene, said

pytestmark = pytest.mark.long


class Heard(BaseCallbackHandler):
    """Write down which chains and models begin, with their tags and metadata."""

    def __init__(self) -> None:
        self.chains: list[str] = []
        self.models: list[tuple[list[str], dict[str, Any]]] = []
        self.tools: list[tuple[str, dict[str, Any] | None]] = []
        self.results: list[ToolMessage] = []
        self.errors: list[str] = []

    def on_chain_start(self, serialized: Any, inputs: Any, **more: Any) -> None:
        """Hear of a graph or a node."""
        self.chains.append(more.get("name") or "")

    def on_chat_model_start(self, serialized: Any, messages: Any, **more: Any) -> None:
        """Hear of a model."""
        self.models.append((more.get("tags") or [], more.get("metadata") or {}))

    def on_tool_start(self, serialized: Any, input_str: str, **more: Any) -> None:
        """Hear of a call of a tool."""
        self.tools.append((serialized["name"], more.get("inputs")))

    def on_tool_end(self, output: Any, **more: Any) -> None:
        """Hear of its result."""
        self.results.append(output)

    def on_tool_error(self, error: BaseException, **more: Any) -> None:
        """Hear that it has failed."""
        self.errors.append(str(error))


def test_output_schema(typical: Play) -> None:
    """The output holds the keys of the output schema, and no other."""
    assert set(typical.ask()) == {"messages", "answer", "answer_value", "status", "plan", "verdict"}


def test_input_schema(typical: Play) -> None:
    """Keys that are not in the input schema do not reach the state."""
    typical.agent.invoke({**MESSAGE, "approved": True, "answer": "forged"}, typical.config)
    assert typical.agent.get_state(typical.config).values["answer"] == "the answer"


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user", "content": "Do it"}],
        [("user", "Do it")],
        [("human", "Do it")],
        [HumanMessage("Do it")],
        HumanMessage("Do it"),
        "Do it",
        [{"type": "human", "content": [{"type": "text", "text": "Do it"}]}],
    ],
    ids=["role", "user", "human", "message", "one message", "text", "blocks"],
)
def test_messages(reading: Play, messages: Any) -> None:
    """Messages come as objects, pairs, dicts or text, and are made message objects."""
    output = reading.agent.invoke({"messages": messages}, reading.config)
    assert [message.text for message in said(output["messages"])] == ["Do it", "the answer"]


def test_messages_get_ids(typical: Play) -> None:
    """Each message has an id, and keeps one that it comes with."""
    output = typical.agent.invoke({"messages": [HumanMessage("Do it", id="mine")]}, typical.config)
    asked, *others = output["messages"][typical.earlier :]
    assert asked.id == "mine"
    assert all(message.id for message in others)


def test_a_message_takes_the_place_of_its_id(ended: Play) -> None:
    """A message with the id of another takes its place."""
    first = ended.agent.get_state(ended.config).values["messages"][0]
    output = ended.agent.invoke({"messages": [HumanMessage("Again", id=first.id)]}, ended.config)
    assert [message.text for message in said(output["messages"])] == ["Again", "the answer", "another answer"]


@differs("a run begins with words of the user; messages are removed with `update_state`")
def test_remove_messages(ended: Play) -> None:
    """A `RemoveMessage` takes a message out of the state."""
    answer = ended.agent.get_state(ended.config).values["messages"][-1]
    remove = {"messages": [RemoveMessage(id=str(answer.id))]}
    with pytest.raises(SetupError):
        ended.agent.invoke(remove, ended.config)
    ended.agent.update_state(ended.config, remove, as_node="session_close")
    assert len(said(ended.agent.get_state(ended.config).values["messages"])) == 1


def test_context(reading: Play) -> None:
    """`context` gives a run its options, as the context schema names them."""
    output = reading.ask(context={"dry_run": True})
    assert (output["status"], reading.scene.done) == ("planned", [])


def test_context_as_an_object(reading: Play) -> None:
    """`context` may be an object of the context schema."""
    assert reading.ask(context=RunContext(dry_run=True))["status"] == "planned"


def test_unknown_context(reading: Play) -> None:
    """An option that the context schema does not know is an error."""
    with pytest.raises(SetupError, match="colour"):
        reading.ask(context={"colour": "blue"})


def test_recursion_limit(reading: Play) -> None:
    """`recursion_limit` bounds the supersteps of a call."""
    with pytest.raises(GraphRecursionError):
        reading.agent.invoke(MESSAGE, {**reading.config, "recursion_limit": 3})
    assert reading.agent.invoke(None, reading.config)["answer"] == "the answer"


@differs("the nodes around a loop need 6 themselves, so a loop of one call takes 6, not 4")
@pytest.mark.parametrize("calls", [1, 3, 6])
def test_recursion_limit_of_a_loop(scene: Scene, calls: int) -> None:
    """`recursion_limit` bounds a subgraph as well: a loop of n calls takes 2n + 2, as in `create_agent`."""
    names = [f"r{number}" for number in range(calls)]
    play, enough = loop_of(scene, *names), max(6, 2 * calls + 2)
    with pytest.raises(GraphRecursionError):
        play.agent.invoke(MESSAGE, {**play.config, "recursion_limit": enough - 1})
    assert play.agent.invoke(None, play.config)["answer"] == "the answer"
    assert scene.done == names
    other = {"configurable": {"thread_id": "other"}, "recursion_limit": enough}
    assert loop_of(scene, *names).agent.invoke(MESSAGE, other)["answer"] == "the answer"


@differs("it counts as none: it is LangChain's own default, which a chain around an agent hands on unasked")
def test_recursion_limit_of_langchain(scene: Scene) -> None:
    """A `recursion_limit` of 25 bounds a call as any other does."""
    play = loop_of(scene, *(f"r{number}" for number in range(13)))
    assert play.agent.invoke(MESSAGE, {**play.config, "recursion_limit": 25})["answer"] == "the answer"


def test_mermaid(reading: Play) -> None:
    """`get_graph().draw_mermaid()` draws the nodes and edges."""
    drawn = reading.agent.get_graph().draw_mermaid()
    assert "verify -.-> planner;" in " ".join(drawn.replace("&nbsp;", "").split())


def test_xray(reading: Play) -> None:
    """`get_graph(xray=True)` draws the subgraphs, too."""
    assert len(reading.agent.get_graph(xray=True).nodes) > len(reading.agent.get_graph().nodes)


def test_schemas(reading: Play) -> None:
    """The schemas of input, output and context are there as JSON schemas."""
    agent = reading.agent
    assert "messages" in agent.get_input_jsonschema()["properties"]
    assert "answer" in agent.get_output_jsonschema()["properties"]
    assert "dry_run" in (agent.get_context_jsonschema() or {})["properties"]


def test_bound_config(typical: Play) -> None:
    """`with_config` binds a config."""
    assert typical.agent.with_config(typical.config).invoke(MESSAGE)["answer"] == "the answer"


def test_config_is_not_changed(typical: Play) -> None:
    """The config of a caller stays as it is."""
    config: Any = {"configurable": {"thread_id": typical.scene.thread}, "tags": ["mine"]}
    typical.agent.invoke(MESSAGE, config)
    assert config == {"configurable": {"thread_id": typical.scene.thread}, "tags": ["mine"]}


@differs("nodes that follow each other and ask nobody share a superstep, under the name of the first")
def test_callbacks(typical: Play) -> None:
    """Callbacks of the config hear of every node and every call of a model."""
    heard, requests = Heard(), (len(typical.calls) + 1 if typical.model else 2) + typical.stumbles
    typical.agent.invoke(MESSAGE, {**typical.config, "callbacks": [heard]})
    assert {"session_event", typical.node, "session_close"} <= set(heard.chains)
    assert "tool_filter" not in heard.chains
    assert len(heard.models) == requests


def test_callbacks_of_tools(typical: Play) -> None:
    """Callbacks of the config hear of the start and the end of every call of a tool."""
    heard = Heard()
    output = typical.agent.invoke(MESSAGE, {**typical.config, "callbacks": [heard]})
    results = [message for message in output["messages"] if message.type == "tool"][-len(typical.calls) :]
    assert heard.tools == [("work__read", {"name": name}) for name in typical.calls]
    assert [(each.tool_call_id, each.text) for each in heard.results] == [
        (each.tool_call_id, each.text) for each in results
    ]


def test_callbacks_of_errors(scene: Scene) -> None:
    """Callbacks of the config hear of a call of a tool that fails, in the place of its end."""
    heard = Heard()
    plan = scene.plan(scene.step("s1", "work.fail"))
    agent = scene.agent(plan, "the answer", approval={"plan": "never"})
    agent.invoke(MESSAGE, {**scene.config, "callbacks": [heard]})
    assert (heard.tools, heard.results) == ([("work__fail", {"name": "s1"})], [])
    assert "s1 is broken" in heard.errors[0]


def test_tags_and_metadata(typical: Play) -> None:
    """Tags and metadata of the config reach the calls of models."""
    heard = Heard()
    more: Any = {"callbacks": [heard], "tags": ["mine"], "metadata": {"customer": "acme"}}
    typical.agent.invoke(MESSAGE, {**typical.config, **more})
    for tags, metadata in heard.models:
        assert "mine" in tags
        assert metadata["customer"] == "acme"


def test_metadata_reach_checkpoints(typical: Play) -> None:
    """Metadata of the config are kept with the checkpoints."""
    typical.agent.invoke(MESSAGE, {**typical.config, "metadata": {"customer": "acme"}})
    state = typical.agent.get_state(typical.config)
    assert (state.metadata or {}).get("customer") == "acme"


def test_batch(scene_of_words: Play) -> None:
    """`batch` runs several inputs, each with a config of its own."""
    configs: Any = [{"configurable": {"thread_id": f"t{number}"}} for number in range(3)]
    outputs = scene_of_words.agent.batch([MESSAGE] * 3, configs)
    assert [output["answer"] for output in outputs] == ["the answer"] * 3
    assert len({output["messages"][0].id for output in outputs}) == 3


def test_async_batch(scene_of_words: Play) -> None:
    """`abatch` does so from an event loop."""
    configs: Any = [{"configurable": {"thread_id": f"t{number}"}} for number in range(3)]
    outputs = asyncio.run(scene_of_words.agent.abatch([MESSAGE] * 3, configs))
    assert [output["answer"] for output in outputs] == ["the answer"] * 3


def test_name(typical: Play) -> None:
    """A compiled graph has a name, under which it is traced and drawn."""
    heard = Heard()
    typical.agent.invoke(MESSAGE, {**typical.config, "callbacks": [heard]})
    assert heard.chains[0] == typical.agent.name


def test_run_name(typical: Play) -> None:
    """`run_name` names one call instead."""
    heard = Heard()
    typical.agent.invoke(MESSAGE, {**typical.config, "callbacks": [heard], "run_name": "mine"})
    assert heard.chains[0] == "mine"


@pytest.fixture
def scene_of_words(reading: Play) -> Play:
    """An agent that answers without a plan."""
    return Play(reading.scene.agent("the answer", planning={"mode": "never"}), reading.scene)
