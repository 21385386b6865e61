"""Chains under a workspace's policy, its secrets and its locks: each of their calls passes like any other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.errors import GateError
from planwright.domain.risk import Mode
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import load

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

AUTO = {"planning": {"mode": "auto"}}
ASK = "Chain tools: read, write, wipe, destroy, send"  # the tags of what it needs
ALLOW_ALL = '[[rule]]\ndecide = "allow"\n'
SECRET = "deploy-7Qz1xW9vB3nM5kJ8h"


@pytest.fixture(autouse=True)
def every_tool(scene: Scene) -> None:
    """Offer a model all tools there are, and not the ten best."""
    with (scene.workspace / "planwright.toml").open("a") as file:
        file.write("[tools]\ntop_k = 40\n")


def policy(scene: Scene, *rules: str) -> None:
    """Write the policy of a scene; rules are without their headers."""
    text = "".join(f"[[rule]]\n{rule}\n" for rule in rules) + ALLOW_ALL
    (scene.workspace / "policy.toml").write_text(text, "utf-8")


def part(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"toolName": tool, "arguments": arguments}


def made(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"name": "row", "description": "Do it in a row", "steps": list(parts)}


def looped(scene: Scene, *parts: dict[str, Any], **args: Any) -> tuple[Agent, ScriptedModel]:
    """Build an agent whose model makes a chain of these parts and calls it."""
    calls = [scene.calls(("tool__create_chain", made(*parts))), scene.calls(("row", args))]
    model = ScriptedModel(replies=[*calls, "done"])
    return scene.agent(model=model, **AUTO), model


def shown(agent: Agent, scene: Scene) -> dict[str, Any]:
    (found,) = agent.get_state(scene.config).interrupts
    value: dict[str, Any] = found.value["shown"]
    return value


READ = part("work.read", name="{{input.what}}")
WRITE = part("work.write", name="note", text="{{input.what}}")
WRITE_READING = part("work.write", name="note", text="{{previous_result.text}}")


def test_a_part_the_policy_asks_about_asks_for_its_chain_by_that_rule(scene: Scene) -> None:
    policy(scene, 'match.capability = "work.read"\ndecide = "ask"\nreason = "it is private"')
    agent, _ = looped(scene, WRITE, READ, what="r")
    scene.ask(agent, ASK)
    card = shown(agent, scene)
    assert (card["capability"], card["reason"]) == ("row", "work.read: it is private")
    assert card["policy"]["rule"] == "policy.toml:1"
    assert scene.done == []
    assert scene.decide(agent, "approve")["answer"] == "done"
    assert scene.done == ["note:r", "r"]


def test_a_chain_with_a_part_the_policy_denies_is_not_made(scene: Scene) -> None:
    policy(scene, 'match.capability = "work.write"\ndecide = "deny"\nreason = "nothing is written here"')
    agent, model = looped(scene, READ, WRITE_READING, what="r")
    assert scene.ask(agent, ASK)["answer"] == "done"
    assert "nothing is written here" in str(model.prompts[1][-1])
    assert scene.done == []
    assert scene.rows("SELECT * FROM chains") == []


def test_a_call_of_a_chain_whose_arguments_the_policy_denies_is_not_begun(scene: Scene) -> None:
    policy(scene, 'match.capability = "work.write"\nwhen = \'args.text == "x"\'\ndecide = "deny"')
    agent, model = looped(scene, READ, WRITE, what="x")
    assert scene.ask(agent, ASK)["answer"] == "done"
    assert "the policy denies row" in str(model.prompts[2][-1])
    assert scene.done == []


def test_a_plan_that_calls_such_a_chain_is_sent_back(scene: Scene) -> None:
    policy(scene, 'match.capability = "work.write"\nwhen = \'args.text == "x"\'\ndecide = "deny"')
    plan = scene.plan(
        scene.step("s1", "tool.create_chain", params=made(READ, WRITE)),
        scene.step("s2", "row", "s1", params={"what": "x"}),
    )
    output = scene.ask(scene.agent(*[plan] * 4))
    assert output["status"] == "refused"
    assert "the policy denies row" in output["answer"]
    assert scene.done == []


def test_what_is_denied_by_what_an_earlier_part_brings_is_not_called(scene: Scene) -> None:
    rule = 'match.capability = "work.write"\nwhen = \'args.text.contains("reading 1")\'\ndecide = "deny"'
    policy(scene, rule)
    agent, model = looped(scene, READ, WRITE_READING, what="r")
    scene.ask(agent, ASK)
    assert "policy.toml:1" in str(shown(agent, scene))  # nobody can tell beforehand
    scene.decide(agent, "approve")
    assert scene.done == ["r"]
    assert "the policy denies work.write" in str(model.prompts[2][-1])


def test_each_part_is_approved_by_whom_its_own_rule_names(scene: Scene) -> None:
    policy(
        scene,
        'match.capability = "work.flaky"\ndecide = "ask"',
        'match.capability = "work.read"\ndecide = "ask"\napprovers = "kim"',
        'match.capability = "work.write"\ndecide = "ask"\napprovers = "sam"',
    )
    agent, _ = looped(scene, part("work.flaky", name="f", failures=0), READ, WRITE, what="r")
    scene.ask(agent, ASK + ", flaky")
    with pytest.raises(GateError, match="is not for sam"):
        scene.answer(agent, {"type": "approve", "decided_by": "sam"})
    scene.answer(agent, {"type": "approve", "decided_by": "kim"})
    assert scene.done == ["f", "r"]
    assert shown(agent, scene)["capability"] == "work.write"
    with pytest.raises(GateError, match="is not for kim"):
        scene.answer(agent, {"type": "approve", "decided_by": "kim"})
    scene.answer(agent, {"type": "approve", "decided_by": "sam"})
    assert scene.done == ["f", "r", "note:r"]


def test_each_part_has_the_approvers_and_the_quorum_of_its_own_rule(scene: Scene) -> None:
    policy(
        scene,
        'match.capability = "work.read"\ndecide = "ask"\napprovers = "kim"',
        'match.capability = "work.write"\ndecide = "ask"\nquorum = 2',
    )
    agent, _ = looped(scene, READ, WRITE, what="r")
    scene.ask(agent, ASK)
    scene.answer(agent, {"type": "approve", "decided_by": "kim"})
    assert scene.done == ["r"]
    assert shown(agent, scene)["capability"] == "work.write"
    assert agent.get_state(scene.config).interrupts[0].value["approvals"] == ["kim"]
    scene.answer(agent, {"type": "approve", "decided_by": "sam"})
    assert scene.done == ["r", "note:r"]


def vault() -> Capability:
    """Declare a capability whose result holds the secret."""

    @capability("vault.read", trusted_result=True, mode="read_only", tags=("vault", "read"))
    def read() -> str:
        """Read what is in the vault."""
        return f"token = {SECRET}"

    return read


@pytest.mark.parametrize("writer", ["work.write", "work.wipe"])
def test_a_part_changes_nothing_with_the_mark_of_a_secret_and_asks_nobody(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, writer: str
) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", SECRET)
    parts = (part("vault.read"), part(writer, name="note {{previous_result}}"))
    calls = [scene.calls(("tool__create_chain", made(*parts))), scene.calls(("row", {}))]
    model = ScriptedModel(replies=[*calls, "done"])
    settings = load(scene.workspace, **AUTO, secrets={"env": ["DEPLOY_TOKEN"]})
    agent = build_graph(settings, model=model, capabilities=[vault()])
    scene.agents.append(agent)
    output = scene.ask(agent, ASK + ", vault")
    if writer == "work.wipe":
        output = scene.decide(agent, "approve")  # the chain, and no call of it with a mark
    assert output["answer"] == "done"
    assert scene.done == []
    assert "the mark of the secret DEPLOY_TOKEN" in str(model.prompts[2][-1])
    assert SECRET not in str(model.prompts)
    assert SECRET not in str(scene.everything())


def test_two_chains_that_overwrite_one_file_keep_the_order_of_their_plan(scene: Scene) -> None:
    writes = made(part("files.write", path="note.md", text="{{input.text}}"))
    first = scene.step("s2", "row", "s1", params={"text": "first"})
    second = scene.step("s3", "row", "s1", params={"text": "second"})
    agent = scene.agent(scene.plan(scene.step("s1", "tool.create_chain", params=writes), first, second), "ok")
    scene.ask(agent)
    told = [event["data"] for event in scene.journal() if event["type"] == "plan_verified"]
    assert [data["order"] for data in told] == [[{"step_id": "s3", "after": "s2", "both_use": "note.md"}]]
    assert scene.decide(agent, "approve")["answer"] == "ok"
    assert (scene.workspace / "note.md").read_text() == "second"


@pytest.mark.parametrize("mode", ["delegated", None])
@pytest.mark.parametrize("way", ["plan", "loop"])
def test_a_part_that_always_needs_a_person_is_asked_for_and_done(
    scene: Scene, way: str, mode: Mode | None
) -> None:
    done: list[str] = []

    @capability("desk.errand", mode=mode, tags=("errand",))
    def errand(place: str) -> str:
        """Run an errand in somebody's name."""
        done.append(place)
        return "run"

    parts = [{"toolName": "desk.errand", "arguments": {"place": "bank"}}]
    made = {"name": "run_it", "description": "Run it", "steps": parts}
    steps = [
        {"id": "made", "capability": "tool.create_chain", "params": made},
        {"id": "out", "capability": "run_it", "params": {}, "depends_on": ["made"]},
    ]
    if way == "plan":
        agent = scene.agent(scene.plan(*steps), "the answer", capabilities=[errand])
    else:
        calls = [scene.calls(("tool__create_chain", made)), scene.calls(("run_it", {}))]
        agent = scene.agent(*calls, "the answer", capabilities=[errand], planning={"mode": "auto"})
    out = scene.ask(agent, "Run the errand")
    kinds = list[str]()
    while "__interrupt__" in out and len(kinds) < 6:
        kinds.append(out["__interrupt__"][0].value["kind"])
        out = scene.decide(agent, "approve")
    assert out["status"] == "completed"
    assert kinds in (["plan", "step"], ["plan", "step", "step"], ["step"], ["step", "step"])
    assert done == ["bank"]
