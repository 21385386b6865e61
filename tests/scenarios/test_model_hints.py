"""Steps that need something of their model, over real HTTP: which provider was asked for which of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.types import Command

from planwright.cli.views.run_views import report
from planwright.domain.errors import GateError
from planwright.domain.run_context import RunContext
from planwright.settings.settings import load
from tests.wire.scripted_server import Reply, ScriptedServer, calls, refuses, says

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

pytestmark = [pytest.mark.enable_socket, pytest.mark.long]

CAN_CALL = ["function_calling", "streaming", "json_mode"]
READ = calls("work__read", {"name": "r"})
WIPE = calls("work__wipe", {"name": "w"})


@dataclass
class House:
    """Scripted servers by name, and the settings of their providers."""

    stack: ExitStack
    servers: dict[str, ScriptedServer]
    settings: dict[str, dict[str, Any]]

    def serve(self, name: str, *replies: Reply | str, can: tuple[str, ...] = (), **more: Any) -> None:
        """Add a provider; the earlier it is added, the earlier it is tried."""
        script = [says(reply) if isinstance(reply, str) else reply for reply in replies]
        self.servers[name] = server = self.stack.enter_context(ScriptedServer(script))
        self.settings[name] = {
            "base_url": server.base_url,
            "model": f"{name}-1",
            "priority": len(self.servers),
            "capabilities": [*CAN_CALL, *can],
            **more,
        }

    def agent(self, scene: Scene, **options: Any) -> Agent:
        """Open an agent over these providers."""
        once = {"failover": {"retries": 0, "base_ms": 1}, "planner": {"attempts": 1}}
        return scene.agent(model=None, **{"providers": self.settings, **once, **options})

    def asked(self, name: str) -> list[str]:
        """Name the steps that a provider was asked to do, turn by turn; `-` for what is no step."""
        return [_step_of(request.sent("user")) for request in self.servers[name].requests]


def _step_of(said: str) -> str:
    marked = said.partition("is one step of a plan; other steps do the rest.\n<task>")[2]
    return json.loads(marked.partition("</task>")[0]) if marked else "-"


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """A house without providers; what it serves ends with the test."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ExitStack() as stack:
        yield House(stack, {}, {})


def step(id_: str, hint: Any = None, **more: Any) -> dict[str, Any]:
    """Write a step that is left to a model; its description is its id."""
    hinted = {} if hint is None else {"modelHint": hint}
    return {"id": id_, "description": id_, "toolHints": ["work.read"], **hinted, **more}


def told(scene: Scene, kind: str) -> list[dict[str, Any]]:
    return [event["data"] for event in scene.journal() if event["type"] == kind]


def routed(scene: Scene) -> list[tuple[str, str, str, list[str]]]:
    """List what was told of routing: step, provider/model, why, and what is lacking."""
    found = [
        (t["step_id"], f"{t['provider']}/{t['model']}", t["why"], t["lacks"])
        for t in told(scene, "model_routed")
    ]
    return sorted(found)


def test_each_step_is_done_by_the_first_provider_that_has_what_it_requires(
    scene: Scene, house: House
) -> None:
    steps = [
        step("plain"),
        step("think", {"requiresReasoning": True}),
        step("draw", ["vision"]),
        step("both", {"requires_reasoning": "required", "requiresVision": "required"}),
        step("long", {"minContext": 500_000}),
    ]
    house.serve("a", scene.plan(*steps), "by a")
    house.serve("b", "by b", can=("reasoning",))
    house.serve("c", "by c", can=("vision", "reasoning"), context=1_000_000)
    output = scene.ask(house.agent(scene))
    assert (output["status"], output["answer"]) == ("completed", "by a")
    assert house.asked("a") == ["-", "plain", "-"]
    assert house.asked("b") == ["think"]
    assert sorted(house.asked("c")) == ["both", "draw", "long"]
    assert routed(scene) == [
        ("both", "c/c-1", "fits", []),
        ("draw", "c/c-1", "fits", []),
        ("long", "c/c-1", "fits", []),
        ("think", "b/b-1", "fits", []),
    ]


