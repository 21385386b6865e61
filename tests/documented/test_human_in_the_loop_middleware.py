"""https://docs.langchain.com/oss/python/langchain/human-in-the-loop"""

from __future__ import annotations

from typing import Annotated

import pytest
from langchain_core.tools import StructuredTool
from langgraph.prebuilt import ToolRuntime
from pydantic import AfterValidator

from planwright.domain.errors import GateError
from tests.documented.conftest import Play, answer, differs, request, restates
from tests.scenarios.conftest import Scene

pytestmark = pytest.mark.long
THEIRS = "test_human_in_the_loop_middleware_"


@restates("docs: configuring interrupts")
@differs("every call takes all four, where several people decide yes or no; what asks is said by the policy")
def test_decisions_of_a_tool(two_calls: Play) -> None:
    """`allowed_decisions` says for each tool which decisions it takes."""
    (config,) = request(two_calls)["review_configs"]
    assert config["allowed_decisions"] == ["approve", "edit", "reject", "respond"]


@restates(
    f"{THEIRS}edit_can_redirect_to_another_tool",
    f"{THEIRS}edit_routes_on_executed_tool",
    "docs: decision types: edit",
)
@differs(
    "an edit keeps its tool: another has other risks and rules, which nobody was shown; reject it in words"
)
def test_edit_to_another_tool(two_calls: Play) -> None:
    """`edit` may name another tool, which is called instead."""
    request(two_calls)
    edited = {"type": "edit", "edited_action": {"name": "work.read", "args": {"name": "a"}}}
    with pytest.raises(GateError, match="keeps the tool"):
        answer(two_calls, edited, {"type": "approve"})
    assert two_calls.scene.done == []


@restates(f"{THEIRS}edit_notice_is_customizable", f"{THEIRS}edit_notice_can_be_disabled")
@differs(
    "the note always stands before the result, in the same words: else the model reads that it was obeyed"
)
def test_edit_notice(two_calls: Play) -> None:
    """`edit_notice` words the note that tells a model of an edit, or leaves it out."""
    request(two_calls)
    edited = {"type": "edit", "edited_action": {"name": "work.write", "args": {"name": "edited"}}}
    output = answer(two_calls, edited, {"type": "approve"})
    texts = [message.text for message in output["messages"] if message.type == "tool"]
    assert [text.startswith("made with other arguments, by a person: ") for text in texts] == [True, False]


@restates(
    "test_per_call_pauses_once_per_gated_call_and_applies_answers_by_id",
    *(
        f"docs: per call: {part}"
        for part in ("the agent", "read the interrupts", "resume by id", "streaming")
    ),
    "class: per call",
)
@differs(
    "one interrupt asks about all calls of a reply, so that they are seen together, each with its decision"
)
def test_an_interrupt_for_each_call(two_calls: Play) -> None:
    """With `interrupt_mode="per_call"` each call that needs review raises an interrupt of its own."""
    (asked,) = two_calls.ask()["__interrupt__"]
    assert len(asked.value["action_requests"]) == 2
    decisions = [{"type": "approve"}, {"type": "reject"}]
    assert (
        two_calls.scene.answer(two_calls.agent, {asked.id: {"decisions": decisions}})["status"] == "completed"
    )
    assert two_calls.scene.done == ["a"]


@restates(
    "test_per_call_interrupt_shows_the_call_and_the_answers_it_accepts",
    "test_decision_schema_with_one_decision_is_a_plain_object",
)
@differs(
    "it is of the whole list, and `args` is any object: wrong ones are refused by name, the gate stays open"
)
def test_schema_of_an_answer(two_calls: Play) -> None:
    """The response schema of an interrupt is of one decision, with the arguments that an edit may bring."""
    (asked,) = two_calls.ask()["__interrupt__"]
    forms = asked.response_schema["properties"]["decisions"]["items"]["anyOf"]
    assert [form["properties"]["type"]["const"] for form in forms] == ["approve", "edit", "reject", "respond"]
    edited = forms[1]["properties"]["edited_action"]["properties"]
    assert edited == {"name": {"enum": ["work.write"]}, "args": {"type": "object"}}
    wrong = {"type": "edit", "edited_action": {"name": "work.write", "args": {"name": 5}}}
    with pytest.raises(GateError, match="name: input should be a valid string"):
        answer(two_calls, wrong, {"type": "approve"})
    assert answer(two_calls, {"type": "approve"}, {"type": "approve"})["status"] == "completed"


