"""Tools given in code: any door decides over the gates of their run, which goes on where they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import StructuredTool
from langgraph.types import Command

from planwright.domain.errors import PartsElsewhere
from planwright.graph.agent import Agent
from planwright.graph.building import open_agent
from planwright.models.scripted import ScriptedModel
from tests.cli.desk import Desk

pytestmark = pytest.mark.long

CONFIG: Any = {"configurable": {"thread_id": "monday"}}
PAY = {"to": "ada", "amount": 5}
CALL = {"content": "", "tool_calls": [{"name": "pay_out", "args": PAY, "id": "c0"}]}
PLAN = json.dumps({"goal": "Pay", "steps": [{"id": "s1", "capability": "pay_out", "params": PAY}]})


class Till:
    """A process with a tool of its own; `paid` is what the tool has done."""

    def __init__(self, folder: Path) -> None:
        self.paid: list[str] = []
        self._folder = folder
        self._agents: list[Agent] = []

    def agent(self, *replies: Any, mode: str = "never") -> Agent:
        """Open an agent with the tool and a model that replies from a list."""

        def pay_out(to: str, amount: int) -> str:
            """Pay somebody."""
            self.paid.append(f"{to} {amount}")
            return f"paid {to}"

        tool = StructuredTool.from_function(pay_out)
        model = ScriptedModel(replies=list(replies))
        agent = open_agent(self._folder, tools=[tool], model=model)
        self._agents.append(agent)
        return agent

    def close(self) -> None:
        for agent in self._agents:
            agent.close()


@pytest.fixture
def till(desk: Desk) -> Iterator[Till]:
    opened = Till(desk.folder)
    yield opened
    opened.close()


def begin(till: Till, desk: Desk, mode: str, *replies: Any) -> Agent:
    """Ask for a payment, and stop at its first gate."""
    desk.settings(f'[planning]\nmode = "{mode}"\n[approval]\ndepth = "plan"\n')
    agent = till.agent(*replies)
    out = agent.invoke({"messages": [("user", "pay ada 5")]}, CONFIG)
    assert "__interrupt__" in out
    return agent


def test_an_approval_at_the_command_line_counts_and_the_run_waits_for_its_tools(
    desk: Desk, till: Till
) -> None:
    agent = begin(till, desk, "never", CALL, "Paid.")
    decided = desk.run("approve")
    assert (decided.code, decided.stdout) == (3, "")
    assert "the decision is on record, and nothing was run" in decided.stderr
    assert "pay_out" in decided.stderr
    assert "planwright cancel monday" in decided.stderr
    assert desk.rows("SELECT status FROM gates") == [("approved",)]
    assert desk.rows("SELECT status FROM runs") == [("waiting",)]
    assert desk.rows("SELECT count(*) FROM steps") == [(0,)]
    assert till.paid == []
    out = agent.invoke(None, CONFIG)
    assert (out["status"], out["answer"], till.paid) == ("completed", "Paid.", ["ada 5"])


def test_a_rejection_at_the_command_line_counts_as_well(desk: Desk, till: Till) -> None:
    agent = begin(till, desk, "never", CALL, "Not paid.")
    assert desk.run("reject", "--reason", "too much").code == 3
    out = agent.invoke(None, CONFIG)
    assert (out["status"], out["answer"], till.paid) == ("rejected", "Not paid.", [])


def test_the_steps_of_a_plan_wait_for_their_tools_in_any_process(desk: Desk, till: Till) -> None:
    begin(till, desk, "always", PLAN, "never asked")
    assert desk.run("approve").code == 3  # the plan; its destructive step asks as well, where it runs
    assert desk.rows("SELECT count(*) FROM steps") == [(0,)]
    agent = till.agent("Paid.")
    out = agent.invoke(None, CONFIG)
    assert desk.run("approve", out["__interrupt__"][0].value["gate_id"]).code == 3
    assert agent.invoke(None, CONFIG)["answer"] == "Paid."
    assert till.paid == ["ada 5"]


def test_a_plan_that_is_refused_ends_anywhere(desk: Desk, till: Till) -> None:
    begin(till, desk, "always", PLAN, "never asked")
    assert desk.run("reject").code == 4
    assert desk.rows("SELECT status FROM runs") == [("rejected",)]


def test_a_resume_without_the_tools_runs_nothing(desk: Desk, till: Till) -> None:
    agent = begin(till, desk, "never", CALL, "Paid.")
    desk.run("approve")
    resumed = desk.run("resume", "monday")
    assert resumed.code == 3
    assert "nothing was run: run" in resumed.stderr
    assert desk.run("resume", "monday", "--json").json["status"] == "waiting"
    (row,) = desk.run("ls", "--waiting", "--json").json["runs"]
    assert row["thread_id"] == "monday"
    assert "decided" in desk.run("ls", "--waiting").stdout
    assert agent.invoke(None, CONFIG)["answer"] == "Paid."


def test_another_python_process_decides_and_leaves_it(desk: Desk, till: Till) -> None:
    agent = begin(till, desk, "never", CALL, "Paid.")
    other = open_agent(desk.folder)
    try:
        with pytest.raises(PartsElsewhere, match="the decision is on record"):
            other.invoke(Command(resume={"type": "approve"}), CONFIG)
    finally:
        other.close()
    assert agent.invoke(None, CONFIG)["answer"] == "Paid."


def test_a_run_that_waits_for_its_tools_is_cancelled_anywhere(desk: Desk, till: Till) -> None:
    begin(till, desk, "never", CALL, "Paid.")
    desk.run("approve")
    assert desk.run("cancel", "monday").code == 0
    assert desk.rows("SELECT status FROM runs") == [("cancelled",)]
    assert till.paid == []


MODULE = '''
from planwright.capabilities.declaration import capability

@capability("till.pay", mode="destructive", tags=("pay",))
def pay(to: str, amount: int) -> str:
    """Pay somebody."""
    open("paid.txt", "a").write(to)
    return "paid"
'''


def test_a_module_that_is_gone_fails_nothing_and_may_come_back(desk: Desk) -> None:
    (desk.folder / "till.py").write_text(MODULE, "utf-8")
    each_asks = '[approval]\ndepth = "plan"\n'
    with_module = f'{each_asks}[capabilities]\nmodules = ["till"]\n'
    desk.settings(with_module)
    assert desk.run("run", "pay to=ada amount=5").code == 3
    desk.settings(each_asks)
    gone = desk.run("approve")
    assert gone.code == 3
    assert "till.pay" in gone.stderr
    assert "planwright cancel" in gone.stderr
    assert desk.rows("SELECT count(*) FROM steps") == [(0,)]
    desk.settings(with_module)
    ((thread,),) = desk.rows("SELECT thread_id FROM runs")
    assert desk.run("resume", thread).code == 3  # at the gate of the step
    assert desk.run("approve").code == 0
    assert (desk.folder / "paid.txt").read_text("utf-8") == "ada"
