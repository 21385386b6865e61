"""A tool that says nothing of what it may do asks; a person says it once, and it holds from then on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool
from langgraph.types import Command

from planwright.domain.errors import GateError
from planwright.graph.agent import Agent
from planwright.graph.building import open_agent
from planwright.models.scripted import ScriptedModel
from planwright.records.consent.tool_answers import ToolAnswers
from tests.cli.desk import Desk

pytestmark = pytest.mark.long


def call(city: str, *, number: int = 0) -> dict[str, Any]:
    return {"name": "get_weather", "args": {"city": city}, "id": f"c{number}"}


def reply(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"content": "", "tool_calls": list(calls)}


ROME, OSLO = reply(call("Rome")), reply(call("Oslo"))
PLAN = json.dumps(
    {"goal": "Say it", "steps": [{"id": "s1", "capability": "get_weather", "params": {"city": "Rome"}}]}
)


class Changed(BaseTool):
    """The same tool in words, and of other code."""

    name: str = "get_weather"
    description: str = "Tell the weather."

    def _run(self, city: str) -> str:
        return f"rainy in {city}"


class Station:
    """A tool of which nothing is known, and agents that have it."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[str] = []
        self.folder = folder
        self._agents: list[Agent] = []
        self.store = folder / ".planwright"

    def agent(self, *replies: Any, changed: bool = False) -> Agent:
        """Open an agent whose model replies from a list; the code of its tool may be another one."""

        def get_weather(city: str) -> str:
            """Tell the weather."""
            self.asked.append(city)
            if city == "Atlantis":
                raise KeyError(city)
            return f"sunny in {city}"

        tools = [Changed() if changed else get_weather]
        agent = open_agent(self.folder, tools=tools, model=ScriptedModel(replies=list(replies)))
        self._agents.append(agent)
        return agent

    def close(self) -> None:
        for agent in self._agents:
            agent.close()


def thread(name: str) -> Any:
    return {"configurable": {"thread_id": name}}


def ask(agent: Agent, name: str) -> Any:
    return agent.invoke({"messages": [("user", "look at the weather in Rome")]}, thread(name))


def gates(out: Any) -> list[Any]:
    return [each.value for each in out.get("__interrupt__", ())]


def answer(agent: Agent, name: str, may: str = "") -> Any:
    """Approve, and say what the tool may do."""
    remember = {"remember": {"tools": {"get_weather": may}}} if may else {}
    return agent.invoke(Command(resume={"type": "approve", **remember}), thread(name))


@pytest.fixture
def station(desk: Desk) -> Iterator[Station]:
    desk.settings('[planning]\nmode = "never"\n')
    opened = Station(desk.folder)
    yield opened
    opened.close()


def first(station: Station, may: str, *replies: Any) -> Any:
    """Ask for the first time, and say what the tool may do."""
    agent = station.agent(*(replies or (ROME, "Sunny.")))
    (gate,) = gates(ask(agent, "monday"))
    assert gate["undeclared"] == ["get_weather"]
    assert "remember" not in gate
    return answer(agent, "monday", may)


def test_a_tool_that_only_reads_never_asks_again(desk: Desk, station: Station) -> None:
    assert first(station, "reads", ROME, OSLO, "Sunny in both.")["status"] == "completed"
    assert ask(station.agent(ROME, "Sunny."), "tuesday")["status"] == "completed"
    assert station.asked == ["Rome", "Oslo", "Rome"]
    # of the first call nobody had said yet that it reads
    assert desk.rows("SELECT status FROM effects") == [("done",)]


def test_a_tool_that_changes_something_asks_each_time_and_may_be_remembered(station: Station) -> None:
    first(station, "asks")
    agent = station.agent(ROME, "Sunny.")
    (gate,) = gates(ask(agent, "tuesday"))
    assert "undeclared" not in gate
    assert gate["remember"] == ["run", "session", "always"]


def test_a_tool_that_asks_once_asks_once_a_run(station: Station) -> None:
    assert first(station, "asks_once", ROME, OSLO, "Sunny in both.")["status"] == "completed"
    agent = station.agent(ROME, OSLO, ROME, "Sunny in both.")
    (gate,) = gates(ask(agent, "tuesday"))
    assert gate["shown"]["args"] == {"city": "Rome"}
    assert answer(agent, "tuesday")["status"] == "completed"
    assert station.asked == ["Rome", "Oslo", "Rome", "Oslo", "Rome"]


