"""A thread belongs to the tenant of its runs: nobody else begins, answers, continues or reads a run on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from planwright.capabilities.contract import Capability
from planwright.domain.errors import RunError
from planwright.domain.run_context import RunContext
from planwright.graph.agent import Agent
from tests.graph.entry.test_door import APPROVE, REQUEST, gates_of, step

MakeAgent = Callable[..., Agent]
MakeConfig = Callable[[], RunnableConfig]
ACME = RunContext(tenant="acme")
OTHERS = [RunContext(tenant="other"), RunContext(), {"tenant": "other"}, {"channel": "cli"}]


@pytest.mark.parametrize("context", OTHERS, ids=repr)
@pytest.mark.parametrize("given", [APPROVE, None, REQUEST], ids=["an answer", "going on", "a new message"])
@pytest.mark.parametrize("new_input", ["refuse", "cancel"])
def test_another_tenant_is_refused_and_nothing_changes(
    make_agent: MakeAgent,
    new_thread: MakeConfig,
    wipe: Capability,
    done: list[str],
    given: Any,
    context: Any,
    new_input: str,
) -> None:
    agent, config = make_agent([step()], [wipe], flags={"threads": {"new_input": new_input}}), new_thread()
    agent.invoke(REQUEST, config, context=ACME)
    (gate,) = gates_of(agent, config)
    with pytest.raises(RunError, match="belongs to another tenant"):
        agent.invoke(given, config, context=context)
    assert (gates_of(agent, config), done) == ([gate], [])


@pytest.mark.parametrize("context", [ACME, None, {"tenant": "acme", "channel": "cli"}], ids=repr)
def test_its_tenant_goes_on_and_so_does_who_names_no_options(
    make_agent: MakeAgent, new_thread: MakeConfig, wipe: Capability, context: Any
) -> None:
    agent, config = make_agent([step()], [wipe]), new_thread()
    agent.invoke(REQUEST, config, context=ACME)
    out = agent.invoke(APPROVE, config, context=context)
    assert out["__interrupt__"][0].value["kind"] == "step"
    reject: Command[Any] = Command(resume="reject")
    assert "__interrupt__" not in agent.invoke(reject, config, context=context)


@pytest.mark.parametrize("given", [None, REQUEST], ids=["the end again", "a new message"])
def test_a_thread_whose_run_has_ended_is_still_its_tenants(
    make_agent: MakeAgent, new_thread: MakeConfig, wipe: Capability, given: Any
) -> None:
    agent, config = make_agent([step()], [wipe]), new_thread()
    agent.invoke(REQUEST, config, context=ACME)
    agent.invoke(Command(resume="reject"), config, context=ACME)
    with pytest.raises(RunError, match="belongs to another tenant"):
        agent.invoke(given, config, context=RunContext(tenant="other"))


@pytest.mark.parametrize("context", OTHERS, ids=repr)
@pytest.mark.parametrize("way", ["fork", "undo"])
def test_a_run_of_another_tenant_is_neither_forked_nor_undone(
    make_agent: MakeAgent, new_thread: MakeConfig, wipe: Capability, way: str, context: Any
) -> None:
    agent, config = make_agent([step()], [wipe]), new_thread()
    agent.invoke(REQUEST, config, context=ACME)
    agent.invoke(Command(resume="reject"), config, context=ACME)
    thread = str(config["configurable"]["thread_id"])
    begin = agent.fork if way == "fork" else agent.undo
    with pytest.raises(RunError, match="belongs to another tenant"):
        begin(thread, context=context, thread_id="theirs")
    assert agent.loop.call(lambda: agent.stores.runs.latest("theirs")) is None
