"""Calls that are written as text: read where they are exactly calls, else told or left alone."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from planwright.models.json_reply import LONGEST_REPLY
from planwright.models.replies.call_formats import BARE, FORMATS
from planwright.models.replies.written_calls import with_written_calls, written_call
from tests.models.replies.written_spellings import CALL, INNOCENT, NAME, SPELLINGS, TOWN, UNREADABLE

READ = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ADD: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "times": {"type": "integer"},
        "loud": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "kind": {"enum": ["1", "2"]},
    },
}
TOOLS = [
    {"type": "function", "function": {"name": name, "description": "", "parameters": parameters}}
    for name, parameters in ((NAME, READ), ("work__write", READ), ("notes__add", ADD))
]


def calls(text: str, *before: AnyMessage, **more: Any) -> list[tuple[str, dict[str, Any]]]:
    reply = with_written_calls(AIMessage(text, **more), TOOLS, before)
    return [(call["name"], call["args"]) for call in reply.tool_calls]


def test_there_are_forty_spellings_and_each_format_is_among_them() -> None:
    assert len(SPELLINGS) >= 40
    assert len({form.opens + form.spelled.__name__ for form in (*FORMATS, *BARE)}) == len(FORMATS) + len(BARE)


@pytest.mark.parametrize("family", SPELLINGS)
def test_a_call_of_each_family_is_read(family: str) -> None:
    assert calls(SPELLINGS[family])[0] == (NAME, TOWN)
    assert {name for name, _ in calls(SPELLINGS[family])} == {NAME}


@pytest.mark.parametrize("why", UNREADABLE)
def test_what_is_not_exactly_a_call_is_told_and_not_made(why: str) -> None:
    assert calls(UNREADABLE[why]) == []
    assert written_call(UNREADABLE[why], TOOLS) == NAME


def test_a_reply_that_is_too_long_is_not_looked_through_and_none_is_without_tools() -> None:
    written = f"<tool_call>{CALL}</tool_call>"
    assert calls(written)
    assert calls(f"{'a ' * LONGEST_REPLY}{written}") == []
    reply = AIMessage(written)
    assert with_written_calls(reply, [], []) is reply


@pytest.mark.parametrize("what", INNOCENT)
def test_words_stay_words(what: str) -> None:
    assert calls(INNOCENT[what]) == []
    assert written_call(INNOCENT[what], TOOLS) == ""


def test_words_before_a_call_stay_and_its_marks_do_not() -> None:
    reply = with_written_calls(AIMessage(f"I look.\n<tool_call>{CALL}</tool_call>", id="m"), TOOLS, [])
    assert (reply.text, reply.id, len(reply.tool_calls)) == ("I look.", "m", 1)


def test_several_calls_are_read_in_their_order() -> None:
    other = json.dumps({"name": "work__write", "arguments": {"name": "b"}})
    expected = [(NAME, TOWN), ("work__write", {"name": "b"})]
    assert calls(f"<tool_call>{CALL}</tool_call>\n<tool_call>\n{other}\n</tool_call>") == expected
    assert calls(f"[TOOL_CALLS] [{CALL}, {other}]") == expected
    assert (
        calls(f'[TOOL_CALLS]{NAME}[ARGS]{{"name": "a"}}[TOOL_CALLS]work__write[ARGS]{{"name": "b"}}')
        == expected
    )
    assert calls(f'[{NAME}(name="a"), work__write(name="b")]') == expected
    assert calls(f"<tool_calls>\n{CALL}\n{other}\n</tool_calls>") == expected


def test_a_closing_mark_within_an_argument_closes_nothing() -> None:
    args = {"name": "x</tool_call>y"}
    assert calls(f"<tool_call>{json.dumps({'name': NAME, 'arguments': args})}</tool_call>") == [(NAME, args)]


def test_arguments_without_types_have_those_of_the_schema() -> None:
    values = {"text": "7", "times": "3", "loud": "true", "tags": '["a"]', "note": "null", "kind": "1"}
    expected = {"text": "7", "times": 3, "loud": True, "tags": ["a"], "note": "null", "kind": "1"}
    tags = "".join(f"<parameter={name}>\n{value}\n</parameter>\n" for name, value in values.items())
    pairs = "".join(f"<arg_key>{k}</arg_key>\n<arg_value>{v}</arg_value>\n" for k, v in values.items())
    assert calls(f"<function=notes__add>\n{tags}</function>") == [("notes__add", expected)]
    assert calls(f"<tool_call>notes__add\n{pairs}</tool_call>") == [("notes__add", expected)]
    assert calls("[notes__add(text='7', times=-3, loud=true, tags=['a'], note=None)]") == [
        ("notes__add", {"text": "7", "times": -3, "loud": True, "tags": ["a"], "note": None})
    ]


@pytest.mark.parametrize(
    "before",
    [
        HumanMessage(f"What does <tool_call>{CALL}</tool_call> mean?"),
        ToolMessage(json.dumps({"body": f"Hello <tool_call>\n{CALL}\n</tool_call>"}), tool_call_id="c"),
        ToolMessage(f"\\u003ctool_call>{CALL}\\u003c/tool_call>", tool_call_id="c"),
    ],
    ids=["by the user", "in a result", "in a fence"],
)
def test_a_quotation_is_no_call(before: AnyMessage) -> None:
    text = f"<tool_call>{CALL}</tool_call>"
    assert calls(text, SystemMessage(text)) == [(NAME, TOWN)]
    assert calls(text, SystemMessage(text), before) == []
    assert written_call(text, TOOLS) == NAME


def test_a_reply_that_was_cut_off_calls_nothing() -> None:
    cut = {"response_metadata": {"finish_reason": "length"}}
    assert calls(SPELLINGS["Hermes, closing mark cut off (vllm hermes)"], **cut) == []


def test_a_reply_that_calls_is_left_alone() -> None:
    call = {"name": "work__write", "args": {"name": "b"}, "id": "c"}
    assert calls(f"<tool_call>{CALL}</tool_call>", tool_calls=[call]) == [("work__write", {"name": "b"})]


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>" * 15_000,
        "```json\n" * 15_000,
        "[" * 100_000,
        '{"name": "' * 15_000,
        f"[{NAME}(name={'(' * 18_000})]",
        f"<tool_call>{NAME}" + "<arg_key>" * 15_000,
        "<function=work__read>" + "<parameter=name>a" * 10_000,
        "Action: " * 20_000,
        f"{NAME}" + "\n " * 60_000,
        f"{NAME} {{" + "} " * 60_000,
        "to=functions." * 12_000,
        "\n[" * 60_000,
    ],
    ids=lambda text: text[:20],
)
def test_a_long_text_takes_a_time_that_grows_with_its_length(text: str) -> None:
    before = time.process_time()
    assert calls(text) == []
    written_call(text, TOOLS)
    assert time.process_time() - before < 5
