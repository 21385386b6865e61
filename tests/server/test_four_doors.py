"""One run through four doors: Python, the command line and the server, in any order, on one store."""

from __future__ import annotations

import json

import pytest
from langgraph_sdk.client import SyncLangGraphClient

from planwright.graph.building import open_agent
from tests.cli.conftest import ask
from tests.server.conftest import Server
from tests.server.conversation import APPROVE, Errand, edited, trace
from tests.server.test_python_sdk import answer, begin

pytestmark = [pytest.mark.long, pytest.mark.enable_socket]


def test_begun_in_python_edited_on_the_command_line_approved_over_the_server_read_in_python(
    client: SyncLangGraphClient, server: Server
) -> None:
    errand, desk = Errand(), server.desk
    begun = ask(desk.folder, errand.request)
    listed = {row["thread_id"]: row["status"] for row in desk.run("ls", "--waiting", "--json").json["runs"]}
    assert listed[begun.thread_id] == "waiting"

    shown = desk.run("show", begun.thread_id, "--json").json
    plan = {key: shown["plan"][key] for key in ("goal", "steps")}
    plan["steps"][0]["params"]["text"] = "edited"
    path = desk.folder / f"{errand.name}.json"
    path.write_text(json.dumps(plan), "utf-8")
    assert desk.run("edit", begun.gate_id, "--file", str(path), "--no-input").code == 3

    assert answer(client, begun.thread_id, APPROVE)["status"] == "completed"

    agent = open_agent(desk.folder)
    try:
        state = agent.get_state({"configurable": {"thread_id": begun.thread_id}})
    finally:
        agent.close()
    assert state.values["status"] == "completed"
    assert errand.name in state.values["answer"]
    assert errand.is_done(desk, "edited")
    found = trace(desk, begun.thread_id)
    assert found.gates == [("edited", "cli"), ("approved", "server")]
    assert (found.resolved, found.executions) == (1, [1, 1])


def test_an_edit_over_the_server_is_asked_again_and_runs_as_edited(
    client: SyncLangGraphClient, server: Server
) -> None:
    errand = Errand()
    thread, asked = begin(client, errand.input)
    (waiting,) = asked["__interrupt__"]
    again = answer(client, thread, edited(waiting["value"]["shown"], "from the server"))
    (waiting,) = again["__interrupt__"]
    assert any("from the server" in line for line in waiting["value"]["shown"]["changes"])
    assert answer(client, thread, APPROVE)["status"] == "completed"
    assert errand.is_done(server.desk, "from the server")
    assert trace(server.desk, thread).resolved == 1


def test_feedback_that_no_model_can_use_leaves_the_gate_open(
    client: SyncLangGraphClient, server: Server
) -> None:
    errand = Errand()
    thread, _ = begin(client, errand.input)
    refused = answer(client, thread, {"decisions": [{"type": "respond", "message": "rather not"}]})
    assert "feedback needs a model" in str(refused)
    assert trace(server.desk, thread).gates == [("open", "")]
    assert not errand.is_done(server.desk)
