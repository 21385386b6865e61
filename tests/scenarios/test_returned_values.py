"""Whatever a tool returns: its effect is made and recorded once, and its run completes, however called."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool
from pydantic import BaseModel

from planwright.capabilities.declaration import capability
from planwright.models.scripted import ScriptedModel
from tests.scenarios.returned_values import NAME, VALUES

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

ASK = "Do odd.deed, and make a chain of tools: odd, deed; delegate to agents"
DELEGATE = ("agent__delegate", {"task": "Do it", "tools": ["odd.deed"]})
CHAIN = {
    "name": "row",
    "description": "Do it in a row",
    "steps": [{"toolName": "odd.deed", "arguments": {}}, {"toolName": "datetime.now", "arguments": {}}],
}
ASKS_NOBODY = {"approval": {"tool_risk": "Critical", "plan_risk": "Critical"}}
AUTO = {"planning": {"mode": "auto"}, **ASKS_NOBODY}


@pytest.fixture(autouse=True)
def every_tool(scene: Scene) -> None:
    """Offer a model all tools there are, and not the ten best."""
    with (scene.workspace / "planwright.toml").open("a") as file:
        file.write("[tools]\ntop_k = 40\n")


class Deed:
    """A deed that returns something, and counts how often it was done."""

    def __init__(self, name: str) -> None:
        self._made, self.recorded = VALUES[name]
        self.times = 0

    def declared(self) -> Any:
        """Make a capability of it that changes something."""

        @capability("odd.deed", mode="local_write", tags=("odd", "deed"), trusted_result=True)
        def deed() -> Any:
            """Do the odd deed."""
            return self._done()

        return deed

    def tool(self) -> StructuredTool:
        """Make a LangChain tool of it that changes something."""

        def odd_deed() -> Any:
            """Do the odd deed."""
            return self._done()

        return StructuredTool.from_function(odd_deed, metadata={"mode": "local_write"})

    def _done(self) -> Any:
        self.times += 1
        return self._made()


def by_plan(scene: Scene, deed: Deed) -> str:
    agent = scene.agent(
        scene.plan({"id": "s1", "capability": "odd.deed"}),
        "done",
        capabilities=[deed.declared()],
        **ASKS_NOBODY,
    )
    return str(scene.ask(agent)["status"])


def by_loop(scene: Scene, deed: Deed) -> str:
    model = ScriptedModel(replies=[scene.calls(("odd__deed", {})), "done"])
    return str(scene.ask(scene.agent(model=model, capabilities=[deed.declared()], **AUTO), ASK)["status"])


def by_chain(scene: Scene, deed: Deed) -> str:
    made = scene.calls(("tool__create_chain", CHAIN))
    model = ScriptedModel(replies=[made, scene.calls(("row", {})), "done"])
    return str(scene.ask(scene.agent(model=model, capabilities=[deed.declared()], **AUTO), ASK)["status"])


def by_agent(scene: Scene, deed: Deed) -> str:
    replies = [scene.calls(DELEGATE), scene.calls(("odd__deed", {})), "it is done", "done"]
    model = ScriptedModel(replies=replies)
    return str(scene.ask(scene.agent(model=model, capabilities=[deed.declared()], **AUTO), ASK)["status"])


def by_langchain_tool(scene: Scene, deed: Deed) -> str:
    model = ScriptedModel(replies=[scene.calls(("odd_deed", {})), "done"])
    return str(
        scene.ask(scene.agent(model=model, tools=[deed.tool()], **AUTO), "Write it: do the odd deed")[
            "status"
        ]
    )


def by_planned_langchain_tool(scene: Scene, deed: Deed) -> str:
    replies = [scene.plan({"id": "s1", "capability": "odd_deed"}), "done"]
    return str(scene.ask(scene.agent(*replies, tools=[deed.tool()], **ASKS_NOBODY))["status"])


WAYS: dict[str, Callable[[Scene, Deed], str]] = {
    way.__name__: way
    for way in (by_plan, by_loop, by_chain, by_agent, by_langchain_tool, by_planned_langchain_tool)
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", VALUES)
def test_an_effect_is_done_and_recorded_once_whatever_it_returned(scene: Scene, name: str, way: str) -> None:
    deed = Deed(name)
    play: Callable[[Scene, Deed], str] = WAYS[way]
    assert play(scene, deed) == "completed"
    assert deed.times == 1
    effects = scene.rows("SELECT status, result FROM effects WHERE capability LIKE 'odd_deed'")
    recorded = [(row["status"], re.sub("odd[._]deed", NAME, row["result"])) for row in effects]
    assert [(status, json.loads(result)) for status, result in recorded] == [("done", deed.recorded)]


@pytest.mark.parametrize(
    "name", [name for name, (_, recorded) in VALUES.items() if not re.search(f"{NAME}|\0", str(recorded))]
)
def test_a_read_brings_a_model_what_it_returned(scene: Scene, name: str) -> None:
    made, recorded = VALUES[name]

    def look_up() -> Any:
        """Look something up."""
        return made()

    tool = StructuredTool.from_function(look_up, metadata={"mode": "read_only"})
    model = ScriptedModel(replies=[scene.calls(("look_up", {})), "done"])
    agent = scene.agent(model=model, tools=[tool], **AUTO)
    assert scene.ask(agent, "look it up")["status"] == "completed"
    result = next(message for message in model.prompts[-1] if isinstance(message, ToolMessage))
    shown = recorded if isinstance(recorded, str) else json.dumps(recorded, separators=(",", ":"))
    assert shown in result.text


class Counted(BaseModel):
    """What a typed capability declares."""

    n: int
    """A number."""


@pytest.mark.parametrize(("mode", "effect"), [("read_only", "pure"), ("local_write", "blind")])
@pytest.mark.parametrize("value", [{"n": "many"}, b"\x89", "words"], ids=repr)
def test_what_was_not_declared_is_recorded_with_a_note(
    scene: Scene, value: Any, mode: Any, effect: Any
) -> None:
    times: list[int] = []

    @capability("odd.deed", mode=mode, effect=effect, trusted_result=True)
    def deed() -> Counted:
        """Count something, or so it says."""
        times.append(1)
        returned: Counted = value
        return returned

    model = ScriptedModel(replies=[scene.plan({"id": "s1", "capability": "odd.deed"}), "done"])
    output = scene.ask(scene.agent(model=model, capabilities=[deed], **ASKS_NOBODY))
    assert (output["status"], times) == ("completed", [1])
    (row,) = scene.rows("SELECT status, result FROM steps")
    said = json.loads(row["result"])["note"]
    assert said.startswith("odd.deed returned what it does not declare: ")
    assert "odd.deed returned what it does not declare" in "".join(m.text for m in model.prompts[-1])


def test_a_reference_to_what_is_not_there_still_says_so(scene: Scene) -> None:
    @capability("odd.deed", mode="read_only", trusted_result=True)
    def deed() -> Counted:
        """Count something, or so it says."""
        returned: Any = {"m": 1}
        return returned  # type: ignore[no-any-return]

    write = {"id": "s2", "capability": "work.write", "params": {"name": "It is {{steps.s1.output.n}}"}}
    plan = scene.plan({"id": "s1", "capability": "odd.deed"}, write)
    options = {**ASKS_NOBODY, "planning": {"mode": "always", "replan_budget": 0}}
    output = scene.ask(scene.agent(plan, "done", capabilities=[deed], **options))
    assert output["status"] == "interrupted", output
    rows = [json.loads(row["result"]) for row in scene.rows("SELECT result FROM steps")]
    assert [row.get("error") for row in rows if row["step_id"] == "s2"] == [
        "the reference {{steps.s1.output.n}} leads nowhere: no `n` there"
    ]
    assert scene.done == []
