"""https://docs.langchain.com/oss/python/langgraph/streaming"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
from langgraph.types import Command

from tests.documented.conftest import MESSAGE, Play, differs

pytestmark = pytest.mark.long


def chunks(play: Play, mode: Any, **options: Any) -> list[Any]:
    """Stream the request in a mode."""
    return list(play.agent.stream(MESSAGE, play.config, stream_mode=mode, **options))


def test_values(typical: Play) -> None:
    """`values` streams the whole state after each superstep."""
    before = len(typical.history())
    values = chunks(typical, "values")
    assert len(values[0]["messages"]) == typical.earlier + 1
    assert len(values[-1]["messages"]) == typical.earlier + len(typical.types)
    assert values[-1]["answer"] == "the answer"
    assert len(values) == len(list(typical.agent.get_state_history(typical.config))) - before - 1


@differs(
    "nodes that follow each other and ask nobody share a superstep, under the name of the first; `tasks`, "
    "`debug` and breakpoints show each"
)
def test_updates(typical: Play) -> None:
    """`updates` streams what each node returned, by its name."""
    names = [name for update in chunks(typical, "updates") for name in update]
    assert names.index("session_event") < names.index(typical.node) < names.index("session_close")
    assert "tool_filter" not in names


def test_default(typical: Play) -> None:
    """Without a mode, updates are streamed."""
    assert all(isinstance(chunk, dict) for chunk in typical.agent.stream(MESSAGE, typical.config))


def test_messages(typical: Play) -> None:
    """`messages` streams what models write as pairs of a chunk and its metadata."""
    pairs = chunks(typical, "messages")
    text = "".join(chunk.text for chunk, _ in pairs if isinstance(chunk, AIMessageChunk))
    assert text == "the answer"


def test_messages_of_a_loop_come_once(calling: Play) -> None:
    """Each message of a loop comes once: joined, they are its answer and its calls."""
    pairs = chunks(calling, "messages")
    answer: Any = Command(resume="approve")
    pairs += calling.agent.stream(answer, calling.config, stream_mode="messages")
    brought = [chunk.tool_call_id for chunk, _ in pairs if isinstance(chunk, ToolMessage)]
    assert brought == ["c0", "c1"]
    spoken = [chunk for chunk, _ in pairs if isinstance(chunk, AIMessage)]
    assert "".join(chunk.text for chunk in spoken) == calling.agent.get_state(calling.config).values["answer"]
    assert [call["args"] for chunk in spoken for call in chunk.tool_calls] == [{"name": "a"}, {"name": "b"}]


def test_messages_of_tools(typical: Play) -> None:
    """`messages` streams what nodes return as messages, too: a `ToolMessage` for each call."""
    results = [chunk for chunk, _ in chunks(typical, "messages") if isinstance(chunk, ToolMessage)]
    assert [result.name for result in results] == ["work__read"] * len(typical.calls)
    kept = typical.agent.get_state(typical.config).values["messages"][typical.earlier :]
    assert [(each.id, each.text) for each in results] == [
        (each.id, each.text) for each in kept if each.type == "tool"
    ]


def test_messages_name_their_node(typical: Play) -> None:
    """The metadata of a chunk name the node that called the model, so that a client can filter by it."""
    pairs = chunks(typical, "messages")
    nodes = {data["langgraph_node"] for chunk, data in pairs if chunk.text}
    assert nodes <= {typical.node, "session_close"}
    spoken = {
        data["langgraph_node"] for chunk, data in pairs if isinstance(chunk, AIMessageChunk) and chunk.text
    }
    assert spoken == {typical.node}


def test_custom(typical: Play) -> None:
    """`custom` streams what nodes write with the stream writer: the events of the run."""
    types = [event["type"] for event in chunks(typical, "custom")]
    assert types[0] == "run_start"
    told = (
        ["tool_call_start", "tool_call_end"] if typical.model else ["plan_step_start", "plan_step_complete"]
    )
    assert [type_ for type_ in types if type_ in told] == told * len(typical.calls)


def test_debug(typical: Play) -> None:
    """`debug` streams tasks, their results and checkpoints, each with its step."""
    kinds = {chunk["type"] for chunk in chunks(typical, "debug")}
    assert kinds == {"checkpoint", "task", "task_result"}


def test_tasks(typical: Play) -> None:
    """`tasks` streams the start and the end of each task."""
    names = [chunk["name"] for chunk in chunks(typical, "tasks")]
    assert (names.count("tool_filter"), names.count(typical.node)) == (2, 2)


def test_checkpoints(typical: Play) -> None:
    """`checkpoints` streams each checkpoint as `get_state` shows it."""
    streamed = chunks(typical, "checkpoints")
    newest = typical.agent.get_state(typical.config)
    assert streamed[-1]["config"]["configurable"] == newest.config["configurable"]


def test_several_modes(typical: Play) -> None:
    """Several modes at once stream pairs of a mode and a chunk."""
    modes = {mode for mode, _ in chunks(typical, ["updates", "custom", "messages"])}
    assert modes == {"updates", "custom", "messages"}


def test_subgraphs(calling: Play) -> None:
    """`subgraphs=True` streams the namespace of the graph with each chunk."""
    namespaces = {namespace for namespace, _ in chunks(calling, "updates", subgraphs=True)}
    assert () in namespaces
    assert any(namespace and namespace[0].startswith("agentic_loop:") for namespace in namespaces)


def test_async(typical: Play) -> None:
    """`astream` streams the same from an event loop."""

    async def collect() -> list[Any]:
        stream = typical.agent.astream(MESSAGE, typical.config, stream_mode="updates")
        return [name async for update in stream for name in update]

    assert typical.node in asyncio.run(collect())


def test_output_keys(typical: Play) -> None:
    """`output_keys` chooses the channels of the output."""
    assert typical.ask(output_keys=["answer"]) == {"answer": "the answer"}


def test_one_output_key(typical: Play) -> None:
    """One output key returns its value alone."""
    assert typical.ask(output_keys="answer") == "the answer"


def test_invoke_with_a_mode(typical: Play) -> None:
    """`invoke` with another mode returns the list of its chunks."""
    updates = typical.ask(stream_mode="updates")
    assert isinstance(updates, list)
    assert any(typical.node in update for update in updates)


def test_stream_of_a_resume(waiting: Play) -> None:
    """A resume streams like a beginning."""
    answer: Any = Command(resume={"decisions": [{"type": "approve"}]})
    pairs = list(waiting.agent.stream(answer, waiting.config, stream_mode="messages"))
    assert "".join(chunk.text for chunk, _ in pairs if isinstance(chunk, AIMessage)) == "the answer"


def test_parts(typical: Play) -> None:
    """`version="v2"` streams parts that name their type, namespace and data."""
    parts = list(typical.agent.stream(MESSAGE, typical.config, stream_mode=["updates"], version="v2"))
    assert {part["type"] for part in parts} == {"updates"}
    assert all(part["ns"] == () and "data" in part for part in parts)


def test_output_with_interrupts(writing: Play) -> None:
    """`invoke` with `version="v2"` returns value and interrupts apart."""
    output = writing.ask(version="v2")
    assert len(output.interrupts) == 1
    assert output.value["status"] == "interrupted"
    assert "__interrupt__" not in output.value


def test_events(typical: Play) -> None:
    """`astream_events` tells of the start, the stream and the end of chains, models and tools."""

    async def collect() -> list[Any]:
        events = typical.agent.astream_events(MESSAGE, typical.config, version="v2")
        return [event async for event in events]

    events = asyncio.run(collect())
    seen = {event["event"] for event in events}
    assert seen >= {"on_chain_start", "on_chain_end", "on_chat_model_start", "on_chat_model_stream"}
    started = [event["data"]["input"] for event in events if event["event"] == "on_tool_start"]
    ended = [event["data"]["output"].name for event in events if event["event"] == "on_tool_end"]
    assert started == [{"name": name} for name in typical.calls]
    assert ended == ["work__read"] * len(typical.calls)


def test_print_mode(typical: Play, capsys: Any) -> None:
    """`print_mode` prints chunks beside what is returned."""
    assert typical.ask(print_mode="updates")["answer"] == "the answer"
    assert f"'{typical.node}'" in capsys.readouterr().out


def test_a_stream_that_is_left(reading: Play) -> None:
    """A stream can be left early; the thread goes on from its last checkpoint."""
    stream: Iterator[Any] = reading.agent.stream(MESSAGE, reading.config, stream_mode="updates")
    for update in stream:
        if "verify" in update:
            break
    stream.close()  # type: ignore[attr-defined]
    assert reading.agent.invoke(None, reading.config)["answer"] == "the answer"
    assert reading.scene.done == ["s1"]
