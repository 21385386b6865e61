"""The next question of a thread uses an id, an amount or a path that a tool returned in the one before."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.types import Command

from planwright.models.scripted import ScriptedModel

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

VALUES = {
    "id": "4711",
    "amount": "1,249.90",
    "path": "reports/2026/q3-final.csv",
    "code": "INV-2026-00317",
    "address": "ada@example.com",
}
OTHERS = [{"name": f"thing {n}", "value": f"other {n}"} for n in range(12)]
RESULTS: dict[str, Any] = {
    "alone": lambda value: {"name": "the printer", "value": value},
    "among others": lambda value: [*OTHERS, {"name": "the printer", "value": value}, *OTHERS],
    "in a text": lambda value: f"There are {len(OTHERS)} things. The value of the printer is {value} today.",
}
HOW = [*RESULTS, "compacted", "forked"]
WAYS = {"loop": "never", "plan": "always"}
LOOK, USE, THANKS = "Look up the printer", "Use the value of the printer", "Thanks"
FILLER = "word " * 9000  # about 11,000 tokens


class Reader(ScriptedModel):
    """A model that looks up when it is asked to, and uses the value that its prompt holds."""

    value: str = ""
    """The value that it looks for in its prompt."""

    def _reply(self, messages: list[BaseMessage]) -> str | dict[str, Any]:
        self._prompts.append(messages)
        role, text = messages[0].text.split("\n")[0], "\n".join(m.text for m in messages[1:])
        request = max(re.findall(f"{LOOK}|{USE}|{THANKS}", text), key=text.rfind, default=THANKS)
        wanted = {LOOK: ("look_up", {}), USE: ("make_use", {"value": self.value})}
        if USE in request and self.value not in text.replace('\\"', '"'):
            wanted[USE] = ("make_use", {"value": "nobody told me"})
        if "task_extraction" in role:
            return json.dumps({"task": request})
        if "planner" in role:
            name, params = wanted.get(request, ("work.read", {"name": "a"}))
            return json.dumps({"goal": "g", "steps": [{"id": "s1", "capability": name, "params": params}]})
        if "agent" not in role:
            return "They talked."
        if isinstance(messages[-1], ToolMessage) or request not in wanted:
            return "Done."
        name, params = wanted[request]
        return {"tool_calls": [{"name": name, "args": params, "id": "c0"}]}


def tools(result: Any, used: list[str]) -> list[StructuredTool]:
    def look_up() -> Any:
        """Look up things: the printer, its value."""
        return result

    def make_use(value: str) -> str:
        """Use the value of the printer."""
        used.append(value)
        return "used"

    reads, writes = {"mode": "read_only"}, {"mode": "local_write", "effect": "idempotent"}
    return [
        StructuredTool.from_function(look_up, metadata=reads),
        StructuredTool.from_function(make_use, metadata=writes),
    ]


def led(agent: Agent, output: dict[str, Any], config: Any) -> dict[str, Any]:
    """Approve whatever is asked."""
    while output.get("__interrupt__"):
        answers = {gate.id: {"decisions": [{"type": "approve"}]} for gate in output["__interrupt__"]}
        output = agent.invoke(Command(resume=answers), config)
    return output


@pytest.mark.sampled(6)
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("way", WAYS)
def test_a_value_of_the_turn_before_can_be_used(way: str, kind: str, how: str, scene: Scene) -> None:
    value, used = VALUES[kind], list[str]()
    result = RESULTS.get(how, RESULTS["among others"])(value)
    model, config = Reader(replies=["none"], value=value), scene.config
    agent = scene.agent(
        model=model,
        tools=tools(result, used),
        planning={"mode": WAYS[way]},
        approval={"plan": "never"},
        context={"compact_at": 0.06} if how == "compacted" else {},
    )

    def ask(text: str) -> dict[str, Any]:
        return led(agent, agent.invoke({"messages": [("user", text)]}, config), config)

    assert ask(LOOK)["status"] == "completed"
    if how == "compacted":
        ask(f"{THANKS} {FILLER}")
    if how == "forked":
        ask(THANKS)
        config = agent.fork(config)
        led(agent, agent.invoke(None, config), config)
    output = ask(USE)
    assert (output["status"], used) == ("completed", [value])
    if how == "compacted":
        assert scene.rows("SELECT 1 FROM journal WHERE type = 'context_compacted'")
    ids = [message.id for message in output["messages"]]
    assert len(ids) == len(set(ids))
