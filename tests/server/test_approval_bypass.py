"""Attempts to get past an approval over the LangGraph server: none has an effect, a proper approval has."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from langgraph_sdk.client import SyncLangGraphClient

from tests.server.conftest import Server
from tests.server.conversation import APPROVE, Errand, trace
from tests.server.test_python_sdk import GRAPH, answer, begin, run

pytestmark = [pytest.mark.enable_socket, pytest.mark.long]
WRONG = "gate_0000000000000000"
Asked = dict[str, Any]
Attempt = Callable[[SyncLangGraphClient, str, Asked], Any]


def resume(given: Callable[[Asked], Any]) -> Attempt:
    """Answer with something that depends on what is asked."""
    return lambda client, thread, asked: answer(client, thread, given(asked))


def command(**given: Any) -> Attempt:
    """Send a command."""
    return lambda client, thread, asked: run(client, thread, command=given)


def go_on(**options: Any) -> Attempt:
    """Approve with options of a run beside it."""
    return lambda client, thread, asked: run(client, thread, command={"resume": APPROVE}, **options)


def from_around(client: SyncLangGraphClient, thread: str) -> dict[str, Any]:
    """Write what LangGraph hands an agent that is a node, with an approval of all that waits on a thread."""
    asked: Any = client.threads.get_state(thread)["interrupts"]
    answers = {each["id"]: {"type": "approve", "decided_by": "boss"} for each in asked}
    return {"__pregel_task_id": "x", "__pregel_resuming": True, "__pregel_resume_map": answers}


def through_an_assistant(client: SyncLangGraphClient, thread: str) -> Any:
    """Go on through an assistant whose own config plays the graph around."""
    configurable: Any = from_around(client, thread)
    own = client.assistants.create(GRAPH, config={"configurable": configurable})
    return client.runs.wait(thread, own["assistant_id"], input=None, raise_error=False)


REFUSED: dict[str, Attempt] = {
    "a wrong gate": resume(lambda asked: {**APPROVE, "gate_id": WRONG}),
    "a wrong interrupt": resume(lambda asked: {"0" * 32: APPROVE}),
    "a stale hash": resume(lambda asked: {"type": "approve", "plan_hash": "0" * 64}),
    "a dict": resume(lambda asked: {"approved": True}),
    "a one": resume(lambda asked: 1),
    "JSON as a text": resume(lambda asked: '{"decisions": [{"type": "approve"}]}'),
    "two decisions": resume(lambda asked: {"decisions": [{"type": "approve"}, {"type": "approve"}]}),
    "some of the steps": resume(lambda asked: {"type": "approve", "steps": ["s1"]}),
    "another gate inside": resume(
        lambda asked: {
            "gate_id": asked["gate_id"],
            "decisions": [{"type": "approve", "gate_id": WRONG}],
        }
    ),
    "a way around": command(goto="dispatch", update={"approved": True}),
    "an update beside the answer": command(resume=APPROVE, update={"approved": True}),
    "a new message": lambda client, thread, asked: run(client, thread, input=Errand().input),
    "another tenant": go_on(context={"tenant": "other"}),
    "another who asked": go_on(context={"requested_by": "boss"}),
    "a rehearsal": go_on(context={"dry_run": True}),
    "a lane": go_on(config={"configurable": {"checkpoint_ns": "lane:1"}}),
    "a node of a graph around": go_on(checkpoint={"__pregel_task_id": "x"}),
    "an answer from a graph around": lambda client, thread, asked: run(
        client, thread, input=None, config={"configurable": from_around(client, thread)}
    ),
    "a second run from a graph around": lambda client, thread, asked: run(
        client, thread, input=Errand().input, checkpoint={"__pregel_task_id": "x"}
    ),
    "an assistant that is a graph around": lambda client, thread, asked: through_an_assistant(client, thread),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", REFUSED)
def test_an_attempt_is_refused_and_a_proper_approval_still_counts_once(
    name: str, client: SyncLangGraphClient, server: Server
) -> None:
    errand = Errand()
    thread, asked = begin(client, errand.input)
    refused = REFUSED[name](client, thread, asked["__interrupt__"][0]["value"])
    assert refused["__error__"]["error"] in ("GateError", "RunError")
    assert refused["__error__"]["message"].count("\n") < 6
    assert not errand.is_done(server.desk)
    assert trace(server.desk, thread).gates == [("open", "")]
    assert answer(client, thread, APPROVE)["status"] == "completed"
    found = trace(server.desk, thread)
    assert (found.resolved, found.executions) == (1, [1, 1])


@pytest.mark.parametrize("node", ["verify", "plan_gate", "plan_approval", "dispatch", "planning"])
def test_a_state_forged_over_the_server_writes_nothing(
    node: str, client: SyncLangGraphClient, server: Server
) -> None:
    errand = Errand()
    thread, _ = begin(client, errand.input)
    client.threads.update_state(thread, {"approved": True, "gate_id": ""}, as_node=node)
    run(client, thread, input=None)
    assert not errand.is_done(server.desk)
    assert "approved" not in [status for status, _ in trace(server.desk, thread).gates]


def threads(client: SyncLangGraphClient) -> set[str]:
    """Name the threads that the server knows."""
    return {found["thread_id"] for found in client.threads.search(limit=1000)}


def test_the_answer_to_a_copied_thread_says_nothing_of_the_one_it_was_copied_from(
    client: SyncLangGraphClient, server: Server
) -> None:
    errand = Errand()
    thread, _ = begin(client, errand.input)
    known = threads(client)
    client.threads.copy(thread)
    (copied,) = threads(client) - known
    assert answer(client, copied, APPROVE)["status"] == "completed"
    assert trace(server.desk, copied).executions == [1, 1]
    assert trace(server.desk, thread).executions == []
    assert client.threads.get(thread)["status"] == "interrupted"
    assert answer(client, thread, APPROVE)["status"] == "completed"
    assert trace(server.desk, thread).executions == [1, 1]


def test_an_answer_without_a_thread_is_refused(client: SyncLangGraphClient, server: Server) -> None:
    errand = Errand()
    _, asked = begin(client, errand.input)
    gate = asked["__interrupt__"][0]["value"]["gate_id"]
    with pytest.raises(httpx.HTTPStatusError):
        client.runs.wait(None, GRAPH, command={"resume": {gate: "approve"}})
    assert not errand.is_done(server.desk)


def test_a_channel_that_is_claimed_is_not_believed(client: SyncLangGraphClient, server: Server) -> None:
    thread, _ = begin(client, Errand().input)
    run(client, thread, command={"resume": APPROVE}, context={"channel": "cli"})
    assert trace(server.desk, thread).gates == [("approved", "server")]


def test_of_two_answers_at_the_same_moment_one_counts(client: SyncLangGraphClient, server: Server) -> None:
    thread, _ = begin(client, Errand().input)

    def send(_: int) -> str:
        try:
            ended: Any = client.runs.wait(
                thread, GRAPH, command={"resume": APPROVE}, raise_error=False, multitask_strategy="enqueue"
            )
        except Exception as refused:  # noqa: BLE001 - whatever the server says, it is no approval
            return type(refused).__name__
        return "refused" if "__error__" in ended else "taken"

    with ThreadPoolExecutor(2) as pool:
        how = list(pool.map(send, range(2)))
    assert how.count("taken") == 1
    found = trace(server.desk, thread)
    assert (found.resolved, found.executions) == (1, [1, 1])
