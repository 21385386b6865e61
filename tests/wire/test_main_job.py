"""The main job with a provider over HTTP: what is sent, what comes of it, what is recorded."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from planwright.extras.demo.demo_command import REQUEST
from tests.wire.asking import Ended, ask, provider, settings_for
from tests.wire.conftest import Serve
from tests.wire.scripted_server import Reply, Request, ScriptedServer, says

pytestmark = pytest.mark.enable_socket

MAIL = "{{steps.s1.output.messages.0.text}}"
PLAN = {
    "goal": "Ticket and tell the team of the Acme invoice",
    "steps": [
        {"id": "s1", "capability": "mail.search", "params": {"query": "invoice", "sender": "Acme"}},
        {"id": "s2", "capability": "text.extract", "params": {"text": MAIL, "kind": "amount"}},
        {
            "id": "s3",
            "capability": "tickets.create",
            "params": {"title": "Invoice from Acme", "amount": "{{steps.s2.output.value}}"},
        },
        {"id": "s4", "capability": "text.summarize", "params": {"text": MAIL}},
        {"id": "s5", "capability": "channel.post", "params": {"text": "{{steps.s4.output.summary}}"}},
    ],
}


class Job:
    """The job, done once: both servers' requests and how it ended."""

    def __init__(self, workspace: Path, model: ScriptedServer, channel: ScriptedServer) -> None:
        self.workspace = workspace
        self.channel = channel
        host = channel.base_url.split("/")[2]
        settings = settings_for(
            workspace,
            {"local": provider(model)},
            channels={"team": {"url": f"http://{host}/hook"}},
            egress={"allow": [host]},
        )
        self.ended: Ended = ask(settings, REQUEST)
        self.asked: list[Request] = model.requests


@pytest.fixture
def job(workspace: Path, serve: Serve) -> Job:
    model = serve(says(json.dumps(PLAN)), says("Ticket 7 holds EUR 4,310.50; the team knows."))
    return Job(workspace, model, serve(Reply(body='{"message_id": "m1"}')))


def test_it_ends_with_the_models_answer_after_two_requests(job: Job) -> None:
    assert job.ended.status == "completed"
    assert job.ended.answer == "Ticket 7 holds EUR 4,310.50; the team knows."
    assert [request.path for request in job.asked] == ["/v1/chat/completions"] * 2
    with closing(sqlite3.connect(job.workspace / "tickets.db")) as tickets:
        newest = tickets.execute("SELECT title, amount FROM tickets ORDER BY id DESC LIMIT 1").fetchone()
    assert newest == ("Invoice from Acme", "EUR 4,310.50")
    (post,) = job.channel.requests
    assert "EUR 4,310.50" in post.body["text"]


def test_the_key_and_the_model_of_the_settings_are_sent(job: Job) -> None:
    assert {request.key for request in job.asked} == {"key-of-local"}
    assert {request.body["model"] for request in job.asked} == {"my-model"}


def test_the_planner_is_sent_the_task_and_the_capabilities_with_their_arguments(job: Job) -> None:
    sent, system = job.asked[0].sent("user"), job.asked[0].sent("system")
    assert REQUEST in sent
    assert re.search(r"^mail\.search\(.*query.*\) -> .*messages", system, re.MULTILINE)
    for name in ("text.extract", "tickets.create", "channel.post"):
        assert re.search(rf"^{name}[ (\[]", system, re.MULTILINE), name
    assert '"amount"' in sent
    assert "one JSON object" in system
    assert job.asked[0].body["tool_choice"]["function"]["name"] == "planner"


def test_the_mails_are_sent_to_the_answering_model_only(job: Job) -> None:
    planner, answer = job.asked
    assert "INV-2026-1187" not in json.dumps(planner.body)
    assert "INV-2026-1187" in answer.sent("user")
    assert answer.body.keys().isdisjoint({"response_format", "tools"})


def test_the_usage_is_what_the_server_said(job: Job) -> None:
    calls = job.ended.of("llm_call")
    assert [(call["role"], call["provider"]) for call in calls] == [
        ("planner", "local"),
        ("respond", "local"),
    ]
    assert [(call["input_tokens"], call["output_tokens"]) for call in calls] == [(1000, 200)] * 2
    assert job.ended.record["usage"]["model_calls"] == 2
    assert job.ended.record["usage"]["tokens"] == 2400
