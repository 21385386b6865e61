"""The public tests and documented examples of LangChain's HumanInTheLoopMiddleware, played at our gates.

`langchain_hitl.json` lists them and has a case of ours for each that needs no tool of its own; the others are
played in `test_langchain_hitl_tools.py`, and in `tests/documented/` where something else happens here.
"""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from planwright.domain.errors import GateError
from planwright.graph.agent import Agent
from planwright.models.scripted import ScriptedModel
from tests.documented.table import GUIDE
from tests.scenarios.conftest import Scene

LISTED: dict[str, Any] = json.loads(Path(__file__).with_name("langchain_hitl.json").read_text("utf-8"))
CASES: list[dict[str, Any]] = LISTED["cases"]
MODULES = ("tests.scenarios.test_langchain_hitl_tools", "tests.documented.test_human_in_the_loop_middleware")
ALLOW_ALL = '[[rule]]\ndecide = "allow"\n'


def opened(scene: Scene, case: Mapping[str, Any]) -> tuple[Agent, ScriptedModel]:
    """Open an agent under the rules of a case, whose model calls the same tools."""
    if "rules" in case:
        rules = "".join(f"[[rule]]\n{rule}\n" for rule in case["rules"])
        (scene.workspace / "policy.toml").write_text(rules + ALLOW_ALL, "utf-8")
    calls = [
        scene.calls(*((name.replace(".", "__"), args) for name, args in reply)) for reply in case["replies"]
    ]
    model = ScriptedModel(replies=[*calls, "the answer"])
    return scene.agent(model=model, planning={"mode": "auto"}), model


def sent(scene: Scene, agent: Agent, given: Any, how: str) -> tuple[Mapping[str, Any], Sequence[Any]]:
    """Send a request or an answer; return the output and the interrupts."""
    if how == "v2":
        output = agent.invoke(given, scene.config, version="v2")
        return output.value, output.interrupts
    if how == "async":
        output = asyncio.run(agent.ainvoke(given, scene.config))
    else:
        output = agent.invoke(given, scene.config)
    return output, output.get("__interrupt__", ())


def answered(asked: Any, decisions: Sequence[Any], how: str) -> Command[Any]:
    """Make the resume of an answer."""
    answer = {"decisions": decisions}
    return Command(resume={asked.id: answer} if how == "by_id" else answer)


def check_question(asked: Any, case: Mapping[str, Any]) -> None:
    """Compare what an interrupt asks with what the case says of it."""
    requests, configs = asked.value["action_requests"], asked.value["review_configs"]
    assert [request["name"] for request in requests] == case["asked"]
    assert {config["action_name"] for config in configs} == set(case["asked"])
    assert all(
        config["allowed_decisions"] == case.get("allowed", config["allowed_decisions"]) for config in configs
    )
    assert [request["args"] for request in requests] == case.get(
        "asked_args", [request["args"] for request in requests]
    )
    for request, words in zip(requests, case.get("described", ()), strict=False):
        assert words in request["description"]


def check_conversation(messages: Sequence[Any], case: Mapping[str, Any]) -> None:
    """Every call stands as the model made it, and is answered behind it, in order, by its id."""
    made = [message for message in messages if getattr(message, "tool_calls", None)]
    assert [
        [[call["name"].replace("__", "."), call["args"]] for call in message.tool_calls] for message in made
    ] == case["replies"]
    pairs = [(call["id"], call["name"]) for message in made for call in message.tool_calls]
    results = [message for message in messages if message.type == "tool"]
    assert [(message.tool_call_id, message.name) for message in results] == pairs
    for message, (status, words) in zip(results, case["told"], strict=True):
        assert message.status == status
        assert words in message.text
    told = "\n".join(message.text for message in results)
    assert [word for word in case.get("never", ()) if word in told] == []
    assert all(told.count(word) == 1 for word in case.get("once", ()))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_what_their_case_says_holds_at_our_gate(case: dict[str, Any], scene: Scene) -> None:
    how = case.get("how", "")
    agent, model = opened(scene, case)
    output, interrupts = sent(scene, agent, {"messages": [("user", "Do it")]}, how)
    if case["asked"]:
        (asked,) = interrupts
        check_question(asked, case)
        before = scene.everything()
        for decisions, why in case.get("bad", ()):
            with pytest.raises(GateError, match=why):
                sent(scene, agent, answered(asked, decisions, how), how)
        assert scene.everything() == before
        output, interrupts = sent(scene, agent, answered(asked, case["decisions"], how), how)
    assert not interrupts
    assert scene.done == case["done"]
    assert len(scene.rows("SELECT gate_id FROM gates")) == case.get("gates", len(case["asked"]) and 1)
    check_conversation(output["messages"], case)
    check_conversation([message for message in model.prompts[-1] if message.type != "system"], case)


def restated() -> dict[str, bool]:
    """List what is played, by its name there, and whether it holds here."""
    holds = {case["of"]: True for case in CASES}
    for module in MODULES:
        for test in vars(importlib.import_module(module)).values():
            holds |= dict.fromkeys(getattr(test, "restates", ()), not hasattr(test, "instead"))
    return holds


def test_each_of_them_is_restated_or_has_a_reason_and_the_guide_counts_them() -> None:
    tests, examples, left = LISTED["tests"], LISTED["examples"], LISTED["not_applicable"]
    holds = restated()
    assert (len(tests), len(examples), len(left)) == (62, 24, 3)
    assert sorted([*holds, *left]) == sorted([*tests, *examples])
    played = [sum(name in holds for name in names) for names in (tests, examples)]
    hold = [sum(holds.get(name, False) for name in names) for names in (tests, examples)]
    line = (
        f"Of the {len(tests)} public tests of LangChain's middleware {played[0]} are restated and {hold[0]}"
        f" hold, of {len(examples)} documented examples {played[1]} and {hold[1]}"
    )
    assert line in " ".join(GUIDE.read_text("utf-8").split())
