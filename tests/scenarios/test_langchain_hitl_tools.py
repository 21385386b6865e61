"""The public cases of LangChain's HumanInTheLoopMiddleware that need more than calls and answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool
from langgraph.types import Command
from pydantic import JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.declaration import capability
from planwright.capabilities.descriptions import ArgumentDescription
from planwright.domain.errors import GateError, SetupError
from planwright.graph.agent import Agent
from planwright.models.scripted import ScriptedModel
from tests.documented.conftest import restates
from tests.scenarios.conftest import Scene

PREFIX = "test_human_in_the_loop_middleware_"
NOTE = 'made with other arguments, by a person: {"to":"bob"}\n'
EDIT = {"type": "edit", "edited_action": {"name": "mail", "args": {"to": "bob"}}}
APPROVE = {"type": "approve"}


def with_tool(scene: Scene, mail: Callable[..., object], **more: Any) -> tuple[Agent, ScriptedModel]:
    """Open an agent whose model calls one tool of a caller's, and play to its gate."""
    made = StructuredTool.from_function(mail, name="mail", metadata={"mode": "local_write"}, **more)
    return with_tools(scene, made)


def with_tools(scene: Scene, made: BaseTool) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(replies=[scene.calls(("mail", {"to": "alice"})), "the answer"])
    rules = {"tool_risk": "Low"}
    agent = scene.agent(model=model, tools=[made], planning={"mode": "auto"}, approval=rules)
    assert [asked.value["action_requests"][0]["name"] for asked in scene.ask(agent)["__interrupt__"]] == [
        "mail"
    ]
    return agent, model


def result(output: Mapping[str, Any]) -> ToolMessage:
    """Return the one result of a conversation."""
    (message,) = (message for message in output["messages"] if isinstance(message, ToolMessage))
    return message


@restates(
    f"{PREFIX}rejects_empty_allowed_decisions",
    f"{PREFIX}rejects_missing_allowed_decisions",
    f"{PREFIX}rejects_typoed_key",
)
@pytest.mark.parametrize("rule", ['decide = ""', "when = 'true'", 'decde = "ask"'])
def test_a_rule_with_a_mistake_does_not_open_the_gate_but_stops_the_agent(scene: Scene, rule: str) -> None:
    text = f'[[rule]]\nmatch.capability = "work.write"\n{rule}\n[[rule]]\ndecide = "allow"\n'
    (scene.workspace / "policy.toml").write_text(text, "utf-8")
    with pytest.raises(SetupError, match=r"policy\.toml"):
        scene.agent()


@restates(f"{PREFIX}single_tool_respond")
def test_a_question_of_a_model_takes_words_and_no_yes(scene: Scene) -> None:
    plan = scene.plan({"id": "look", "description": "Find out", "tool_hints": ["work.read"]})
    question = scene.calls(("clarify", {"questions": ["Which colour?"]}))
    model = ScriptedModel(replies=[plan, question, "found out", "the answer"])
    agent = scene.agent(model=model)
    (asked,) = scene.ask(agent)["__interrupt__"]
    forms = asked.response_schema["properties"]["decisions"]["items"]["anyOf"]
    assert [(form["properties"]["type"]["const"], form["required"]) for form in forms] == [
        ("respond", ["type", "message"]),
        ("reject", ["type"]),
    ]
    with pytest.raises(GateError, match="answer it in words"):
        scene.answer(agent, {"decisions": [APPROVE]})
    assert (
        scene.answer(agent, {"decisions": [{"type": "respond", "message": "blue"}]})["status"] == "completed"
    )
    (told,) = (message for message in model.prompts[2] if isinstance(message, ToolMessage))
    assert (told.text, told.status, told.name, told.tool_call_id) == ("blue", "success", "clarify", "c0")


@restates(f"{PREFIX}edit_annotates_list_content")
@pytest.mark.parametrize(
    "blocks",
    [[{"type": "text", "text": "sent"}], [{"type": "text", "text": "a"}, "b"], ["sent"], []],
    ids=str,
)
def test_a_result_in_blocks_stands_behind_the_note(scene: Scene, blocks: list[Any]) -> None:
    def mail(to: str) -> list[Any]:
        """Send a mail."""
        return blocks

    agent, _ = with_tool(scene, mail)
    told = result(scene.answer(agent, {"decisions": [EDIT]})).text
    assert NOTE in told
    assert all(block in told for block in ("sent", "text") if block in str(blocks))


@restates(f"{PREFIX}edit_annotates_command_result")
def test_a_command_with_a_message_stands_behind_the_note(scene: Scene) -> None:
    def mail(to: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[str]:
        """Send a mail."""
        return Command(update={"messages": [ToolMessage(f"sent to {to}", tool_call_id=tool_call_id)]})

    agent, _ = with_tool(scene, mail)
    told = result(scene.answer(agent, {"decisions": [EDIT]})).text
    assert told.index(NOTE) < told.index("sent to bob")


@restates(
    f"{PREFIX}description_as_callable",
    "test_per_call_description_factory_gets_the_graph_runtime",
    "class: description",
)
def test_a_rule_says_why_and_a_tool_what_it_is_about(scene: Scene) -> None:
    async def about(args: Mapping[str, JsonValue], call: CallContext) -> Mapping[str, ArgumentDescription]:
        return {"id": ArgumentDescription(f"door {args['id']} of {call.settings.workspace.name}")}

    @capability("doors.open", mode="local_write", describe=about)
    def open_door(id: int) -> str:
        """Open a door."""
        return f"{id} is open"

    text = '[[rule]]\nmatch.capability = "doors.open"\ndecide = "ask"\nreason = "doors are locked at night"\n'
    (scene.workspace / "policy.toml").write_text(f'{text}[[rule]]\ndecide = "allow"\n', "utf-8")
    calls = scene.calls(("doors__open", {"id": 4}))
    agent = scene.agent(calls, "the answer", capabilities=[open_door], planning={"mode": "auto"})
    (asked,) = scene.ask(agent)["__interrupt__"]
    assert "doors are locked at night" in asked.value["action_requests"][0]["description"]
    assert asked.value["shown"]["described"]["id"]["text"] == f"door 4 of {scene.workspace.name}"


@restates("docs: streaming")
@pytest.mark.filterwarnings("ignore:The v3 streaming protocol")
def test_a_stream_of_events_ends_at_the_gate_and_goes_on_behind_it(scene: Scene) -> None:
    reply = scene.calls(("work__write", {"name": "a"}))
    agent = scene.agent(reply, "the answer", planning={"mode": "auto"}, approval={"tool_risk": "Low"})
    stream = agent.stream_events({"messages": [("user", "Do it")]}, scene.config, version="v3")
    list(stream)
    assert stream.interrupted
    (asked,) = stream.interrupts
    assert asked.value["action_requests"][0]["name"] == "work.write"
    stream = agent.stream_events(Command(resume={"decisions": [APPROVE]}), scene.config, version="v3")
    words = ["".join(message.text) for message in stream.messages]
    assert (stream.interrupted, scene.done) == (False, ["a"])
    assert words == ["the answer"]
