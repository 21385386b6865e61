"""A run by an agent's profile uses what that permits, and nothing else, whatever way it is tried."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.runnables import Runnable
from langgraph.types import Command
from pydantic import Field

from planwright.domain.errors import GateError, RunError, SetupError
from planwright.domain.run_context import RunContext
from planwright.models.scripted import ScriptedModel
from planwright.records.memories import Memory

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

ASK = "Read, write, wipe, destroy or fail"
AUTO = {"planning": {"mode": "auto"}}
READ, WIPE = ("work__read", {"name": "r"}), ("work__wipe", {"name": "w"})
READER = {"agents": {"reader": {"tools": ["work.read"]}}}
WRITER = {"agents": {"reader": {"tools": ["work.read", "work.write"]}}}
PATIENT = {"estimated_risk": "Medium"}  # a person is asked


class Offered(ScriptedModel):
    """Keep which tools the model was offered, too."""

    offers: list[set[str]] = Field(default_factory=list)

    def bind_tools(self, tools: Any, **kwargs: Any) -> Runnable[Any, Any]:
        self.offers.append({tool["function"]["name"] for tool in tools})
        return super().bind_tools(tools, **kwargs)


def ask(scene: Scene, agent: Agent, name: str | None = "reader", message: str = ASK, **more: Any) -> Any:
    """Send a request as an agent."""
    context = RunContext(agent=name, **more)
    return agent.invoke({"messages": [("user", message)]}, scene.config, context=context)


def told(model: ScriptedModel) -> list[str]:
    """List what the model was told of its calls."""
    return [m.text for asked in model.prompts for m in asked if isinstance(m, ToolMessage)]


def test_a_plan_that_uses_what_its_agent_may_not_is_refused(scene: Scene) -> None:
    plan = scene.plan(scene.step("r", "work.read"), scene.step("w", "work.write"))
    output = ask(scene, scene.agent(plan, **READER))
    assert output["status"] == "refused"
    assert "not_permitted" in output["answer"]
    assert "this agent may not use work.write" in output["answer"]
    assert scene.done == []


def test_the_same_plan_runs_without_the_agent(scene: Scene) -> None:
    plan = scene.plan(scene.step("r", "work.read"), scene.step("w", "work.write"))
    assert ask(scene, scene.agent(plan, "done", **READER), None)["status"] == "completed"
    assert sorted(scene.done) == ["r", "w"]


def test_a_step_for_a_model_names_only_what_its_agent_may_use(scene: Scene) -> None:
    step = {"id": "look", "description": "Find out", "tool_hints": ["work.read", "work.wipe"]}
    output = ask(scene, scene.agent(scene.plan(step), **READER))
    assert output["status"] == "refused"
    assert "this agent may not use work.wipe" in output["answer"]


def test_what_an_agent_may_not_use_is_not_there_for_its_planner(scene: Scene) -> None:
    model = ScriptedModel(replies=[scene.plan(scene.step("x", "work.rite")), '{"cannot": "write"}'])
    output = ask(scene, scene.agent(model=model, **READER))
    seen = "\n".join(m.text for asked in model.prompts for m in asked)
    assert "work.read" in seen
    assert not any(name in seen for name in ("work.write", "work.wipe", "files.", "memory.", "datetime."))
    assert "work.write" not in output["answer"]


def test_a_model_that_calls_tools_is_offered_and_given_only_those_of_its_agent(scene: Scene) -> None:
    model = Offered(replies=[scene.calls(READ, WIPE), "done"])
    ask(scene, scene.agent(model=model, **READER, **AUTO))
    assert model.offers == [{"work__read", "clarify"}] * 2
    assert "there is no tool work__wipe" in told(model)[1]
    assert scene.done == ["r"]


def test_the_tools_an_agent_may_not_use_take_no_place_among_the_best(scene: Scene) -> None:
    model = Offered(replies=["done"])
    with (scene.workspace / "planwright.toml").open("a") as settings:
        settings.write("[tools]\ntop_k = 1\n")
    ask(scene, scene.agent(model=model, agents={"reader": {"tools": ["files.read"]}}, **AUTO))
    assert model.offers == [{"files__read", "clarify"}]


def test_an_agent_without_tools_may_only_talk(scene: Scene) -> None:
    model = ScriptedModel(replies=[scene.calls(READ), "I cannot."])
    output = ask(scene, scene.agent(model=model, agents={"reader": {"tools": []}}, **AUTO))
    assert (output["status"], output["answer"], scene.done) == ("completed", "I cannot.", [])


@pytest.mark.parametrize(
    ("tools", "done"), [(["work.fail"], ["s1"]), (["work.fail", "work.read"], ["s1", "other"])]
)
def test_no_other_call_is_made_instead_that_the_agent_may_not_make(
    scene: Scene, tools: list[str], done: list[str]
) -> None:
    plan = scene.plan(scene.step("s1", "work.fail"))
    instead = json.dumps({"capability": "work.read", "params": {"name": "other"}})
    model = ScriptedModel(replies=[plan, "the answer"], alternatives=[instead])
    settings = {"agents": {"reader": {"tools": tools}}, "planning": {"mode": "always", "replan_budget": 0}}
    ask(scene, scene.agent(model=model, **settings))
    assert scene.done == done


def test_an_agent_can_give_others_nothing_that_it_has_not(scene: Scene) -> None:
    def delegate(*tools: str) -> dict[str, Any]:
        return scene.calls(("agent__delegate", {"task": "Do it", "tools": list(tools)}))

    replies = [delegate("work.read", "work.wipe"), delegate("work.read"), scene.calls(WIPE), "no", "done"]
    model = ScriptedModel(replies=replies)
    settings = {"agents": {"reader": {"tools": ["work.read", "agent.delegate"]}}}
    output = ask(scene, scene.agent(model=model, **settings, **AUTO), message=f"{ASK}, delegate to agents")
    assert (output["answer"], scene.done) == ("done", [])
    assert any("work.wipe" in text for text in told(model)[:1])
    assert any("there is no tool work__wipe" in text for text in told(model))


def test_an_agent_that_may_not_delegate_does_its_work_alone(scene: Scene) -> None:
    model = ScriptedModel(
        replies=[scene.calls(("agent__delegate", {"task": "x", "tools": ["work.read"]})), "done"]
    )
    ask(scene, scene.agent(model=model, **READER, **AUTO), message=f"{ASK}, delegate to agents")
    assert "there is no tool agent__delegate" in told(model)[0]


def test_an_edit_cannot_go_beyond_what_the_agent_may_use(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step("r", "work.read", **PATIENT)), **READER)
    (asked,) = ask(scene, agent)["__interrupt__"]
    plan = {**asked.value["shown"], "steps": [{"id": "r", "capability": "work.destroy"}]}
    action = {"name": "approve_plan", "args": {"plan": plan}}
    before = scene.everything()
    with pytest.raises(GateError, match="not_permitted"):
        scene.answer(agent, {"decisions": [{"type": "edit", "edited_action": action}]})
    assert scene.everything() == before


def test_another_agent_named_with_the_answer_is_refused(scene: Scene) -> None:
    settings = {"agents": {**READER["agents"], "wiper": {"tools": ["work.wipe"]}}}
    model = ScriptedModel(replies=[scene.calls(WIPE), scene.calls(READ), "done"])
    agent = scene.agent(model=model, **settings, **AUTO)
    ask(scene, agent, "wiper")
    approve: Command[Any] = Command(resume={"decisions": [{"type": "approve"}]})
    with pytest.raises(RunError, match="began with agent = 'wiper'"):
        agent.invoke(approve, scene.config, context=RunContext(agent="reader"))
    assert scene.done == []
    agent.invoke(approve, scene.config)
    assert "there is no tool work__read" in told(model)[-1]
    assert scene.done == ["w"]


def test_a_run_goes_on_by_its_agent_in_another_process(scene: Scene) -> None:
    settings = {"agents": {"wiper": {"tools": ["work.wipe"]}}, **AUTO}
    ask(scene, scene.agent(scene.calls(WIPE), **settings), "wiper")
    approve = scene.entry(resume={"decisions": [{"type": "approve"}]})
    report = scene.child(approve, replies=[scene.calls(READ), "done"], settings=settings)
    assert report["outputs"][0]["answer"] == "done"
    assert any("there is no tool work__read" in text for call in report["asked"] for text in call)
    assert scene.done == ["w"]


def test_what_was_taken_from_an_agent_since_is_refused_though_it_was_approved(scene: Scene) -> None:
    plan = scene.plan(scene.step("r", "work.read"), scene.step("w", "work.write", **PATIENT))
    ask(scene, scene.agent(plan, **WRITER))
    output = scene.decide(scene.agent("the answer", **READER, planning={"replan_budget": 0}), "approve")
    assert output["status"] == "failed"
    (failed,) = (event["data"] for event in scene.journal() if event["type"] == "plan_step_failed")
    assert (failed["step_id"], failed["error"]) == ("w", "this agent may not use work.write")
    assert scene.done == ["r"]


def test_what_was_taken_from_an_agent_since_is_not_offered_to_its_model_any_more(scene: Scene) -> None:
    before, now = ({"agents": {"reader": {"tools": t}}} for t in (["work.*"], ["work.wipe"]))
    ask(scene, scene.agent(scene.calls(WIPE), **before, **AUTO))
    model = Offered(replies=[scene.calls(READ), "done"])
    scene.decide(scene.agent(model=model, **now, **AUTO), "approve")
    assert model.offers == [{"work__wipe", "clarify"}] * 2
    assert "there is no tool work__read" in told(model)[-1]
    assert scene.done == ["w"]


def test_a_run_whose_agent_is_gone_takes_no_answer_and_can_be_cancelled(scene: Scene) -> None:
    plan = scene.plan(scene.step("r", "work.read", **PATIENT))
    ask(scene, scene.agent(plan, **READER))
    before, without = scene.everything(), scene.agent("never asked")
    with pytest.raises(RunError, match="begun as the agent reader, which is not set any more") as refused:
        scene.decide(without, "approve")
    assert f"planwright cancel {scene.thread}" in refused.value.next_step
    with pytest.raises(RunError, match="not set any more"):
        scene.recover(without)
    assert scene.everything() == before
    assert without.cancel(scene.thread) is True
    assert (scene.rows("SELECT status FROM runs"), scene.done) == ([{"status": "cancelled"}], [])


def test_an_agent_that_is_put_back_takes_the_answer(scene: Scene) -> None:
    ask(scene, scene.agent(scene.plan(scene.step("r", "work.read", **PATIENT)), **READER))
    with pytest.raises(RunError):
        scene.decide(scene.agent("never asked"), "approve")
    assert scene.decide(scene.agent("the answer", **READER), "approve")["status"] == "completed"


def test_a_request_as_an_unknown_agent_begins_no_run(scene: Scene) -> None:
    with pytest.raises(SetupError, match=r"there is no agent 'raeder' \(nearest: reader\)"):
        ask(scene, scene.agent(**READER), "raeder")
    assert scene.rows("SELECT * FROM runs") == []


def test_the_instructions_of_an_agent_reach_its_planner_its_steps_and_its_answer(scene: Scene) -> None:
    step = {"id": "look", "description": "Find out", "tool_hints": ["work.read"]}
    read = scene.calls(("work__read", {"name": "a"}))
    later = scene.step("later", "work.read", "look")
    model = ScriptedModel(replies=[scene.plan(step, later), read, "found", "the answer"])
    ask(scene, scene.agent(model=model, agents={"reader": {"instructions": "Be brief. $5 a line."}}))
    systems = [asked[0].text for asked in model.prompts]
    assert all("Be brief. $5 a line." in system for system in systems)
    roles = ["planner", "agent", "agent", "respond"]
    assert [system.splitlines()[0] for system in systems] == [f"Role: {role}" for role in roles]


def test_an_agent_plans_when_its_profile_says_and_a_request_overrules_it(scene: Scene) -> None:
    model = ScriptedModel(replies=["just words", '{"task": "x"}', scene.plan(scene.step("r", "work.read"))])
    agent = scene.agent(model=model, agents={"reader": {"planning": "never"}})
    assert ask(scene, agent)["answer"] == "just words"
    assert ask(scene, agent, planning_mode="always")["plan"].work[0].capability == "work.read"


def test_the_turns_of_an_agent_end_at_its_own_limit(scene: Scene) -> None:
    replies = [scene.calls(("work__read", {"name": f"r{turn}"})) for turn in range(9)]
    output = ask(scene, scene.agent(*replies, agents={"reader": {"max_tool_iterations": 3}}, **AUTO))
    assert output["status"] == "failed"
    assert "stopped after 3 turns (agents.reader.max_tool_iterations)" in output["answer"]
    assert len(scene.done) == 3


@pytest.mark.parametrize(("limits", "name"), [({"tool_calls": 1}, "tool_calls"), ({"tokens": 100}, "tokens")])
def test_the_limits_of_an_agent_win_over_those_of_the_workspace(
    scene: Scene, limits: dict[str, int], name: str
) -> None:
    plan = scene.plan(scene.step("a", "work.read"), scene.step("b", "work.read"))
    settings = {"budgets": {"run": {"tool_calls": 9, "tokens": 90_000}}}
    output = ask(scene, scene.agent(plan, agents={"reader": {"limits": limits}}, **settings))
    assert output["status"] == "budget_exceeded"
    assert f"agents.reader.limits.{name}" in output["answer"]
    assert scene.done == []


@pytest.mark.parametrize(("tools", "remembered"), [(["work.read"], False), (["work.*", "memory.*"], True)])
def test_memories_reach_only_an_agent_that_may_search_them(
    scene: Scene, tools: list[str], remembered: bool
) -> None:
    model = ScriptedModel(replies=[scene.plan(scene.step("r", "work.read")), "done"])
    agent = scene.agent(model=model, agents={"reader": {"tools": tools}})
    memories, at = agent.stores.memories, datetime(2026, 1, 1, tzinfo=UTC)
    agent.loop.call(lambda: memories.write(Memory.new("m1", "wipe on fridays", [], at), "default", "run_0"))
    ask(scene, agent)
    assert ("wipe on fridays" in model.prompts[0][1].text) is remembered


def test_the_record_of_a_run_names_its_agent(scene: Scene) -> None:
    ask(scene, scene.agent(scene.plan(scene.step("r", "work.read")), "done", **READER))
    assert scene.journal()[0]["data"]["agent"] == "reader"


@pytest.mark.parametrize(
    ("profile", "cause"),
    [
        ({"tools": ["work.raed"]}, "agents.reader.tools`: there is no capability 'work.raed'"),
        ({"tools": ["nothing.*"]}, "agents.reader.tools`: there is no capability 'nothing.*'"),
        ({"tools": [""]}, "agents.reader.tools`: there is no capability ''"),
        ({"model": "nobody/big"}, "agents.reader.model`: there is no provider 'nobody/big'"),
    ],
)
def test_an_agent_that_names_what_there_is_not_is_refused(
    scene: Scene, profile: dict[str, Any], cause: str
) -> None:
    with pytest.raises(SetupError) as refused:
        scene.agent("never asked", agents={"reader": profile})
    assert cause in refused.value.cause
    assert refused.value.next_step