def test_every_turn_of_a_step_and_what_it_delegates_stay_with_its_model(scene: Scene, house: House) -> None:
    tools = ["work.read", "agent.delegate"]
    house.serve("a", scene.plan({**step("think", "reasoning"), "toolHints": tools}))
    part = {"task": "Read r", "tools": ["work.read"]}
    replies = (calls("agent__delegate", part), READ, says("r is read"), says("thought"))
    house.serve("b", *replies, can=("reasoning",))
    output = scene.ask(house.agent(scene))
    assert (output["status"], scene.done) == ("completed", ["r"])
    assert len(house.servers["b"].requests) == 4
    assert house.asked("a") == ["-"]


def test_another_model_of_the_same_provider_serves_and_is_priced_as_it_is(scene: Scene, house: House) -> None:
    prices = {"input_per_million": 1, "output_per_million": 1}
    deep = {
        "capabilities": [*CAN_CALL, "reasoning"],
        "prices": {"input_per_million": 9, "output_per_million": 9},
    }
    plan = scene.plan(step("plain"), step("think", "reasoning", dependsOn=["plain"]))
    house.serve("a", plan, "plainly", "deeply", "done", models={"a-deep": deep}, prices=prices)
    assert scene.ask(house.agent(scene))["status"] == "completed"
    assert [request.body["model"] for request in house.servers["a"].requests] == [
        "a-1",
        "a-1",
        "a-deep",
        "a-1",
    ]
    costs = {call["model"]: call["cost"] for call in told(scene, "llm_call")}
    assert costs["a-deep"] == 9 * costs["a-1"]


def test_a_model_without_function_calling_does_its_step_in_words(scene: Scene, house: House) -> None:
    house.serve("a", scene.plan(step("think", "reasoning")), "done")
    house.serve("b", "thought", capabilities=["reasoning"])
    assert scene.ask(house.agent(scene))["status"] == "completed"
    (request,) = house.servers["b"].requests
    assert "tools" not in request.body
    assert "work__read" in request.sent("system")


def test_what_nobody_has_is_found_before_anything_runs_and_told_to_the_planner(
    scene: Scene, house: House
) -> None:
    wanted = scene.plan(step("plain"), step("think", "reasoning"))
    house.serve("a", wanted, scene.plan(step("plain"), step("think")), "one", "two", "done", can=("code",))
    output = scene.ask(house.agent(scene))
    assert output["status"] == "completed"
    (finding,) = told(scene, "plan_verified")[0]["findings"]
    assert (finding["code"], finding["step_id"]) == ("unmet_model_hint", "think")
    assert finding["message"] == "no configured model offers reasoning"
    assert "mark it preferred" in finding["fix"]
    assert "unmet_model_hint [think]" in house.servers["a"].requests[1].sent("user")
    assert house.asked("a")[:2] == ["-", "-"]


def test_a_plan_that_goes_on_asking_for_what_nobody_has_is_refused(scene: Scene, house: House) -> None:
    house.serve("a", scene.plan(step("think", "reasoning")))
    output = scene.ask(house.agent(scene))
    assert output["status"] == "refused"
    assert "unmet_model_hint [think]: no configured model offers reasoning" in output["answer"]
    assert set(house.asked("a")) == {"-"}


def test_what_is_preferred_and_nobody_has_falls_back_and_is_told(scene: Scene, house: House) -> None:
    house.serve("a", scene.plan(step("think", {"requiresReasoning": "preferred"})), "plainly")
    house.serve("b", "never asked", can=("code",))
    assert scene.ask(house.agent(scene))["status"] == "completed"
    assert house.asked("a") == ["-", "think"]
    assert routed(scene) == [("think", "a/a-1", "fallback", ["reasoning"])]
    run = scene.rows("SELECT run_id FROM runs")[0]["run_id"]
    assert report(load(scene.workspace), run)["routed"] == told(scene, "model_routed")


def test_what_is_preferred_is_had_where_there_is_one(scene: Scene, house: House) -> None:
    house.serve("a", scene.plan(step("think", {"requiresReasoning": "preferred"})))
    house.serve("b", "deeply", can=("reasoning",))
    assert scene.ask(house.agent(scene))["status"] == "completed"
    assert house.asked("b") == ["think"]


