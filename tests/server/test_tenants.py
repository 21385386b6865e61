"""Over the server a token says who answers and whose threads are there to see."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient
from langgraph_sdk.errors import NotFoundError, PermissionDeniedError

from planwright.domain.run_context import RunContext
from planwright.graph.building import open_agent
from planwright.security.credentials import login_name
from tests.server.conftest import Server
from tests.server.conversation import APPROVE, Errand, trace
from tests.server.test_python_sdk import GRAPH, answer, begin, run

pytestmark = [pytest.mark.enable_socket, pytest.mark.long]
ADA = "ada@example.com"


@pytest.fixture
def ada(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[SyncLangGraphClient]:
    """The SDK with the token of ada, who is of the tenant acme."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with get_sync_client(url=server.url, headers={"Authorization": f"Bearer {server.ada}"}) as connected:
        yield connected


def deciders(server: Server, thread: str) -> list[tuple[str, str]]:
    """Read who decided the gates of a thread, and as which tenant its run is on record."""
    query = f"SELECT decided_by, tenant FROM gates WHERE thread_id = '{thread}'"
    return [(by, tenant) for by, tenant in server.desk.rows(query)]


def test_an_answer_is_given_by_the_person_of_the_token(
    client: SyncLangGraphClient, ada: SyncLangGraphClient, server: Server
) -> None:
    for connected, person, tenant in ((client, login_name(), "default"), (ada, ADA, "acme")):
        thread, _ = begin(connected, Errand().input)
        assert answer(connected, thread, APPROVE)["status"] == "completed"
        assert deciders(server, thread) == [(person, tenant)]
        assert trace(server.desk, thread).gates == [("approved", "server")]


@pytest.mark.parametrize(
    "form",
    [{"type": "approve", "decided_by": "boss"}, {"decisions": [{"type": "approve", "decided_by": ADA}]}],
)
def test_an_answer_in_a_name_of_its_own_is_refused(
    ada: SyncLangGraphClient, server: Server, form: dict[str, Any]
) -> None:
    thread, _ = begin(ada, Errand().input)
    refused = answer(ada, thread, form)["__error__"]
    assert refused["error"] == "GateError"
    assert "the credential does" in refused["message"]
    assert trace(server.desk, thread).gates == [("open", "")]


@pytest.mark.parametrize("tenant", ["default", "other", "", None])
def test_a_tenant_that_is_claimed_is_refused(ada: SyncLangGraphClient, server: Server, tenant: Any) -> None:
    thread = ada.threads.create()["thread_id"]
    refused = run(ada, thread, input=Errand().input, context={"tenant": tenant})
    assert "that of the token: acme" in refused["__error__"]["message"]
    assert server.desk.rows(f"SELECT * FROM runs WHERE thread_id = '{thread}'") == []


READS: dict[str, Callable[[SyncLangGraphClient, str], Any]] = {
    "thread": lambda client, thread: client.threads.get(thread),
    "state": lambda client, thread: client.threads.get_state(thread),
    "history": lambda client, thread: client.threads.get_history(thread),
    "runs": lambda client, thread: client.runs.list(thread),
    "copy": lambda client, thread: client.threads.copy(thread),
    "delete": lambda client, thread: client.threads.delete(thread),
    "update": lambda client, thread: client.threads.update(thread, metadata={"tenant": "default"}),
    "state update": lambda client, thread: client.threads.update_state(thread, {"approved": True}),
    "answer": lambda client, thread: client.runs.wait(thread, GRAPH, command={"resume": APPROVE}),
    "claim": lambda client, thread: client.threads.create(thread_id=thread, if_exists="do_nothing"),
    "begin": lambda client, thread: client.runs.wait(
        thread, GRAPH, input=Errand().input, if_not_exists="create"
    ),
}


@pytest.mark.parametrize("known", [True, False], ids=["begun here", "begun elsewhere"])
def test_a_thread_is_not_there_for_another_tenant(
    client: SyncLangGraphClient, ada: SyncLangGraphClient, server: Server, known: bool
) -> None:
    errand = Errand()
    thread = begin(ada, errand.input)[0] if known else _begun_in_python(server, errand)
    for name, read in READS.items():
        with pytest.raises((NotFoundError, httpx.HTTPStatusError)) as refused:
            read(client, thread)
        assert refused.value.response.status_code == 404, name
    assert thread not in {found["thread_id"] for found in client.threads.search(limit=1000)}
    assert trace(server.desk, thread).gates == [("open", "")]

    assert thread in {found["thread_id"] for found in ada.threads.search(limit=1000)}
    assert answer(ada, thread, APPROVE)["status"] == "completed"
    assert errand.is_done(server.desk)
    assert deciders(server, thread) == [(ADA, "acme")]


