"""`langgraph dev` through the Python SDK: what it shows, and conversations over the shared store."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langgraph.types import Command
from langgraph_sdk.client import SyncLangGraphClient
from langgraph_sdk.errors import BadRequestError, NotFoundError

from planwright.graph.building import open_agent
from tests.cli.conftest import ask
from tests.server.conftest import Server
from tests.server.conversation import APPROVE, DECISIONS, Decision, Errand, trace

pytestmark = [pytest.mark.enable_socket, pytest.mark.long]
GRAPH = "planwright"


def begin(client: SyncLangGraphClient, given: dict[str, Any], **options: Any) -> tuple[str, dict[str, Any]]:
    """Begin a run on a new thread; returns the thread's id and the output."""
    thread = client.threads.create()["thread_id"]
    return thread, run(client, thread, input=given, **options)


def run(client: SyncLangGraphClient, thread: str, **given: Any) -> dict[str, Any]:
    """Send something to a thread and wait for the output, `__error__` in it when it was refused."""
    output: Any = client.runs.wait(thread, GRAPH, raise_error=False, **given)
    assert isinstance(output, dict)
    return output


def answer(client: SyncLangGraphClient, thread: str, resume: Any) -> dict[str, Any]:
    """Answer what waits on a thread."""
    return run(client, thread, command={"resume": resume})


def assistant(client: SyncLangGraphClient) -> str:
    """Find the id of the assistant that the server makes for the graph."""
    (found,) = client.assistants.search(graph_id=GRAPH)
    return str(found["assistant_id"])


def test_every_schema_of_the_graph_is_shown(client: SyncLangGraphClient) -> None:
    schemas: Any = client.assistants.get_schemas(assistant(client))
    shown = {name: sorted(schemas[f"{name}_schema"]["properties"]) for name in ("input", "output")}
    output = ["answer", "answer_value", "messages", "plan", "status", "verdict"]
    assert shown == {"input": ["messages"], "output": output}
    assert {"plan", "results", "gate_id"} <= schemas["state_schema"]["properties"].keys()


def test_every_option_of_a_run_has_a_default_and_a_description(client: SyncLangGraphClient) -> None:
    schemas: Any = client.assistants.get_schemas(assistant(client))
    options = schemas["context_schema"]["properties"]
    assert "planning_mode" in options
    assert [name for name, option in options.items() if not option.keys() >= {"default", "description"}] == []


def test_every_node_says_what_it_does(client: SyncLangGraphClient) -> None:
    drawn: Any = client.assistants.get_graph(assistant(client), xray=True)
    nodes = {node["id"]: node.get("metadata", {}).get("description") for node in drawn["nodes"]}
    assert nodes.keys() >= {"planner", "verify", "plan_approval", "dispatch", "lane:wait_gate"}
    assert [
        name for name, said in nodes.items() if not said and not name.endswith(("__start__", "__end__"))
    ] == []


@pytest.mark.parametrize("decision", DECISIONS, ids=str)
def test_a_run_is_begun_answered_and_ended(
    client: SyncLangGraphClient, server: Server, decision: Decision
) -> None:
    errand = Errand()
    thread, asked = begin(client, errand.input)
    (waiting,) = asked["__interrupt__"]
    assert waiting["value"]["action_requests"][0]["name"] == "approve_plan"
    assert decision.name in waiting["value"]["review_configs"][0]["allowed_decisions"]
    assert client.threads.get(thread)["status"] == "interrupted"

    ended = answer(client, thread, decision.resume)
    assert ended["status"] == decision.status
    assert errand.is_done(server.desk) is decision.writes
    found = trace(server.desk, thread)
    assert (found.status, found.gates) == (decision.status, [(decision.gate, "server")])
    assert found.resolved == 1
    assert found.executions == ([1, 1] if decision.writes else [])


@pytest.mark.parametrize("decision", DECISIONS, ids=str)
def test_a_run_begun_in_python_is_answered_through_the_server(
    client: SyncLangGraphClient, server: Server, decision: Decision
) -> None:
    errand = Errand()
    thread = ask(server.desk.folder, errand.request).thread_id
    (waiting,) = client.threads.get_state(thread)["interrupts"]

    ended = answer(client, thread, {waiting["id"]: decision.resume})
    assert ended["status"] == decision.status
    assert errand.is_done(server.desk) is decision.writes
    found = trace(server.desk, thread)
    assert (found.gates, found.resolved) == ([(decision.gate, "server")], 1)
    assert found.executions == ([1, 1] if decision.writes else [])


def test_a_run_begun_through_the_server_is_answered_in_python(
    client: SyncLangGraphClient, server: Server
) -> None:
    errand = Errand()
    thread, _ = begin(client, errand.input)
    agent = open_agent(server.desk.folder)
    try:
        ended = agent.invoke(Command(resume=APPROVE), {"configurable": {"thread_id": thread}})
    finally:
        agent.close()
    assert ended["status"] == "completed"
    state: Any = client.threads.get_state(thread)
    assert (state["next"], state["values"]["status"]) == ([], "completed")
    found = trace(server.desk, thread)
    assert (found.resolved, found.executions) == (1, [1, 1])