def test_a_tool_that_may_do_anything_is_asked_for_each_time_and_never_remembered(station: Station) -> None:
    first(station, "always_asks")
    (gate,) = gates(ask(station.agent(ROME, "Sunny."), "tuesday"))
    assert not {"undeclared", "remember"} & gate.keys()
    assert gate["shown"]["mode"] == "destructive"


def test_a_tool_of_other_code_asks_as_one_of_which_nothing_is_known(station: Station) -> None:
    first(station, "reads")
    (gate,) = gates(ask(station.agent(ROME, "Rainy.", changed=True), "tuesday"))
    assert gate["undeclared"] == ["get_weather"]


def test_what_was_said_is_taken_back(desk: Desk, station: Station) -> None:
    first(station, "reads")
    (said,) = ToolAnswers(station.store).read()
    assert "get_weather: it only reads" in desk.run("rules", "ls").stdout
    assert "get_weather asks again" in desk.run("rules", "revoke", said.id).stdout
    (gate,) = gates(ask(station.agent(ROME, "Sunny."), "tuesday"))
    assert gate["undeclared"] == ["get_weather"]


def test_the_card_of_a_plan_asks_it_as_well(desk: Desk, station: Station) -> None:
    desk.settings('[planning]\nmode = "always"\n')
    agent = station.agent(PLAN, "Sunny.")
    (gate,) = gates(ask(agent, "monday"))
    assert (gate["kind"], gate["undeclared"]) == ("plan", ["get_weather"])
    assert answer(agent, "monday", "reads")["status"] == "completed"
    assert ask(station.agent(PLAN, "Sunny."), "tuesday")["status"] == "completed"
    assert station.asked == ["Rome", "Rome"]


def test_a_read_that_raises_is_told_as_one(desk: Desk, station: Station) -> None:
    out = first(station, "reads", reply(call("Atlantis")), "There is no such city.")
    assert (gates(out), out["status"]) == ([], "completed")
    assert desk.rows("SELECT status, error FROM effects") == [
        ("failed", "get_weather failed: KeyError: 'Atlantis'")
    ]


@pytest.mark.parametrize("may", ["", "asks", "always_asks"])
def test_of_any_other_that_raises_nobody_knows_what_it_did(desk: Desk, station: Station, may: str) -> None:
    out = first(station, may, reply(call("Atlantis")), "There is no such city.")
    assert [gate["kind"] for gate in gates(out)] == ["escalation"]
    assert desk.rows("SELECT status FROM effects") == [("in_doubt",)]


@pytest.mark.parametrize("door", ["agent", "command line"])
def test_the_other_calls_of_a_reply_are_asked_for_no_more_once_it_is_said(
    desk: Desk, station: Station, door: str
) -> None:
    calls = [call(city, number=number) for number, city in enumerate(("Rome", "Oslo", "Bonn"))]
    agent = station.agent(reply(*calls), "Sunny in all.")
    asked = gates(ask(agent, "monday"))
    assert [gate["undeclared"] for gate in asked] == [["get_weather"]]
    if door == "agent":
        said = {"type": "approve", "remember": {"tools": {"get_weather": "reads"}}}
        out = agent.invoke(Command(resume={asked[-1]["gate_id"]: said}), thread("monday"))
    else:
        desk.run("approve", asked[-1]["gate_id"], "--tool", "get_weather=reads")
        out = agent.invoke(None, thread("monday"))
    assert gates(out) == []
    assert (out["status"], sorted(station.asked)) == ("completed", ["Bonn", "Oslo", "Rome"])


@pytest.mark.parametrize("tools", [{"mail.send": "reads"}, {"get_weather": "anything"}])
def test_what_the_card_does_not_ask_is_not_taken(station: Station, tools: dict[str, str]) -> None:
    agent = station.agent(ROME, "Sunny.")
    ask(agent, "monday")
    with pytest.raises(GateError, match=r"does not ask what mail\.send may do|remember"):
        agent.invoke(Command(resume={"type": "approve", "remember": {"tools": tools}}), thread("monday"))
    assert station.asked == []
    assert ToolAnswers(station.store).read() == []


@pytest.mark.parametrize(
    ("typed", "may"), [("--tool=get_weather=reads", "reads"), ("--tool=get_weather=asks_once", "asks_once")]
)
def test_it_is_said_at_the_command_line(desk: Desk, station: Station, typed: str, may: str) -> None:
    agent = station.agent(ROME, "Sunny.")
    ask(agent, "monday")
    desk.run("approve", typed)
    assert agent.invoke(None, thread("monday"))["status"] == "completed"
    assert [said.may for said in ToolAnswers(station.store).read()] == [may]
