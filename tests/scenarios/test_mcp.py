"""Tools of real MCP servers in whole runs: steps, gates by hints, deaths of a server, and doubt."""

from __future__ import annotations

import os
import signal
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langgraph.types import Command

from planwright.domain.errors import PartsElsewhere
from planwright.domain.run_context import RunContext
from planwright.graph.agent import Agent
from planwright.models.scripted import ScriptedModel
from tests.cli.desk import wait_until
from tests.conftest import McpServers, bytes_read, one_has_read, processes

pytestmark = [pytest.mark.sqlite, pytest.mark.long]  # its stores last longer than a test

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

LONG = "trigger-long-running-operation"
EVERYTHING = "mcp-server-everything"
LEAST = 100  # bytes, of a call to it


@dataclass
class Desk:
    """One workspace whose agent keeps its servers from test to test, and a new thread for each."""

    scene: Scene
    agent: Agent
    model: ScriptedModel

    def ask(
        self,
        *replies: str | dict[str, Any],
        say: str = "Do it",
        callbacks: Sequence[Any] = (),
        **context: Any,
    ) -> dict[str, Any]:
        """Send a request to a model that replies like this."""
        self.scene.thread = str(uuid.uuid4())
        self.model.replies = [*["past"] * len(self.model.prompts), *replies]
        message = {"messages": [("user", say)]}
        config: Any = {**self.scene.config, "callbacks": [*callbacks]}
        output: dict[str, Any] = self.agent.invoke(message, config, context=RunContext(**context))
        return output

    def decide(self, decision: str, callbacks: Sequence[Any] = ()) -> dict[str, Any]:
        """Answer the one gate that is open."""
        config: Any = {**self.scene.config, "callbacks": [*callbacks]}
        answer: Any = Command(resume={"decisions": [{"type": decision}]})
        output: dict[str, Any] = self.agent.invoke(answer, config)
        return output

    def plan(self, *steps: dict[str, Any]) -> str:
        """Write a planner's reply."""
        return self.scene.plan(*steps)

    def effects(self) -> list[tuple[str, str]]:
        """List the effects of this thread: capability and status."""
        query = "SELECT capability, status FROM effects WHERE thread_id = ? ORDER BY intended_at"
        return [tuple(row.values()) for row in self.scene.rows(query, self.scene.thread)]

    def events(self, kind: str) -> list[dict[str, Any]]:
        """List what the events of a kind say, on this thread."""
        return [event["data"] for event in self.scene.journal() if event["type"] == kind]

    def path(self, name: str) -> Path:
        """Find a file of the folder that the server `filesystem` may use."""
        return self.scene.workspace / "files" / name