def test_a_run_begun_on_the_command_line_is_answered_through_the_server(
    client: SyncLangGraphClient, server: Server
) -> None:
    errand = Errand()
    asked = server.desk.run("run", errand.request, "--json")
    assert asked.code == 3
    thread = asked.json["thread_id"]
    assert answer(client, thread, APPROVE)["status"] == "completed"
    found = trace(server.desk, thread)
    assert (found.resolved, found.executions) == (1, [1, 1])


def test_a_run_begun_through_the_server_is_answered_on_the_command_line(
    client: SyncLangGraphClient, server: Server
) -> None:
    errand = Errand()
    thread, asked = begin(client, errand.input)
    done = server.desk.run("approve", asked["__interrupt__"][0]["value"]["gate_id"])
    assert done.code == 0
    assert errand.is_done(server.desk)
    assert client.threads.get_state(thread)["next"] == []
    found = trace(server.desk, thread)
    assert found.gates == [("approved", "cli")]
    assert (found.resolved, found.executions) == (1, [1, 1])


def test_a_step_with_a_gate_of_its_own_is_asked_for_with_its_plan_and_run_once(
    client: SyncLangGraphClient, server: Server
) -> None:
    request = {"messages": [{"role": "user", "content": "Refund order A-7 with amount 12.50"}]}
    thread, _ = begin(client, request)
    assert answer(client, thread, APPROVE)["status"] == "completed"
    found = trace(server.desk, thread)
    assert found.gates == [("approved", "server"), ("approved", "plan")]
    assert (found.resolved, found.executions) == (2, [1, 1])


def test_a_thread_begun_elsewhere_is_known_at_once_by_its_name_and_in_lists(
    client: SyncLangGraphClient, server: Server
) -> None:
    before = client.threads.count()
    named, listed = (ask(server.desk.folder, Errand().request).thread_id for _ in range(2))
    assert client.threads.get(named)["metadata"] is not None
    assert client.threads.get_state(named)["next"]
    ids = [thread["thread_id"] for thread in client.threads.search(limit=1000)]
    assert (ids.count(named), ids.count(listed)) == (1, 1)
    assert client.threads.count() >= before + 2


def test_a_thread_that_was_deleted_does_not_come_back(client: SyncLangGraphClient, server: Server) -> None:
    thread = ask(server.desk.folder, Errand().request).thread_id
    client.threads.delete(thread)
    with pytest.raises(NotFoundError):
        client.threads.get(thread)
    assert thread not in {known["thread_id"] for known in client.threads.search(limit=1000)}


def test_an_answer_that_is_none_is_refused_with_its_cause_and_the_gate_stays_open(
    client: SyncLangGraphClient, server: Server
) -> None:
    errand = Errand()
    thread, _ = begin(client, errand.input)
    refused = answer(client, thread, {"decisions": [{"type": "maybe"}]})
    assert refused["__error__"]["error"] == "GateError"
    assert "is no answer to a gate" in refused["__error__"]["message"]
    assert not errand.is_done(server.desk)
    assert answer(client, thread, APPROVE)["status"] == "completed"


def test_gates_that_are_open_at_once_are_one_question_and_take_one_answer(
    client: SyncLangGraphClient, server: Server
) -> None:
    request = {"messages": [{"role": "user", "content": "Agree with name ann. Agree with name bob."}]}
    thread, _ = begin(client, request)
    state: Any = client.threads.get_state(thread)
    listed: Any = client.threads.get(thread)["interrupts"]
    (asked,) = state["interrupts"]
    assert [each for task in state["tasks"] for each in task["interrupts"]] == [asked]
    assert [each["value"] for of_task in listed.values() for each in of_task] == [asked["value"]]
    names = [action["args"]["questions"][0].split()[1] for action in asked["value"]["action_requests"]]
    assert sorted(names) == ["ann", "bob"]
    one: Any = {"type": "respond", "message": f"{names[0]} may"}
    refused = answer(client, thread, {"decisions": [one]})
    assert "1 decision for 2 actions" in refused["__error__"]["message"]
    other = {"type": "respond", "message": f"{names[1]} may"}
    ended = answer(client, thread, {asked["id"]: {"decisions": [one, other]}})
    assert ended["status"] == "completed"
    for name in ("ann", "bob"):
        assert f"{name} goes: {name} may" in ended["answer"]
    assert client.threads.get(thread)["status"] == "idle"


def test_a_second_answer_is_refused(client: SyncLangGraphClient, server: Server) -> None:
    thread, _ = begin(client, Errand().input)
    answer(client, thread, APPROVE)
    again = answer(client, thread, {"decisions": [{"type": "reject"}]})
    assert "waits for a decision" in again["__error__"]["message"]
    found = trace(server.desk, thread)
    assert (found.gates, found.resolved, found.executions) == ([("approved", "server")], 1, [1, 1])