@pytest.mark.parametrize("chosen", ["a", "a/a-9"])
def test_the_choice_of_a_request_wins_over_hints(scene: Scene, house: House, chosen: str) -> None:
    house.serve("a", scene.plan(step("think", {"reasoning": True, "streaming": True})), "plainly", "done")
    house.serve("b", "never asked", can=("reasoning",))
    context = RunContext(provider=chosen)
    agent = house.agent(scene)
    output = agent.invoke({"messages": [("user", "Do it")]}, scene.config, context=context)
    assert output["status"] == "completed"
    assert house.asked("b") == []
    model = chosen.partition("/")[2] or "a-1"
    assert routed(scene) == [("think", f"a/{model}", "chosen", ["reasoning"])]


def test_who_serves_in_the_place_of_another_has_what_is_required(scene: Scene, house: House) -> None:
    house.serve("a", scene.plan(step("think", "reasoning")))
    house.serve("b", refuses(503, "overloaded"), can=("reasoning",))
    house.serve("c", "never asked", can=("code",))
    house.serve("d", "deeply", can=("reasoning", "vision"))
    assert scene.ask(house.agent(scene))["status"] == "completed"
    asked = {name: house.asked(name) for name in "abcd"}
    assert asked == {"a": ["-"], "b": ["think"], "c": [], "d": ["think"]}
    assert [move["next"] for move in told(scene, "failover")] == ["d/d-1"]


def test_a_step_whose_models_are_all_down_waits_and_the_others_go_on(scene: Scene, house: House) -> None:
    house.serve("a", scene.plan(step("plain"), step("think", "reasoning")), "plainly", "done")
    house.serve("b", refuses(503, "overloaded"), can=("reasoning",))
    output = scene.ask(house.agent(scene, planning={"mode": "always", "replan_budget": 0}))
    assert output["status"] == "paused"
    assert "think" not in house.asked("a")
    rows = {
        row["data"]["step_id"]: row["type"] for row in scene.journal() if row["type"].startswith("plan_step_")
    }
    assert rows == {"plain": "plan_step_complete", "think": "plan_step_start"}


@pytest.mark.parametrize(("need", "by"), [(True, []), ("preferred", ["think"])])
def test_a_step_whose_only_model_is_over_its_limit_is_done_by_another_only_where_that_may_be(
    scene: Scene, house: House, need: object, by: list[str]
) -> None:
    house.serve("a", scene.plan(step("think", {"requiresReasoning": need})), "plainly", "done")
    house.serve("b", "never asked", can=("reasoning",), daily_tokens=1)
    output = scene.ask(house.agent(scene, planning={"mode": "always", "replan_budget": 0}))
    assert house.asked("b") == []
    assert [one for one in house.asked("a") if one != "-"] == by
    assert output["status"] == ("completed" if by else "budget_exceeded")
    assert by or "providers.b.daily_tokens" in told(scene, "plan_step_failed")[0]["error"]


def test_a_provider_without_a_key_fails_its_step_and_no_other(scene: Scene, house: House) -> None:
    house.serve("a", scene.plan(step("plain"), step("think", "reasoning")), "plainly", "done")
    house.settings["b"] = {"model": "b-1", "priority": 9, "capabilities": ["reasoning"]}
    house.settings["b"]["api_key_env"] = "NOBODY_SETS_THIS"
    scene.ask(house.agent(scene, planning={"mode": "always", "replan_budget": 0}))
    (failed,) = told(scene, "plan_step_failed")
    assert (failed["step_id"], failed["code"]) == ("think", "model")
    assert failed["error"].startswith("provider b has no key\nset NOBODY_SETS_THIS")
    assert [done["step_id"] for done in told(scene, "plan_step_complete")] == ["plain"]


def test_a_hint_that_nobody_understands_goes_back_to_the_planner(scene: Scene, house: House) -> None:
    wrong, right = step("think", {"requires_telepathy": True}), step("think", "reasoning")
    house.serve("a", scene.plan(wrong), scene.plan(right), "done", can=("reasoning",))
    assert scene.ask(house.agent(scene))["status"] == "completed"
    (repair,) = told(scene, "plan_repaired")
    assert "a model hint knows no 'requires_telepathy', only requires_reasoning" in repair["error"]