@pytest.fixture(scope="module")
def desk(
    stage: Callable[[Path], Scene], mcp_servers: McpServers, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("mcp")
    scene, model = stage(folder), ScriptedModel(replies=["never asked"])
    (folder / "files").mkdir()
    everything = mcp_servers.entry("everything", "stdio")
    mcp_servers.plug(
        folder,
        {
            "time": mcp_servers.entry("time", "--local-timezone", "UTC"),
            "filesystem": mcp_servers.entry("filesystem", "files"),
            "sqlite": mcp_servers.entry("sqlite", "--db-path", "shop.db"),
            "everything": everything,
            "grave": everything,
        },
    )
    others = processes("mcp-server")
    grave = {"grave": {"tools": {LONG: {"mode": "local_write", "effect": "blind"}}}}
    yield Desk(scene, scene.agent(model=model, mcp=grave), model)
    for agent in scene.agents:
        agent.close()
    assert processes("mcp-server") == others


class Heard(BaseCallbackHandler):
    """What a callback of the config hears of tools."""

    def __init__(self) -> None:
        self.starts: list[Any] = []
        self.ends: list[Any] = []
        self.errors: list[str] = []

    def on_tool_start(self, serialized: Any, input_str: str, **more: Any) -> None:
        """Hear of a call."""
        self.starts.append((more["name"], more["inputs"]))

    def on_tool_end(self, output: Any, **more: Any) -> None:
        """Hear of its result."""
        self.ends.append((output.name, output.text))

    def on_tool_error(self, error: BaseException, **more: Any) -> None:
        """Hear that it has failed."""
        self.errors.append(str(error))


def step(id_: str, capability: str, *after: str, **params: Any) -> dict[str, Any]:
    """Write a step that calls a tool."""
    return {"id": id_, "capability": capability, "params": params, "depends_on": list(after)}


def test_a_tool_is_a_step_and_its_result_goes_on(desk: Desk) -> None:
    now = step("now", "time.get_current_time", timezone="Europe/Oslo")
    note = step("note", "work.write", name="zone", text="{{steps.now.output.timezone}}")
    output = desk.ask(desk.plan(now, note), "the answer")  # a write with what a server said asks a person
    (asked,) = output["__interrupt__"]
    assert asked.value["shown"]["steps"][1]["values"]["text"] == "Europe/Oslo"
    assert desk.scene.done == []
    assert desk.scene.decide(desk.agent, "approve")["status"] == "completed"
    assert "zone:Europe/Oslo" in desk.scene.done
    assert desk.effects() == [("work.write", "done")]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("way", ["plan", "loop"])
@pytest.mark.parametrize("zone", ["Europe/Oslo", "Mars/Olympus"])
def test_callbacks_hear_of_a_tool_as_of_any_other(desk: Desk, way: str, zone: str) -> None:
    heard, name, args = Heard(), "time__get_current_time", {"timezone": zone}
    replies: list[Any] = [desk.plan(step("now", "time.get_current_time", **args)), "the answer"]
    if way == "loop":
        replies[0] = desk.scene.calls((name, args))
    mode = {"planning_mode": "always" if way == "plan" else "never"}
    desk.ask(*replies, callbacks=[heard], **mode)
    assert heard.starts == [(name, args)] * len(heard.starts)
    assert len(heard.starts) == len(heard.ends) + len(heard.errors) > 0
    if zone == "Europe/Oslo":
        ((ended, text),) = heard.ends
        assert (ended, heard.errors) == (name, [])
        assert '"timezone":"Europe/Oslo"' in text
    else:
        assert heard.ends == []
        assert all("Mars" in error for error in heard.errors)


def test_a_result_goes_into_the_arguments_of_a_tool(desk: Desk) -> None:
    first = step("first", "everything.get-structured-content", location="Chicago")
    second = step("second", "everything.get-sum", a="{{steps.first.output.humidity}}", b=1)
    out = desk.ask(desk.plan(first, second), "the answer")
    assert out["status"] == "completed"
    (result,) = [row for row in desk.events("plan_step_complete") if row["step_id"] == "second"]
    assert "The sum of" in result["preview"]


def test_a_chain_calls_tools_and_hands_on_their_results(desk: Desk) -> None:
    parts = [
        {"toolName": "time.get_current_time", "arguments": {"timezone": "{{input.zone}}"}},
        {"toolName": "work.write", "arguments": {"name": "in", "text": "{{previous_result.timezone}}"}},
    ]
    making = {"name": "note_time", "description": "Note the time", "steps": parts}
    made = step("made", "tool.create_chain", **making)
    desk.ask(desk.plan(made, step("note", "note_time", "made", zone="Asia/Tokyo")), "the answer")
    heard = Heard()
    first = desk.decide("approve", [heard])
    assert first["status"] == "interrupted"  # what the server said is shown first
    assert desk.decide("approve", [heard])["status"] == "completed"
    assert [name for name, _ in heard.ends] == ["tool__create_chain", "time__get_current_time", "work__write"]
    assert "in:Asia/Tokyo" in desk.scene.done
    assert desk.effects() == [("tool.create_chain", "done"), ("work.write", "done")]


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({}, "'timezone' is a required property"),
        ({"timezone": 3}, "3 is not of type 'string'"),
        ({"timezone": "UTC", "sure": True}, "'sure' was unexpected"),
    ],
)
def test_arguments_that_do_not_fit_the_schema_go_back_to_the_planner(
    desk: Desk, params: dict[str, Any], said: str
) -> None:
    wrong = {"id": "now", "capability": "time.get_current_time", "params": params}
    right = step("now", "time.get_current_time", timezone="UTC")
    assert desk.ask(desk.plan(wrong), desk.plan(right), "the answer")["status"] == "completed"
    (finding,) = desk.events("plan_verified")[0]["findings"]
    assert finding["code"] == "bad_arguments"
    assert said in finding["message"]
    assert finding["fix"] == "it takes: timezone"


