"""The agent behind LangGraph's server, without the server: what a client brings is not the server's word."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from planwright.domain.errors import RunError, SetupError
from planwright.extras.demo.workspace import write_workspace
from planwright.graph.entry.checks import read_state

USER = {"identity": "rex", "tenant": "acme", "rights": ["request"]}
INPUT = {"messages": [{"role": "user", "content": "Save hello to note.md"}]}
PLAYED: list[dict[str, Any]] = [
    {"__pregel_task_id": "x"},
    {"__pregel_task_id": "x", "__pregel_resuming": True, "__pregel_resume_map": {"i": {"type": "approve"}}},
    {"__pregel_checkpointer": False},
    {"__pregel_runtime": {"context": {}}},
    {"__pregel_planwright_lease": "x"},
    {"__pregel_planwright_look": True},
]


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """What `langgraph.json` names, loaded as the server loads it, over a fresh demo workspace."""
    write_workspace(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    sys.modules.pop("planwright.graph.server", None)
    module = importlib.import_module("planwright.graph.server")
    yield module.graph
    module.agent.close()
    del sys.modules["planwright.graph.server"]


def config(**more: Any) -> Any:
    """Make the config of a call, as it comes from the server."""
    return {"configurable": {"thread_id": "t", "langgraph_auth_user": USER, **more}}


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "a message": lambda graph, config: graph.ainvoke(INPUT, config),
    "an answer": lambda graph, config: graph.ainvoke(Command(resume={"type": "approve"}), config),
    "going on": lambda graph, config: graph.ainvoke(None, config),
    "a read": lambda graph, config: graph.aget_state(config),
    "an update": lambda graph, config: graph.aupdate_state(config, {"approved": True}, as_node="dispatch"),
    "updates": lambda graph, config: graph.abulk_update_state(config, [[]]),
    "the history": lambda graph, config: anext(graph.aget_state_history(config)),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("played", PLAYED, ids=lambda played: next(reversed(played)))
async def test_no_client_plays_the_graph_around_an_agent(
    served: Any, tmp_path: Path, call: str, played: dict[str, Any]
) -> None:
    for beside in ({}, played):
        around = {**config(**({} if beside else played)), **beside}
        with pytest.raises(RunError, match="no client may set this"):
            await CALLS[call](served, around)
    assert await served.stores.runs.latest("t") is None
    assert not (tmp_path / "note.md").exists()


async def test_what_the_server_sets_itself_stands_in_nobodys_way(served: Any) -> None:
    ours = config(__pregel_node_finished=lambda _: None, __pregel_stream_messages_v2=True)
    assert (await served.ainvoke(INPUT, ours))["status"] == "interrupted"
    assert (await served.aget_state(ours)).interrupts


@pytest.mark.parametrize(
    ("words", "thread"), [("Save\0hello", "t"), (INPUT["messages"][0]["content"], "t\0")], ids=["words", "id"]
)
async def test_a_request_with_a_nul_is_refused(served: Any, words: str, thread: str) -> None:
    with pytest.raises(SetupError, match="holds a NUL character"):
        await served.ainvoke({"messages": [{"role": "user", "content": words}]}, config(thread_id=thread))
    assert await served.stores.runs.latest(thread) is None


async def test_a_second_server_of_a_workspace_leaves_the_token_of_the_first(
    served: Any, tmp_path: Path
) -> None:
    path = tmp_path / ".planwright" / "server.token"
    first = path.read_text("utf-8")
    module = importlib.reload(importlib.import_module("planwright.graph.server"))
    assert path.read_text("utf-8") == first
    assert module.credentials.caller(first, loopback=True) is not None
    module.agent.close()
    path.chmod(0o644)  # others may have read it
    module = importlib.reload(module)
    assert path.read_text("utf-8") != first
    module.agent.close()


async def test_an_open_gate_has_words_of_its_own_below_the_question_as_long_as_it_is_open(
    served: Any, tmp_path: Path
) -> None:
    await served.ainvoke({"messages": [("user", "What tickets are open?")]}, config())
    chunks = [chunk async for chunk in served.astream(INPUT, config(), stream_mode=["values", "debug"])]
    state = await served.aget_state(config())
    (newest, *_) = [state async for state in served.aget_state_history(config())]
    streamed = [body for mode, body in chunks if mode == "values"][-1]
    for values in (state.values, newest.values, streamed):
        *_, question, words = values["messages"]
        assert (question.type, words.type) == ("human", "ai")
        assert words.text == state.interrupts[0].value["description"]
        assert words.id == f"{state.interrupts[0].value['gate_id']}:question"
    assert (await read_state(served, config())).values["messages"][-1].type == "human"
    ended = await served.ainvoke(Command(resume={"type": "approve"}), config())
    assert ended["status"] == "completed"
    for values in (ended, (await served.aget_state(config())).values):
        assert words.id not in {message.id for message in values["messages"]}