def test_the_hint_of_a_fixed_call_goes_back_to_the_planner(scene: Scene, house: House) -> None:
    hinted, plain = scene.step("s1", "work.read", modelHint="reasoning"), scene.step("s1", "work.read")
    house.serve("a", scene.plan(hinted), scene.plan(plain), "done")
    output = scene.ask(house.agent(scene))
    assert (output["status"], scene.done) == ("completed", ["s1"])
    assert routed(scene) == []


def test_the_planner_is_told_what_models_there_are(scene: Scene, house: House) -> None:
    house.serve("a", scene.plan(step("plain")), "done")
    house.serve("b", "never asked", can=("reasoning",), context=9_000)
    scene.ask(house.agent(scene))
    said = house.servers["a"].requests[0].sent("user")
    offered = json.loads(said.partition("<models>")[2].partition("</models>")[0])
    assert offered == [
        {"can": ["function_calling", "streaming"], "context": 128_000},
        {"can": ["reasoning", "function_calling", "streaming"], "context": 9_000},
    ]


SEEN = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


@pytest.mark.parametrize(("can", "by", "why"), [(("vision",), "b", "fits"), ((), "a", "fallback")])
def test_a_request_with_an_image_goes_to_a_model_with_eyes_where_there_is_one(
    scene: Scene, house: House, can: tuple[str, ...], by: str, why: str
) -> None:
    house.serve("a", "by a")
    house.serve("b", "by b", can=can)
    content = [{"type": "text", "text": "What is this?"}, SEEN]
    agent = house.agent(scene, planning={"mode": "never"})
    output = agent.invoke({"messages": [{"role": "user", "content": content}]}, scene.config)
    assert (output["status"], output["answer"]) == ("completed", f"by {by}")
    (one,) = told(scene, "model_routed")
    assert (one["step_id"], one["provider"], one["why"]) == ("", by, why)
    assert "iVBORw0KGgo=" in str(house.servers[by].requests[0].body["messages"])


@pytest.fixture
def gated(scene: Scene, house: House) -> Agent:
    """Begin a run whose plan waits at its gate: a step that thinks, and a plain one."""
    plan = scene.plan(step("think", "reasoning", estimatedRisk="Medium"), step("plain"))
    house.serve("a", plan, "by a")
    house.serve("b", "by b", can=("reasoning",))
    house.serve("c", "by c", can=("vision", "reasoning"))
    agent = house.agent(scene, planning={"mode": "always", "replan_budget": 0})
    scene.ask(agent)
    return agent


def shown(scene: Scene, agent: Agent) -> dict[str, Any]:
    (asked,) = agent.get_state(scene.config).interrupts
    card: dict[str, Any] = asked.value["shown"]
    return card


def edit(scene: Scene, agent: Agent, hint: Any) -> dict[str, Any]:
    """Change the hint of the step that thinks, and return what is asked then."""
    plan = shown(scene, agent)
    next(one for one in plan["steps"] if one["id"] == "think")["model_hint"] = hint
    action = {"name": "approve_plan", "args": {"plan": plan}}
    agent.invoke(Command(resume={"decisions": [{"type": "edit", "edited_action": action}]}), scene.config)
    return shown(scene, agent)


def test_the_gate_of_a_plan_shows_the_hints_that_count(scene: Scene, gated: Agent) -> None:
    hints = {one["id"]: one.get("model_hint") for one in shown(scene, gated)["steps"]}
    assert hints == {"think": {"requires_reasoning": "required"}, "plain": None}


@pytest.mark.parametrize(
    ("hint", "by", "change"),
    [
        (None, "a", 'model_hint: {"requires_reasoning": "required"} → null'),
        ({"requiresVision": True}, "c", 'model_hint.requires_vision: nothing → "required"'),
        ({"reasoning": "preferred"}, "b", 'model_hint.requires_reasoning: "required" → "preferred"'),
    ],
    ids=["taken out", "another", "preferred"],
)
def test_an_edit_of_a_hint_is_asked_for_again_and_routes_as_edited(
    scene: Scene, house: House, gated: Agent, hint: Any, by: str, change: str
) -> None:
    assert any(change in line for line in edit(scene, gated, hint)["changes"])
    assert scene.decide(gated, "approve")["status"] == "completed"
    assert [name for name in "abc" if "think" in house.asked(name)] == [by]


