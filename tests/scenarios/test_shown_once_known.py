"""What was not known when a plan was approved is put before a person before it goes out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.tools import StructuredTool

from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.errors import GateError
from planwright.graph.agent import Agent
from planwright.models.scripted import ScriptedModel

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

ALLOW_ALL = '[[rule]]\ndecide = "allow"\n'
ACCOUNT = "DE89 stranger"
READ = {"id": "s1", "capability": "office.read", "params": {}}
PLAN_FIRST = {"order": "plan_first"}
UNSEEN = {"decisions": [{"type": "approve", "remember": {"unseen": True}}]}


def office(done: list[str]) -> list[Capability]:
    """Make capabilities that read what a stranger wrote, pay, post and note."""

    @capability("office.read", mode="read_only", tags=("read",))
    def read() -> dict[str, str]:
        """Read a mail of somebody else."""
        return {"text": ACCOUNT}

    @capability("office.day", mode="read_only", tags=("day",), trusted_result=True)
    def day() -> dict[str, str]:
        """Tell the day."""
        return {"text": "Monday"}

    @capability("office.refund", mode="local_write", risk="High", tags=("refund",))
    def refund(account: str, cents: int) -> str:
        """Pay money back."""
        done.append(f"refund {account} {cents}")
        return "paid"

    @capability(
        "office.post",
        mode="network",
        risk="Medium",
        tags=("post",),
        destinations=("room",),
        hosts=lambda args, call: ["127.0.0.1:9"],
        preflight=lambda args, call: None,  # so its host is known where its text is not
    )
    def post(room: str, text: str) -> str:
        """Post a text."""
        done.append(f"post {room} {text}")
        return "posted"

    @capability("office.note", mode="local_write", tags=("note",), destinations=("page",))
    def note(page: str, text: str) -> str:
        """Note a text."""
        done.append(f"note {page} {text}")
        return "noted"

    return [read, day, refund, post, note]


def begun(scene: Scene, done: list[str], *steps: dict[str, Any], replies: tuple[Any, ...] = ()) -> Agent:
    """Plan some steps, up to the gate of the plan."""
    model = ScriptedModel(replies=[scene.plan(*steps), *replies, "the answer"])
    agent = scene.agent(
        model=model, capabilities=office(done), egress={"allow": ["127.0.0.1:9"]}, approval=PLAN_FIRST
    )
    (asked,) = scene.ask(agent)["__interrupt__"]
    assert asked.value["kind"] == "plan"
    return agent


def call(capability: str, *after: str, **params: Any) -> dict[str, Any]:
    return {"id": "out", "capability": capability, "params": params, "depends_on": list(after)}


REFUND = call("office.refund", account="{{steps.s1.output.text}}", cents=500)
POST = call("office.post", room="team", text="{{steps.s1.output.text}}")
OTHERS = {"refund": (REFUND, "refund DE89 stranger 500"), "post": (POST, "post team DE89 stranger")}


@pytest.mark.parametrize("shape", OTHERS)
def test_what_others_wrote_is_shown_before_it_goes_out(scene: Scene, shape: str) -> None:
    done: list[str] = []
    step, effect = OTHERS[shape]
    agent = begun(scene, done, READ, step)
    (shown,) = scene.decide(agent, "approve")["__interrupt__"]
    assert ACCOUNT in shown.value["shown"]["args"].values()
    assert done == []
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert done == [effect]


@pytest.mark.parametrize("shape", OTHERS)
def test_it_is_not_done_when_the_person_says_no(scene: Scene, shape: str) -> None:
    done: list[str] = []
    agent = begun(scene, done, READ, OTHERS[shape][0])
    scene.decide(agent, "approve")
    scene.decide(agent, "reject")
    assert done == []


def test_what_a_model_wrote_in_a_step_is_shown_before_it_goes_out(scene: Scene) -> None:
    done: list[str] = []
    written = {"id": "s1", "description": "Write a post about the day", "tool_hints": ["office.day"]}
    post = call("office.post", room="team", text="{{steps.s1.output.text}}")
    agent = begun(scene, done, written, post, replies=("Hello all",))
    (shown,) = scene.decide(agent, "approve")["__interrupt__"]
    assert shown.value["shown"]["args"] == {"room": "team", "text": "Hello all"}
    assert done == []
    scene.decide(agent, "approve")
    assert done == ["post team Hello all"]


@pytest.mark.parametrize(
    "steps",
    [
        (READ, call("office.note", "s1", page="today", text="{{steps.s1.output.text}}")),
        ({**READ, "capability": "office.day"}, POST),
        (READ, call("office.post", "s1", room="team", text="Good morning")),
    ],
    ids=["text for a page of ours", "what nobody else wrote", "what the plan says"],
)
def test_the_plan_is_enough_for_the_rest(scene: Scene, steps: tuple[dict[str, Any], ...]) -> None:
    done: list[str] = []
    agent = begun(scene, done, *steps)
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert len(done) == 1


@pytest.mark.parametrize("shape", OTHERS)
def test_a_person_may_say_with_the_plan_that_it_need_not_be_shown(scene: Scene, shape: str) -> None:
    done: list[str] = []
    step, effect = OTHERS[shape]
    agent = begun(scene, done, READ, step)
    (asked,) = agent.get_state(scene.config).interrupts
    assert asked.value["shown_later"] == ["out"]
    assert scene.answer(agent, UNSEEN)["status"] == "completed"
    assert done == [effect]
    (gate,) = scene.rows("SELECT decided_by, channel, reason FROM gates WHERE kind = 'step'")
    assert (gate["channel"], gate["reason"][:22]) == ("plan", "unseen, with the plan,")


def test_a_plan_that_shows_all_cannot_be_approved_unseen(scene: Scene) -> None:
    agent = begun(scene, [], READ, call("office.post", "s1", room="team", text="Good morning"))
    with pytest.raises(GateError, match="shows all that goes out"):
        scene.answer(agent, UNSEEN)


def test_a_rule_that_asks_still_asks(scene: Scene) -> None:
    when = "match.capability = 'office.refund'\nwhen = 'args.account != \"mine\"'"
    rule = f'{when}\ndecide = "ask"\nreason = "not mine"'
    (scene.workspace / "policy.toml").write_text(f"[[rule]]\n{rule}\n{ALLOW_ALL}", encoding="utf-8")
    done: list[str] = []
    agent = begun(scene, done, READ, REFUND)
    (shown,) = scene.answer(agent, UNSEEN)["__interrupt__"]
    assert (shown.value["kind"], done) == ("step", [])


def courier(done: list[str]) -> StructuredTool:
    """Make a tool whose arguments are described by a JSON schema, as those of an MCP server are."""
    texts = {name: {"type": "string"} for name in ("to", "text")}

    def take(**args: str) -> str:
        done.append(f"take {args}")
        return "taken"

    return StructuredTool.from_function(
        take,
        name="courier",
        description="Take a text to somebody.",
        args_schema={"type": "object", "properties": texts},
        metadata={"destructiveHint": False, "openWorldHint": False},
    )


@pytest.mark.parametrize("way", ["plan", "chain"])
def test_arguments_of_a_json_schema_are_shown_like_any_others(scene: Scene, way: str) -> None:
    done: list[str] = []
    args = {"to": "{{steps.s1.output.text}}", "text": "hello"}
    steps = [READ, call("courier", **args)]
    if way == "chain":
        parts = [
            {"toolName": "office.read", "arguments": {}},
            {"toolName": "courier", "arguments": {**args, "to": "{{previous_result.text}}"}},
        ]
        made = {"name": "pass_on", "description": "Pass a mail on", "steps": parts}
        steps = [{**call("tool.create_chain", **made), "id": "made"}, call("pass_on", "made")]
    model = ScriptedModel(replies=[scene.plan(*steps), "the answer"])
    agent = scene.agent(model=model, capabilities=office(done), tools=[courier(done)], approval=PLAN_FIRST)
    scene.ask(agent)
    (shown,) = scene.decide(agent, "approve")["__interrupt__"]
    assert shown.value["shown"]["args"]["to"] == ACCOUNT
    assert done == []


def test_a_chain_in_a_plan_shows_it_too(scene: Scene) -> None:
    done: list[str] = []
    parts = [
        {"toolName": "office.read", "arguments": {}},
        {"toolName": "office.post", "arguments": {"room": "team", "text": "{{previous_result.text}}"}},
    ]
    made = {"name": "pass_on", "description": "Pass a mail on", "steps": parts}
    agent = begun(
        scene, done, {**call("tool.create_chain", **made), "id": "made"}, {**call("pass_on", "made")}
    )
    (shown,) = scene.decide(agent, "approve")["__interrupt__"]
    assert shown.value["shown"]["args"] == {"room": "team", "text": ACCOUNT}
    assert done == []
    scene.decide(agent, "approve")
    assert done == ["post team DE89 stranger"]


def test_what_a_plan_gives_a_chain_is_shown_too(scene: Scene) -> None:
    done: list[str] = []
    parts = [{"toolName": "office.refund", "arguments": {"account": "{{input.account}}", "cents": 500}}]
    made = {"name": "pay_it", "description": "Pay", "steps": parts}
    pay = {**call("pay_it", "made", "s1", account="{{steps.s1.output.text}}")}
    agent = begun(scene, done, READ, {**call("tool.create_chain", **made), "id": "made"}, pay)
    (shown,) = scene.decide(agent, "approve")["__interrupt__"]
    assert ACCOUNT in str(shown.value["shown"]["args"])
    assert done == []
