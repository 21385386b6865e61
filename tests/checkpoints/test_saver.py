"""The saver: LangGraph's conformance suite, any event loop and none, and the stock saver's file."""

from __future__ import annotations

import asyncio
import itertools
import operator
import sqlite3
import threading
import uuid
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Durability, interrupt
from typing_extensions import TypedDict

from planwright.checkpoints.saver import LOOK_KEY, Saver
from planwright.checkpoints.thread_state.packing import Packer
from planwright.domain.errors import SetupError
from planwright.records.stores import Stores, open_stores
from tests.opened_store import store_url
from tests.patience import PATIENCE_S

BASE = {"put", "put_writes", "get_tuple", "list", "delete_thread"}
MORE = {"delete_for_runs", "copy_thread", "prune"}


class Words(TypedDict):
    words: Annotated[list[str], operator.add]


def build(saver: BaseCheckpointSaver[Any]) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Build a graph of two nodes; the second asks a person."""

    def first(state: Words) -> Words:
        return {"words": ["first"]}

    def second(state: Words) -> Words:
        return {"words": [str(interrupt("which word?"))]}

    graph = StateGraph(Words)
    graph.add_node("first", first)
    graph.add_node("second", second)
    graph.add_edge(START, "first")
    graph.add_edge("first", "second")
    graph.add_edge("second", END)
    return graph.compile(checkpointer=saver)


def thread() -> RunnableConfig:
    return {"configurable": {"thread_id": str(uuid.uuid4())}}


async def test_the_saver_passes_langgraphs_conformance_suite(tmp_path: Path) -> None:
    @checkpointer_test(name="planwright")
    async def factory() -> AsyncGenerator[BaseCheckpointSaver[Any], None]:
        stores = open_stores(tmp_path / uuid.uuid4().hex)
        yield stores.saver
        stores.close()

    report = await validate(factory)
    failures = [line for result in report.results.values() for line in result.failures]
    assert failures == []
    assert report.passed_all_base()
    passed = {name for name, result in report.results.items() if result.passed}
    missing = {name for name, result in report.results.items() if not result.detected}
    assert (passed, missing) == (BASE | MORE, set())
    assert sum(result.tests_passed for result in report.results.values()) >= 50


def test_a_thread_is_begun_on_one_event_loop_and_ended_on_another(stores: Stores) -> None:
    graph, config = build(stores.saver), thread()
    asyncio.run(graph.ainvoke({"words": []}, config))
    result = asyncio.run(graph.ainvoke(Command(resume="second"), config))
    assert result["words"] == ["first", "second"]


def test_a_thread_is_begun_without_an_event_loop_and_ended_on_one(stores: Stores) -> None:
    graph, config = build(stores.saver), thread()
    graph.invoke({"words": []}, config)
    result = asyncio.run(graph.ainvoke(Command(resume="second"), config))
    assert result["words"] == ["first", "second"]
    assert graph.get_state(config).values["words"] == ["first", "second"]


async def test_the_sync_methods_work_beside_a_running_event_loop(stores: Stores) -> None:
    graph, config = build(stores.saver), thread()
    await graph.ainvoke({"words": []}, config)
    found = stores.saver.get_tuple(config)
    assert found is not None
    assert found.checkpoint["channel_values"]["words"] == ["first"]
    listed = [item async for item in stores.saver.alist(config)]
    assert [item.config for item in stores.saver.list(config)] == [item.config for item in listed]


def test_a_reopened_file_goes_on_where_it_stood(tmp_path: Path) -> None:
    config = thread()
    first = open_stores(tmp_path)
    build(first.saver).invoke({"words": []}, config)
    first.close()
    second = open_stores(tmp_path)
    assert build(second.saver).invoke(Command(resume="later"), config)["words"] == ["first", "later"]
    second.close()


def test_a_deleted_thread_is_gone_and_others_stay(stores: Stores) -> None:
    graph, gone, kept = build(stores.saver), thread(), thread()
    graph.invoke({"words": []}, gone)
    graph.invoke({"words": []}, kept)
    stores.saver.delete_thread(gone["configurable"]["thread_id"])
    assert stores.saver.get_tuple(gone) is None
    assert stores.saver.get_tuple(kept) is not None


@pytest.mark.parametrize("current", [None, f"{9:032}.0.5", f"{9:032}.ffffff", 9])
def test_a_later_version_comes_later_as_a_text(stores: Stores, current: Any) -> None:
    versions = [str(current)] if isinstance(current, str) else []
    for _ in range(100):
        versions.append(stores.saver.get_next_version(versions[-1] if versions else current, None))
    assert versions == sorted(versions)
    with closing(sqlite3.connect(":memory:")) as connection:
        served = SqliteSaver(connection).get_next_version(versions[-1], None)  # as LangGraph's server counts
    if current != "00000009.ffffff":
        assert versions[-1] < served < stores.saver.get_next_version(served, None)


@pytest.mark.parametrize("unknown", ["nobody", "' OR 1=1 --"])
def test_an_unknown_thread_has_no_checkpoint(stores: Stores, unknown: str) -> None:
    build(stores.saver).invoke({"words": []}, thread())
    assert isinstance(stores.saver, Saver)
    assert stores.saver.get_tuple({"configurable": {"thread_id": unknown, "checkpoint_ns": ""}}) is None


def turns(stores: Stores, config: RunnableConfig, count: int) -> None:
    """Add that many messages to a conversation, one a superstep."""

    class Talk(TypedDict):
        messages: Annotated[list[Any], add_messages]

    def say(state: Talk) -> dict[str, Any]:
        return {"messages": [AIMessage("x" * 1000)]}

    graph = StateGraph(Talk)
    graph.add_node("say", say)
    graph.add_edge(START, "say")
    compiled: CompiledStateGraph[Any, Any, Any, Any] = graph.compile(checkpointer=stores.saver)
    for _ in range(count):
        compiled.invoke({"messages": []}, config)


def size_of(stores: Stores, config: RunnableConfig) -> int:
    query = "SELECT sum(length(value)) FROM contents WHERE thread_id = ?"
    thread_id = config["configurable"]["thread_id"]
    return int(stores.database.call("read", lambda c: c.execute(query, (thread_id,)).fetchone()[0]))


def test_a_conversation_is_stored_once(stores: Stores) -> None:
    config = thread()
    turns(stores, config, 40)
    stores.saver.prune([config["configurable"]["thread_id"]])
    checkpoint = stores.saver.get_tuple(config)
    assert checkpoint is not None
    assert len(checkpoint.checkpoint["channel_values"]["messages"]) == 40
    assert size_of(stores, config) < 1.5 * 40 * 1000


def test_what_a_task_wrote_is_queued_behind_the_checkpoint_that_it_leans_on(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, saver = thread(), stores.saver
    turns(stores, config, 1)
    before = saver.get_tuple(config)
    assert before is not None
    checkpoint, prepared, overtaken = empty_checkpoint(), threading.Event(), threading.Event()
    prepare = saver._jobs.put

    def slowly(*args: Any) -> Any:
        job = prepare(*args)
        prepared.set()
        overtaken.wait(0.3)  # another thread has that long to be first
        return job

    monkeypatch.setattr(saver._jobs, "put", slowly)
    with ThreadPoolExecutor(1) as pool:
        put = pool.submit(saver.put, before.config, checkpoint, {"source": "loop", "step": 9}, {})
        assert prepared.wait(PATIENCE_S)
        saver.put_writes(before.config, [("messages", ["x" * 5000])], "task")
        overtaken.set()
        assert put.result(PATIENCE_S)["configurable"]["checkpoint_id"] == checkpoint["id"]


def test_a_message_that_a_caller_changes_is_not_changed_in_the_store(stores: Stores) -> None:
    config = thread()
    turns(stores, config, 1)
    for _ in range(2):
        checkpoint = stores.saver.get_tuple(config)
        assert checkpoint is not None
        (message,) = checkpoint.checkpoint["channel_values"]["messages"]
        assert (message.content, message.additional_kwargs) == ("x" * 1000, {})
        message.content = "changed"
        message.additional_kwargs["changed"] = True


def changing(saver: BaseCheckpointSaver[Any]) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Build a graph whose third node changes an old message where it stands, and returns it."""

    def call(state: MessagesState) -> Any:
        tool_call = {"name": "pay", "args": {"amount": 1}, "id": "call"}
        return {"messages": [AIMessage("Pay", id="asked", tool_calls=[tool_call])]}

    def wait(state: MessagesState) -> Any:
        return {"messages": [AIMessage("Waiting")]}

    def change(state: MessagesState) -> Any:
        asked = next(message for message in state["messages"] if message.id == "asked")
        assert isinstance(asked, AIMessage)
        asked.additional_kwargs["edited"] = True
        asked.tool_calls[0]["args"]["amount"] = 2
        return {"messages": [asked]}

    graph = StateGraph(MessagesState)
    for name, node in (("call", call), ("wait", wait), ("change", change), ("end", wait)):
        graph.add_node(name, node)
    edges = itertools.pairwise((START, "call", "wait", "change", "end", END))
    for source, target in edges:
        graph.add_edge(source, target)
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("awaited", [False, True])
def test_what_a_node_changed_in_a_message_is_stored(
    stores: Stores, durability: Durability, awaited: bool
) -> None:
    config, graph = thread(), changing(stores.saver)
    if awaited:
        asyncio.run(graph.ainvoke({"messages": "go"}, config, durability=durability))
    else:
        graph.invoke({"messages": "go"}, config, durability=durability)
    stores.database.call("landed", lambda _: None)
    with closing(open_stores(stores.database.path.parent, url=store_url())) as other:
        asked = changing(other.saver).get_state(config).values["messages"][1]
    assert (asked.tool_calls[0]["args"], asked.additional_kwargs) == ({"amount": 2}, {"edited": True})