@pytest.mark.parametrize(
    ("hint", "says"),
    [
        ({"requires_code": True}, r"unmet_model_hint \[think\]: no configured model offers code"),
        ({"requires_telepathy": True}, "a model hint knows no 'requires_telepathy'"),
        ({"requires_reasoning": "perhaps"}, '`requires_reasoning` is true, "required" or "preferred"'),
    ],
    ids=["nobody has it", "unknown", "malformed"],
)
def test_an_edit_to_a_hint_that_cannot_be_followed_is_refused_and_the_gate_stays_open(
    scene: Scene, gated: Agent, hint: Any, says: str
) -> None:
    before = scene.everything()
    with pytest.raises(GateError, match=says):
        edit(scene, gated, hint)
    assert scene.everything() == before
    assert shown(scene, gated)["revision"] == 1


def test_a_step_that_nobody_can_do_any_more_fails_and_the_others_go_on(
    scene: Scene, house: House, gated: Agent
) -> None:
    left = {"a": house.settings["a"]}
    later = house.agent(scene, providers=left, planning={"mode": "always", "replan_budget": 0})
    scene.decide(later, "approve")
    (failed,) = told(scene, "plan_step_failed")
    assert (failed["step_id"], failed["code"]) == ("think", "unmet_model_hint")
    assert failed["error"].startswith(
        "no configured model offers reasoning\nadd one that does under providers"
    )
    assert [done["step_id"] for done in told(scene, "plan_step_complete")] == ["plain"]
    assert "think" not in house.asked("a")


def waiting_in_a_step(scene: Scene, house: House) -> Agent:
    """Begin a run whose step has asked its model once, and waits for the gate of a call."""
    thinking = {**step("think", "reasoning"), "toolHints": ["work.wipe"]}
    house.serve("a", scene.plan(thinking), "done")
    house.serve("b", WIPE, "wiped by b", can=("reasoning",))
    house.serve("c", "wiped by c", can=("reasoning",))
    agent = house.agent(scene)
    scene.ask(agent)
    scene.decide(agent, "approve")
    assert house.asked("b") == ["think"]
    return agent


def test_a_step_goes_on_in_another_process_with_the_model_it_began_with(scene: Scene, house: House) -> None:
    waiting_in_a_step(scene, house)
    output = scene.decide(house.agent(scene), "approve")
    assert (output["status"], scene.done) == ("completed", ["w"])
    assert (house.asked("b"), house.asked("c")) == (["think", "think"], [])


def test_a_model_that_has_lost_what_is_required_is_not_asked_again_for_its_step(
    scene: Scene, house: House
) -> None:
    waiting_in_a_step(scene, house)
    less = {**house.settings, "b": {**house.settings["b"], "capabilities": CAN_CALL}}
    output = scene.decide(house.agent(scene, providers=less), "approve")
    assert (output["status"], scene.done) == ("completed", ["w"])
    assert (house.asked("b"), house.asked("c")) == (["think"], ["think"])


def test_a_step_whose_process_was_killed_is_routed_by_the_same_rule(scene: Scene, house: House) -> None:
    thinking = {**step("think", "reasoning"), "toolHints": ["work.write"]}
    write = calls("work__write", {"name": "w"})
    house.serve("a", scene.plan(thinking))
    house.serve("b", write, "written by b", can=("reasoning",))
    with (scene.workspace / "planwright.toml").open("a", encoding="utf-8") as file:
        for name, given in house.settings.items():
            file.write(f"\n[providers.{name}]\n")
            file.writelines(f"{key} = {json.dumps(value)}\n" for key, value in given.items())
    (scene.workspace / "die-w").touch()
    scene.child(scene.entry(message="Do it"), dies=True)
    assert (scene.done, house.asked("b")) == (["began w"], ["think"])
    output = scene.recover(house.agent(scene))
    assert (output["status"], scene.done) == ("completed", ["began w", "w"])
    assert (house.asked("a"), house.asked("b")) == (["-"], ["think", "think"])
    assert routed(scene) == [("think", "b/b-1", "fits", [])]