def test_a_write_that_claims_to_destroy_nothing_needs_nobody_where_the_user_said_so(desk: Desk) -> None:
    made = step("made", "filesystem.create_directory", path=str(desk.path("new")))
    desk.ask(desk.plan(made), "the answer")
    assert desk.scene.waiting(desk.agent).keys() == {"plan"}  # a server describes its tools
    desk.decide("reject")
    assert not desk.path("new").exists()
    request = f"Make the directory {desk.path('new')}"
    assert desk.ask(desk.plan(made), "the answer", say=request)["status"] == "completed"
    assert desk.path("new").is_dir()
    assert desk.effects() == [("filesystem.create_directory", "done")]


def test_a_write_that_claims_to_destroy_stops_at_its_own_gate(desk: Desk) -> None:
    wrote = step("wrote", "filesystem.write_file", path=str(desk.path("a.txt")), content="hello")
    desk.ask(desk.plan(wrote), "the answer")
    desk.decide("approve")
    assert desk.scene.waiting(desk.agent).keys() == {"wrote"}
    assert not desk.path("a.txt").exists()
    assert desk.decide("approve")["status"] == "completed"
    assert desk.path("a.txt").read_text("utf-8") == "hello"


@pytest.mark.parametrize(("decision", "rows"), [("reject", 0), ("approve", 1)])
def test_a_tool_without_hints_stops_at_its_own_gate(desk: Desk, decision: str, rows: int) -> None:
    with closing(sqlite3.connect(desk.scene.workspace / "shop.db")) as shop:
        shop.execute("CREATE TABLE IF NOT EXISTS orders (name TEXT)")
        before = shop.execute("SELECT count(*) FROM orders").fetchone()[0]
    wrote = step("wrote", "sqlite.write_query", query="INSERT INTO orders VALUES ('tea')")
    desk.ask(desk.plan(wrote), "the answer")
    desk.decide("approve")
    (asked,) = desk.agent.get_state(desk.scene.config).interrupts
    assert asked.value["shown"]["reason"] == "destructive always needs a person (it declares no mode)"
    desk.decide(decision)
    with closing(sqlite3.connect(desk.scene.workspace / "shop.db")) as shop:
        assert shop.execute("SELECT count(*) FROM orders").fetchone()[0] == before + rows


def test_a_model_calls_a_tool_by_itself(desk: Desk) -> None:
    reply = desk.scene.calls(("time__get_current_time", {"timezone": "UTC"}))
    out = desk.ask(reply, "it is late", say="get the current time", planning_mode="never")
    assert out["answer"] == "it is late"
    assert '"timezone":"UTC"' in desk.model.prompts[-1][-1].text.replace(" ", "")


def test_a_model_that_calls_a_grave_tool_needs_a_person(desk: Desk) -> None:
    reply = desk.scene.calls(("filesystem__write_file", {"path": str(desk.path("b.txt")), "content": "x"}))
    desk.ask(reply, "written", say="write the file", planning_mode="never")
    assert not desk.path("b.txt").exists()
    assert desk.decide("approve")["answer"] == "written"
    assert desk.path("b.txt").read_text("utf-8") == "x"


def test_an_error_of_a_tool_fails_its_step(desk: Desk) -> None:
    now = step("now", "time.get_current_time", timezone="Mars/Olympus")
    assert desk.ask(desk.plan(now), *["no other plan"] * 9)["status"] == "failed"
    failed = desk.events("plan_step_failed")[0]
    assert "time says: " in failed["error"]


def test_a_server_that_died_between_two_runs_serves_the_second(desk: Desk) -> None:
    now = step("now", "time.get_current_time", timezone="UTC")
    assert desk.ask(desk.plan(now), "one")["status"] == "completed"
    for pid in processes("mcp-server-time"):
        os.kill(pid, signal.SIGKILL)
    assert desk.ask(desk.plan(now), "two")["status"] == "completed"