@restates("test_edit_args_without_a_pydantic_schema_are_shown_but_not_enforced")
@differs("they are checked against it, as those of a model are: a person mistypes, too")
def test_edit_a_call_of_a_tool_with_a_json_schema(scene: Scene) -> None:
    """What an edit brings for a tool with a raw JSON schema is not checked against it."""
    schema = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
    mail = StructuredTool(name="mail", description="Send.", func=lambda **_: "sent", args_schema=schema)
    mail.metadata = {"mode": "local_write"}
    calls = scene.calls(("mail", {"to": "alice"}))
    rules = {"tool_risk": "Low"}
    play = Play(
        scene.agent(calls, "the answer", tools=[mail], planning={"mode": "auto"}, approval=rules), scene
    )
    request(play)
    with pytest.raises(GateError, match="may not be made"):
        answer(play, {"type": "edit", "edited_action": {"name": "mail", "args": {"to": 5}}})
    assert answer(play, {"type": "approve"})["status"] == "completed"


@restates("test_per_call_edit_leaves_validation_and_injected_args_to_the_tool")
@differs(
    "they are checked before, too: a tool whose check changes its value each time is refused before it asks"
)
def test_checks_of_a_tool(scene: Scene) -> None:
    """The checks of a tool itself are made once, as it is called with what an edit brought."""

    def mail(to: Annotated[str, AfterValidator(lambda to: f"<{to}>")], runtime: ToolRuntime) -> str:
        """Send a mail."""
        return f"sent to {to} for {runtime.tool_call_id}"

    tool = StructuredTool.from_function(mail, metadata={"mode": "local_write"})
    agent = scene.agent(
        scene.calls(("mail", {"to": "alice"})), "the answer", tools=[tool], planning={"mode": "auto"}
    )
    assert "each check of the arguments of mail changes" in str(scene.ask(agent)["messages"])


@restates("test_recorded_edit_survives_a_later_tightening_of_allowed_decisions")
@differs(
    "it is asked for again, as it was edited: the rules of now count; what the model wrote is never made"
)
def test_an_edit_under_stricter_rules(scene: Scene) -> None:
    """What an edit brought is made although rules have become stricter since it was recorded."""
    rule = '[[rule]]\nmatch.capability = "work.write"\ndecide = "ask"\n'
    policy, last = scene.workspace / "policy.toml", '[[rule]]\ndecide = "allow"\n'
    policy.write_text(rule + last, "utf-8")
    settings = {"planning": {"mode": "auto"}}
    agent = scene.agent(scene.calls(("work__write", {"name": "a"})), **settings)
    scene.ask(agent)
    agent.close()
    edited = {"type": "edit", "edited_action": {"name": "work.write", "args": {"name": "edited"}}}
    decided = scene.entry(resume={"decisions": [edited]})
    scene.child(decided, replies=["never asked"], settings=settings, die_at="decision")
    policy.write_text(f"{rule}quorum = 2\n{last}", "utf-8")
    agent = scene.agent("the answer", **settings)
    (asked,) = scene.recover(agent)["__interrupt__"]
    assert asked.value["action_requests"][0]["args"]["name"] == "edited"
    for person in ("kim", "ann"):
        assert scene.done == []
        scene.answer(agent, {"decisions": [{"type": "approve", "decided_by": person}]})
    assert scene.done == ["edited"]


@restates("test_per_call_needs_a_tool_call_id")
@differs("it is given one, and its result carries the same")
def test_a_call_without_an_id(scene: Scene) -> None:
    """A call of a model without an id is an error, before anybody is asked."""
    reply = {"tool_calls": [{"name": "work__write", "args": {"name": "a"}, "id": None}]}
    rules = {"tool_risk": "Low"}
    play = Play(scene.agent(reply, "the answer", planning={"mode": "auto"}, approval=rules), scene)
    request(play)
    messages = answer(play, {"type": "approve"})["messages"]
    (made,) = (message.tool_calls[0] for message in messages if getattr(message, "tool_calls", None))
    (result,) = (message for message in messages if message.type == "tool")
    assert made["id"]
    assert made["id"] == result.tool_call_id
    assert scene.done == ["a"]
