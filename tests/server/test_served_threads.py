"""Strategies of LangGraph's server: whatever a client does to a run, its thread takes the next message."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any, Literal

import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient
from langgraph_sdk.errors import ConflictError, NotFoundError, UnprocessableEntityError

from planwright.graph.building import open_agent
from tests.cli.desk import wait_until
from tests.server.conftest import Server
from tests.server.conversation import APPROVE, Errand, trace

pytestmark = [pytest.mark.enable_socket, pytest.mark.long]
GRAPH = "planwright"
NEXT: dict[str, Any] = {"messages": [{"role": "user", "content": "What tickets are open?"}]}


class Nap:
    """A run on a thread of its own that naps until it is woken."""

    def __init__(self, client: SyncLangGraphClient, folder: Path) -> None:
        self.client = client
        self.thread = client.threads.create()["thread_id"]
        self.name = f"woken-{self.thread}"
        self.folder = folder
        request: dict[str, Any] = {"messages": [{"role": "user", "content": f"Nap with name {self.name}"}]}
        self.run = client.runs.create(self.thread, GRAPH, input=request)["run_id"]
        assert wait_until(self.asleep)

    def asleep(self) -> bool:
        """Say whether the capability has been entered."""
        return (self.folder / f"asleep-{self.name}").exists()

    def wake(self) -> None:
        """Let the capability return."""
        (self.folder / self.name).touch()


@pytest.fixture
def nap(client: SyncLangGraphClient, server: Server) -> Nap:
    """A run that is under way."""
    return Nap(client, server.desk.folder)


def texts(state: Any) -> list[str]:
    """Read the texts of a conversation; its calls and results are left out."""
    return [each["content"] for each in state["messages"] if each["type"] != "tool" and each["content"]]


def check_usable(client: SyncLangGraphClient, thread: str) -> list[str]:
    """Check that a thread answers a new message, and return its conversation."""
    output: Any = client.runs.wait(thread, GRAPH, input=NEXT, raise_error=False)
    assert output.get("status") == "completed", output
    assert client.threads.get(thread)["status"] == "idle"
    return texts(output)


@pytest.mark.parametrize(("action", "kept"), [("interrupt", 4), ("rollback", 2)])
def test_a_cancelled_run_leaves_a_thread_that_answers(
    client: SyncLangGraphClient, nap: Nap, action: Literal["interrupt", "rollback"], kept: int
) -> None:
    client.runs.cancel(nap.thread, nap.run, wait=True, action=action)
    assert len(check_usable(client, nap.thread)) == kept


def test_a_run_that_was_stopped_goes_on_without_input(client: SyncLangGraphClient, nap: Nap) -> None:
    client.runs.cancel(nap.thread, nap.run, wait=True)
    nap.wake()
    output: Any = client.runs.wait(nap.thread, GRAPH, input=None)
    assert "napped" in output["answer"]
    check_usable(client, nap.thread)


def test_reject_refuses_a_second_run(client: SyncLangGraphClient, nap: Nap) -> None:
    with pytest.raises(ConflictError):
        client.runs.create(nap.thread, GRAPH, input=NEXT, multitask_strategy="reject")
    nap.wake()
    client.runs.join(nap.thread, nap.run)
    assert len(check_usable(client, nap.thread)) == 4


@pytest.mark.parametrize(("strategy", "kept"), [("interrupt", 4), ("rollback", 2), ("enqueue", 4)])
def test_a_second_run_takes_over_or_waits(
    client: SyncLangGraphClient, nap: Nap, strategy: Literal["interrupt", "rollback", "enqueue"], kept: int
) -> None:
    second = client.runs.create(nap.thread, GRAPH, input=NEXT, multitask_strategy=strategy)
    if strategy == "enqueue":
        nap.wake()
    output: Any = client.runs.join(nap.thread, second["run_id"])
    assert (output["status"], len(texts(output))) == ("completed", kept)
    if strategy == "rollback":
        with pytest.raises(NotFoundError):
            client.runs.get(nap.thread, nap.run)
    else:
        status = client.runs.get(nap.thread, nap.run)["status"]
        assert status == ("interrupted" if strategy == "interrupt" else "success")
    assert len(check_usable(client, nap.thread)) == kept + 2


def test_a_client_that_goes_away_stops_its_run(client: SyncLangGraphClient, server: Server) -> None:
    thread = client.threads.create()["thread_id"]
    request: dict[str, Any] = {"messages": [{"role": "user", "content": f"Nap with name away-{thread}"}]}
    stream: Any = client.runs.stream(
        thread, GRAPH, input=request, stream_mode="updates", on_disconnect="cancel"
    )
    next(chunk for chunk in stream if "verify" in str(chunk.data))
    stream.close()
    assert wait_until(lambda: client.threads.get(thread)["status"] == "interrupted")
    assert len(check_usable(client, thread)) == 4


def waiting(client: SyncLangGraphClient) -> tuple[str, Errand]:
    """Begin a run that waits for a decision."""
    errand, thread = Errand(), client.threads.create()["thread_id"]
    client.runs.wait(thread, GRAPH, input=errand.input)
    return thread, errand


def copied(client: SyncLangGraphClient, thread: str) -> str:
    """Copy a thread; the SDK says that nothing comes back, and hands over what came."""
    copy: Any = client.http.post(f"/threads/{thread}/copy", json=None)
    return str(copy["thread_id"])


def test_a_copied_thread_waits_for_an_answer_of_its_own(client: SyncLangGraphClient, server: Server) -> None:
    thread, errand = waiting(client)
    copy = copied(client, thread)
    (shown,) = client.threads.get_state(copy)["interrupts"]
    answer: Any = {"resume": {shown["id"]: APPROVE}}
    ended: Any = client.runs.wait(copy, GRAPH, command=answer)
    assert ended["status"] == "completed"
    assert errand.is_done(server.desk)
    assert trace(server.desk, thread).status == "waiting"
    for each in (thread, copy):
        if each == thread:
            client.runs.wait(each, GRAPH, command={"resume": APPROVE})
        assert trace(server.desk, each).executions == [1, 1]
        check_usable(client, each)


def test_a_copied_thread_with_several_gates_takes_no_answer_to_those_of_the_first(
    client: SyncLangGraphClient,
) -> None:
    request: Any = {"messages": [{"role": "user", "content": "Agree with name ann. Agree with name bob."}]}
    thread = client.threads.create()["thread_id"]
    client.runs.wait(thread, GRAPH, input=request)
    copy = copied(client, thread)
    refused: Any = client.runs.wait(copy, GRAPH, command=_as_shown(client, copy)[1], raise_error=False)
    assert "is a copy, and begins its plan anew" in refused["__error__"]["message"]
    id_, answer = _as_shown(client, copy)
    output: Any = client.runs.wait(copy, GRAPH, command={"resume": {id_: answer["resume"]}})
    assert output["status"] == "completed"
    assert all(f"{name} goes: May {name} go?" in output["answer"] for name in ("ann", "bob"))


def _as_shown(client: SyncLangGraphClient, thread: str) -> tuple[str, Any]:
    """Answer each question of a thread with its own words, in the order in which they are shown."""
    (shown,) = client.threads.get_state(thread)["interrupts"]
    value: Any = shown["value"]
    texts = [action["args"]["questions"][0] for action in value["action_requests"]]
    return shown["id"], {"resume": {"decisions": [{"type": "respond", "message": text} for text in texts]}}


def test_a_copy_of_an_ended_thread_goes_on_from_its_conversation(client: SyncLangGraphClient) -> None:
    thread, _ = waiting(client)
    client.runs.wait(thread, GRAPH, command={"resume": APPROVE})
    copy = copied(client, thread)
    assert len(check_usable(client, copy)) == 4


def test_the_id_of_a_deleted_thread_is_free(client: SyncLangGraphClient, server: Server) -> None:
    thread, errand = waiting(client)
    client.threads.delete(thread)
    client.threads.create(thread_id=thread)
    assert len(check_usable(client, thread)) == 2
    assert not errand.is_done(server.desk)


def test_a_run_needs_no_thread(client: SyncLangGraphClient) -> None:
    output: Any = client.runs.wait(None, GRAPH, input=NEXT)
    assert output["status"] == "completed"


def test_runs_are_begun_in_a_batch(client: SyncLangGraphClient) -> None:
    payload: Any = {"assistant_id": GRAPH, "input": NEXT}
    begun = client.runs.create_batch([payload] * 2)
    assert [run["status"] for run in begun] == ["pending", "pending"]


def test_the_store_keeps_items_of_a_tenant_for_itself(client: SyncLangGraphClient, server: Server) -> None:
    client.store.put_item(["notes"], key="monday", value={"text": "ship"})
    assert client.store.get_item(["notes"], key="monday")["value"] == {"text": "ship"}
    assert [item["key"] for item in client.store.search_items(["notes"])["items"]] == ["monday"]
    with get_sync_client(url=server.url, api_key=server.ada) as ada:
        assert ada.store.search_items(["notes"])["items"] == []
        assert ada.store.search_items(["default", "notes"])["items"] == []
        assert ada.store.list_namespaces()["namespaces"] == []


@pytest.mark.parametrize("more", [{"schedule": "0 4 * * *"}, {}], ids=["with a schedule", "without"])
def test_a_cron_is_refused_for_nobody_asks_when_it_runs(
    client: SyncLangGraphClient, more: dict[str, str]
) -> None:
    thread = client.threads.create()["thread_id"]
    for path in ("/runs/crons", f"/threads/{thread}/runs/crons"):
        with pytest.raises(UnprocessableEntityError) as refused:
            client.http.post(path, json={"assistant_id": GRAPH, "input": NEXT, **more})
        assert "this server runs no crons" in refused.value.response.json()["detail"]
    assert client.crons.count() == 0
    assert client.crons.search() == []


@pytest.mark.parametrize("paused", [False, True], ids=["queued", "paused"])
def test_a_new_message_does_not_end_a_run_that_waits_for_its_turn(
    client: SyncLangGraphClient, server: Server, paused: bool
) -> None:
    errand, thread, agent = Errand(), str(uuid.uuid4()), open_agent(server.desk.folder)
    try:
        agent.enqueue(errand.request, thread_id=thread)
        if paused:
            agent.pause(thread)
        assert client.threads.get(thread)["thread_id"] == thread
        refused: Any = client.runs.wait(thread, GRAPH, input=NEXT, raise_error=False)
        assert "has not ended" in refused["__error__"]["message"]
        assert trace(server.desk, thread).status == ("paused" if paused else "queued")
    finally:
        agent.close()
    assert server.desk.run("cancel", thread).code == 0
    assert check_usable(client, thread)


def test_metadata_are_bounded(client: SyncLangGraphClient) -> None:
    thread, huge = client.threads.create()["thread_id"], {"a": "x" * 64_000}
    for path, body in (
        ("/threads", {"metadata": huge}),
        (f"/threads/{thread}/runs/wait", {"assistant_id": GRAPH, "input": NEXT, "metadata": huge}),
        ("/runs/wait", {"assistant_id": GRAPH, "input": NEXT, "config": {"metadata": huge}}),
        ("/assistants", {"graph_id": GRAPH, "metadata": huge}),
    ):
        with pytest.raises(UnprocessableEntityError) as refused:
            client.http.post(path, json=body)
        assert "metadata may be 64,000 bytes" in refused.value.response.json()["detail"]
    with pytest.raises(UnprocessableEntityError):
        client.threads.update(thread, metadata=huge)
    assert len(check_usable(client, thread)) == 2


def test_a_thread_that_ended_elsewhere_takes_its_next_message_here(
    client: SyncLangGraphClient, server: Server
) -> None:
    thread, agent = str(uuid.uuid4()), open_agent(server.desk.folder)
    config: Any = {"configurable": {"thread_id": thread}}
    try:
        for turns in (4, 8):  # and back
            assert agent.invoke(NEXT, config)["status"] == "completed"
            assert len(check_usable(client, thread)) == turns
    finally:
        agent.close()