@contextmanager
def killing() -> Iterator[None]:
    """Kill the servers `everything` as soon as they have read one more call."""
    before = bytes_read(EVERYTHING)

    def kill() -> None:
        wait_until(lambda: one_has_read(EVERYTHING, LEAST, before))
        for pid in processes(EVERYTHING):
            os.kill(pid, signal.SIGKILL)

    thread = Thread(target=kill)
    thread.start()
    yield
    thread.join()


def test_a_call_without_an_effect_is_made_again_when_its_server_dies(desk: Desk) -> None:
    awake = step("awake", "everything.get-sum", a=1, b=1)
    long = step("long", f"everything.{LONG}", duration=3, steps=1)  # so long a busy machine has to kill it
    desk.ask(desk.plan(awake), "awake")
    with killing():
        assert desk.ask(desk.plan(long), "the answer")["status"] == "completed"
    assert len(desk.events("plan_step_retry")) == 1


def test_a_plan_that_names_a_tool_of_a_failed_server_is_told_which(
    stage: Callable[[Path], Scene], tmp_path: Path
) -> None:
    scene = stage(tmp_path)
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"notes": {"comand": "x"}}}', "utf-8")
    plan = scene.plan(step("s1", "notes.read_graph"))
    out = scene.ask(scene.agent(*[plan] * 20))
    assert out["status"] == "refused"
    message = "notes.read_graph is of the MCP server `notes`, which is not there"
    findings = [
        f for event in scene.journal() if event["type"] == "plan_verified" for f in event["data"]["findings"]
    ]
    assert {finding["message"] for finding in findings} == {message}
    assert message in out["answer"]
    scene.agents[0].close()


def test_a_run_whose_server_has_failed_meanwhile_waits_for_it(
    stage: Callable[[Path], Scene], tmp_path: Path, mcp_servers: McpServers
) -> None:
    scene = stage(tmp_path)
    entry = mcp_servers.entry("time", "--local-timezone", "UTC")
    mcp_servers.plug(tmp_path, {"watch": entry})
    asks = {"approval": {"plan": "always"}}
    plan = scene.plan(step("now", "watch.get_current_time", timezone="UTC"))
    model = ScriptedModel(replies=[plan, "it is late"])
    first = scene.agent(model=model, **asks)
    scene.ask(first)
    first.close()
    (tmp_path / "planwright.toml").rename(tmp_path / "settings")
    (tmp_path / ".mcp.json").rename(tmp_path / "servers")
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"watch": {"comand": "x"}}}', "utf-8")
    second = scene.agent(model=model, **asks)
    with pytest.raises(PartsElsewhere, match=r"of the MCP server `watch`, which is not there") as waits:
        scene.decide(second, "approve")
    assert f"planwright resume {scene.thread}" in waits.value.next_step
    second.close()
    (tmp_path / "settings").rename(tmp_path / "planwright.toml")
    (tmp_path / "servers").rename(tmp_path / ".mcp.json")
    third = scene.agent(model=model, **asks)
    assert scene.recover(third)["answer"] == "it is late"
    third.close()


def test_an_effect_whose_server_dies_is_in_doubt_and_put_before_a_person(desk: Desk) -> None:
    awake = step("awake", "grave.get-sum", a=1, b=1)
    long = step("long", f"grave.{LONG}", duration=60, steps=60)
    desk.ask(desk.plan(awake), "awake")
    desk.ask(desk.plan(long), "the answer")
    heard = Heard()
    with killing():
        desk.decide("approve", [heard])
    assert ([name for name, _ in heard.starts], heard.ends) == ([f"grave__{LONG}"], [])
    assert "grave" in heard.errors[0]
    assert desk.effects() == [(f"grave.{LONG}", "in_doubt")]
    (asked,) = desk.agent.get_state(desk.scene.config).interrupts
    assert asked.value["kind"] == "escalation"
    assert desk.decide("reject")["status"] == "escalated"