def test_a_new_message_over_an_open_gate_is_refused(client: SyncLangGraphClient, server: Server) -> None:
    thread, asked = begin(client, Errand().input)
    refused = run(client, thread, input=Errand().input)
    assert asked["__interrupt__"][0]["value"]["gate_id"] in refused["__error__"]["message"]
    assert trace(server.desk, thread).status == "waiting"


def test_the_way_to_a_node_around_the_gate_is_refused(client: SyncLangGraphClient, server: Server) -> None:
    errand = Errand()
    thread, _ = begin(client, errand.input)
    refused = run(client, thread, command={"goto": "dispatch", "update": {"approved": True}})
    assert "around the gates" in refused["__error__"]["message"]
    assert not errand.is_done(server.desk)


def test_nothing_goes_on_from_an_old_checkpoint(client: SyncLangGraphClient, server: Server) -> None:
    errand = Errand()
    thread, _ = begin(client, errand.input)
    old: Any = client.threads.get_history(thread, limit=5)[1]["checkpoint"]
    before = client.threads.get_state(thread)["checkpoint"]
    for given in ({"input": None}, {"command": {"resume": APPROVE}}, {"input": errand.input}):
        refused = run(client, thread, checkpoint=old, **given)
        first = "planwright approve" if given.get("input") else "planwright fork"
        assert first in refused["__error__"]["message"]
    with pytest.raises(BadRequestError, match="planwright fork"):
        client.threads.update_state(thread, {"approved": True}, as_node="plan_approval", checkpoint=old)
    assert client.threads.get_state(thread)["checkpoint"] == before
    assert not errand.is_done(server.desk)


def test_an_answer_may_name_the_newest_checkpoint(client: SyncLangGraphClient, server: Server) -> None:
    """LangGraph's `useStream` always does."""
    thread, _ = begin(client, Errand().input)
    newest: Any = client.threads.get_state(thread)["checkpoint"]
    ended = run(client, thread, command={"resume": APPROVE}, checkpoint=newest)
    assert ended["status"] == "completed"
    assert trace(server.desk, thread).executions == [1, 1]


def test_every_superstep_is_on_disk_whatever_durability_the_client_asks_for(
    client: SyncLangGraphClient, server: Server
) -> None:
    thread, _ = begin(client, Errand().input, durability="exit")
    query = "SELECT count(*) FROM checkpoints WHERE checkpoint_ns = '' AND thread_id = '{}'"
    ((kept,),) = server.desk.rows(query.format(thread))
    assert kept > len(client.threads.get_history(thread, limit=50)) > 1  # a page is shown three a turn


def test_options_of_a_run_are_taken_from_the_context(client: SyncLangGraphClient, server: Server) -> None:
    errand = Errand()
    thread, planned = begin(client, errand.input, context={"dry_run": True, "channel": "cli"})
    assert planned["status"] == "planned"
    ((kept,),) = server.desk.rows(f"SELECT context FROM runs WHERE thread_id = '{thread}'")
    assert json.loads(kept)["channel"] == "server"
    assert json.loads(kept)["tenant"] == "default"


def test_a_breakpoint_stops_a_run_and_it_goes_on(client: SyncLangGraphClient, server: Server) -> None:
    thread, stopped = begin(client, Errand().input, interrupt_before=["planner"])
    assert "__error__" not in stopped
    assert client.threads.get_state(thread)["next"] == ["planner"]
    assert "__interrupt__" in run(client, thread, input=None)
    assert answer(client, thread, APPROVE)["status"] == "completed"


def test_a_run_whose_thread_was_deleted_is_still_approved_and_run_once(
    client: SyncLangGraphClient, server: Server
) -> None:
    errand = Errand()
    thread, _ = begin(client, errand.input)
    client.threads.delete(thread)
    agent = open_agent(server.desk.folder)
    try:
        ended = agent.invoke(Command(resume=APPROVE), {"configurable": {"thread_id": thread}})
    finally:
        agent.close()
    assert ended["status"] == "completed"
    assert errand.is_done(server.desk)
    found = trace(server.desk, thread)
    assert (found.resolved, found.executions) == (1, [1, 1])


def test_a_result_too_large_for_the_state_comes_back_whole(
    client: SyncLangGraphClient, server: Server
) -> None:
    (server.desk.folder / "long.txt").write_text("frost alert " * 1000, "utf-8")
    errand = Errand()
    text = f"Read long.txt, then summarize it and save the summary to {errand.name}"
    thread, asked = begin(client, {"messages": [{"role": "user", "content": text}]})
    assert "__interrupt__" in asked, asked
    assert answer(client, thread, APPROVE)["status"] == "completed"
    assert "frost alert" in (server.desk.folder / errand.name).read_text("utf-8")
    state: Any = client.threads.get_state(thread)["values"]
    large = [result["output"] for result in state["results"].values() if result["blob"]]
    assert large
    assert set(large) == {None}