async def test_a_graph_of_the_users_own_goes_on_when_its_checkpoint_is_durable(stores: Stores) -> None:
    """Only a run of ours knows what to do again when what it handed over is lost."""

    async def look(state: MessagesState) -> Any:
        with closing(open_stores(stores.database.path.parent, url=store_url())) as other:
            checkpoints = [item async for item in other.saver.alist(config)]
        return {"messages": AIMessage(str(len(checkpoints)))}

    graph, config = StateGraph(MessagesState), thread()
    graph.add_node("first", look)
    graph.add_node("second", look)
    graph.add_edge(START, "first")
    graph.add_edge("first", "second")
    state = await graph.compile(checkpointer=stores.saver).ainvoke(
        {"messages": []}, config, durability="sync"
    )
    assert [message.content for message in state["messages"]] == ["2", "3"]


def test_what_was_looked_at_is_put_together_once_and_handed_over_once(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, put_together = thread(), 0
    unpack = Packer.unpack

    def counting(*args: Any) -> Any:
        nonlocal put_together
        put_together += 1
        return unpack(*args)

    monkeypatch.setattr(Packer, "unpack", counting)
    looking: RunnableConfig = {"configurable": {**config["configurable"], LOOK_KEY: True}}
    turns(stores, config, 2)
    put_together = 0
    looked_at, read, again = (stores.saver.get_tuple(each) for each in (looking, config, config))
    assert looked_at is not None
    assert read is not None
    assert again is not None
    assert put_together == 2
    looked_at.checkpoint["versions_seen"]["say"] = {"branch:to:say": "99999999.000000"}  # as a snapshot does
    looked_at.checkpoint["channel_versions"]["messages"] = "99999999.000000"
    assert read.checkpoint == again.checkpoint
    assert (
        read.checkpoint["channel_values"]["messages"][0]
        is not again.checkpoint["channel_values"]["messages"][0]
    )


def test_what_was_looked_at_is_read_anew_where_the_thread_went_on(stores: Stores) -> None:
    config = thread()
    turns(stores, config, 1)
    stores.saver.get_tuple({"configurable": {**config["configurable"], LOOK_KEY: True}})
    with closing(open_stores(stores.database.path.parent, url=store_url())) as other:
        turns(other, config, 1)
    read = stores.saver.get_tuple(config)
    assert read is not None
    assert len(read.checkpoint["channel_values"]["messages"]) == 2


def test_a_value_that_is_gone_is_missed(stores: Stores) -> None:
    config = thread()
    turns(stores, config, 1)
    stores.database.call("lose", lambda c: c.execute("DELETE FROM contents WHERE type = 'log'").rowcount)
    with pytest.raises(SetupError, match="lacks a value"):
        stores.saver.get_tuple(config)