def test_the_person_at_the_machine_answers_for_any_tenant(ada: SyncLangGraphClient, server: Server) -> None:
    errand = Errand()
    thread, asked = begin(ada, errand.input)
    assert server.desk.run("approve", asked["__interrupt__"][0]["value"]["gate_id"]).code == 0
    assert trace(server.desk, thread).gates == [("approved", "cli")]
    assert errand.is_done(server.desk)


def test_the_token_of_a_start_is_its_owners_alone(server: Server) -> None:
    path = server.desk.folder / ".planwright" / "server.token"
    assert path.stat().st_mode & 0o077 == 0
    assert (server.desk.folder / ".langgraph_api").stat().st_mode & 0o077 == 0


def test_a_run_of_another_thread_is_not_deleted(
    client: SyncLangGraphClient, ada: SyncLangGraphClient, server: Server
) -> None:
    errand = Errand()
    thread, _ = begin(ada, errand.input)
    (foreign,) = ada.runs.list(thread)
    own, _ = begin(client, Errand().input)
    for at in (own, client.threads.create()["thread_id"], str(uuid.uuid4())):
        with pytest.raises(NotFoundError):
            client.runs.delete(at, foreign["run_id"])
    assert answer(ada, thread, APPROVE)["status"] == "completed"
    assert errand.is_done(server.desk)
    (mine,) = client.runs.list(own)
    client.runs.delete(own, mine["run_id"])
    assert client.runs.list(own) == []


CLAIMS: dict[str, Callable[[SyncLangGraphClient, str], Any]] = {
    "claim": lambda client, thread: client.threads.create(thread_id=thread),
    "do nothing": lambda client, thread: client.threads.create(thread_id=thread, if_exists="do_nothing"),
    "state": lambda client, thread: client.threads.get_state(thread),
    "delete": lambda client, thread: client.threads.delete(thread),
    "begin": lambda client, thread: client.runs.wait(
        thread, GRAPH, input=Errand().input, if_not_exists="create"
    ),
}


def nothing(state: MessagesState) -> MessagesState:
    """Be the node before an agent."""
    return {"messages": []}


@pytest.mark.parametrize("begun", [True, False], ids=["its agent waits", "its agent has not begun"])
def test_a_thread_of_a_graph_of_ones_own_is_nobody_elses(
    client: SyncLangGraphClient, ada: SyncLangGraphClient, server: Server, begun: bool
) -> None:
    thread, agent = str(uuid.uuid4()), open_agent(server.desk.folder)
    graph = StateGraph(MessagesState, context_schema=RunContext)
    graph.add_node("before", nothing)
    graph.add_node("agent", agent)
    graph.add_edge(START, "before")
    graph.add_edge("before", "agent")
    compiled: Any = graph.compile(
        checkpointer=agent.stores.saver, interrupt_before=None if begun else ["agent"]
    )
    errand, config = Errand(), {"configurable": {"thread_id": thread}}
    try:
        compiled.invoke(errand.input, config, context=RunContext(tenant="acme"), durability="sync")
        for name, claim in CLAIMS.items():
            for connected in (client,) if begun else (client, ada):
                with pytest.raises((NotFoundError, httpx.HTTPStatusError)) as refused:
                    claim(connected, thread)
                assert refused.value.response.status_code == 404, name
        if begun:
            ada.threads.create(thread_id=thread)
            resume: Command[str] = Command(resume=APPROVE)
            compiled.invoke(resume, config, context=RunContext(tenant="acme"), durability="sync")
    finally:
        agent.close()
    assert errand.is_done(server.desk) is begun


def _begun_in_python(server: Server, errand: Errand) -> str:
    thread, agent = str(uuid.uuid4()), open_agent(server.desk.folder)
    try:
        agent.invoke(errand.input, {"configurable": {"thread_id": thread}}, context=RunContext(tenant="acme"))
    finally:
        agent.close()
    return thread


def test_who_may_only_look_sees_the_tenants_threads_and_changes_nothing(
    ada: SyncLangGraphClient, server: Server
) -> None:
    thread, _ = begin(ada, Errand().input)
    before = trace(server.desk, thread)
    headers = {"Authorization": f"Bearer {server.kim}"}
    with get_sync_client(url=server.url, headers=headers) as kim:
        assert kim.threads.get_state(thread)["next"]
        attempts: list[Callable[[], Any]] = [
            lambda: kim.runs.wait(thread, GRAPH, command={"resume": APPROVE}),
            lambda: kim.runs.wait(thread, GRAPH, input={}, command={"resume": APPROVE}),
            lambda: kim.runs.wait(None, GRAPH, input=Errand().input),
            lambda: kim.threads.update_state(thread, {"approved": True}),
            lambda: kim.threads.delete(thread),
            lambda: kim.threads.create(),
        ]
        for attempt in attempts:
            with pytest.raises((PermissionDeniedError, httpx.HTTPStatusError)) as refused:
                attempt()
            assert refused.value.response.status_code == 403
    assert trace(server.desk, thread) == before
