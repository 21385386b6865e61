"""https://docs.langchain.com/oss/python/langgraph/streaming"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
from langgraph.types import Command

from tests.documented.conftest import MESSAGE, Play

pytestmark = pytest.mark.long


def chunks(play: Play, mode: Any, **options: Any) -> list[Any]:
    """Stream the request in a mode."""
    return list(play.agent.stream(MESSAGE, play.config, stream_mode=mode, **options))


def test_values(reading: Play) -> None:
    """`values` streams the whole state after each superstep."""
    values = chunks(reading, "values")
    assert [message.text for message in values[0]["messages"]] == ["Wipe it"]
    assert values[-1]["answer"] == "the answer"


def test_updates(reading: Play) -> None:
    """`updates` streams what each node returned, by its name."""
    names = [name for update in chunks(reading, "updates") for name in update]
    assert names.index("planner") < names.index("verify") < names.index("respond")


def test_default(reading: Play) -> None:
    """Without a mode, updates are streamed."""
    assert all(isinstance(chunk, dict) for chunk in reading.agent.stream(MESSAGE, reading.config))


def test_messages(reading: Play) -> None:
    """`messages` streams what models write as pairs of a chunk and its metadata."""
    pairs = chunks(reading, "messages")
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


def test_messages_of_tools(reading: Play) -> None:
    """`messages` streams what nodes return as messages, too: a `ToolMessage` for each call."""
    results = [chunk for chunk, _ in chunks(reading, "messages") if isinstance(chunk, ToolMessage)]
    assert [result.name for result in results] == ["work__read"]


def test_messages_name_their_node(reading: Play) -> None:
    """The metadata of a chunk name the node that called the model, so that a client can filter by it."""
    nodes = {data["langgraph_node"] for chunk, data in chunks(reading, "messages") if chunk.text}
    assert nodes == {"respond"}


def test_custom(reading: Play) -> None:
    """`custom` streams what nodes write with the stream writer: the events of the run."""
    types = [event["type"] for event in chunks(reading, "custom")]
    assert types[0] == "run_start"
    assert {"plan_created", "plan_step_complete"} <= set(types)


def test_debug(reading: Play) -> None:
    """`debug` streams tasks, their results and checkpoints, each with its step."""
    kinds = {chunk["type"] for chunk in chunks(reading, "debug")}
    assert kinds == {"checkpoint", "task", "task_result"}


def test_tasks(reading: Play) -> None:
    """`tasks` streams the start and the end of each task."""
    names = [chunk["name"] for chunk in chunks(reading, "tasks")]
    assert names.count("planner") == 2


def test_checkpoints(reading: Play) -> None:
    """`checkpoints` streams each checkpoint as `get_state` shows it."""
    streamed = chunks(reading, "checkpoints")
    newest = reading.agent.get_state(reading.config)
    assert streamed[-1]["config"]["configurable"] == newest.config["configurable"]


def test_several_modes(reading: Play) -> None:
    """Several modes at once stream pairs of a mode and a chunk."""
    modes = {mode for mode, _ in chunks(reading, ["updates", "custom", "messages"])}
    assert modes == {"updates", "custom", "messages"}


def test_subgraphs(calling: Play) -> None:
    """`subgraphs=True` streams the namespace of the graph with each chunk."""
    namespaces = {namespace for namespace, _ in chunks(calling, "updates", subgraphs=True)}
    assert () in namespaces
    assert any(namespace and namespace[0].startswith("agentic_loop:") for namespace in namespaces)


def test_async(reading: Play) -> None:
    """`astream` streams the same from an event loop."""

    async def collect() -> list[Any]:
        stream = reading.agent.astream(MESSAGE, reading.config, stream_mode="updates")
        return [name async for update in stream for name in update]

    assert "respond" in asyncio.run(collect())


def test_output_keys(reading: Play) -> None:
    """`output_keys` chooses the channels of the output."""
    assert reading.ask(output_keys=["answer"]) == {"answer": "the answer"}


def test_one_output_key(reading: Play) -> None:
    """One output key returns its value alone."""
    assert reading.ask(output_keys="answer") == "the answer"


def test_invoke_with_a_mode(reading: Play) -> None:
    """`invoke` with another mode returns the list of its chunks."""
    updates = reading.ask(stream_mode="updates")
    assert isinstance(updates, list)
    assert any("respond" in update for update in updates)


def test_stream_of_a_resume(waiting: Play) -> None:
    """A resume streams like a beginning."""
    answer: Any = Command(resume={"decisions": [{"type": "approve"}]})
    pairs = list(waiting.agent.stream(answer, waiting.config, stream_mode="messages"))
    assert "".join(chunk.text for chunk, _ in pairs if isinstance(chunk, AIMessage)) == "the answer"


def test_parts(reading: Play) -> None:
    """`version="v2"` streams parts that name their type, namespace and data."""
    parts = list(reading.agent.stream(MESSAGE, reading.config, stream_mode=["updates"], version="v2"))
    assert {part["type"] for part in parts} == {"updates"}
    assert all(part["ns"] == () and "data" in part for part in parts)


def test_output_with_interrupts(writing: Play) -> None:
    """`invoke` with `version="v2"` returns value and interrupts apart."""
    output = writing.ask(version="v2")
    assert len(output.interrupts) == 1
    assert output.value["status"] == "interrupted"
    assert "__interrupt__" not in output.value


def test_events(reading: Play) -> None:
    """`astream_events` tells of the start, the stream and the end of chains and models."""

    async def collect() -> set[str]:
        events = reading.agent.astream_events(MESSAGE, reading.config, version="v2")
        return {event["event"] async for event in events}

    seen = asyncio.run(collect())
    assert seen >= {"on_chain_start", "on_chain_end", "on_chat_model_stream"}


def test_print_mode(reading: Play, capsys: Any) -> None:
    """`print_mode` prints chunks beside what is returned."""
    assert reading.ask(print_mode="updates")["answer"] == "the answer"
    assert "'respond'" in capsys.readouterr().out


def test_a_stream_that_is_left(reading: Play) -> None:
    """A stream can be left early; the thread goes on from its last checkpoint."""
    stream: Iterator[Any] = reading.agent.stream(MESSAGE, reading.config, stream_mode="updates")
    for update in stream:
        if "verify" in update:
            break
    stream.close()  # type: ignore[attr-defined]
    assert reading.agent.invoke(None, reading.config)["answer"] == "the answer"
    assert reading.scene.done == ["s1"]
