"""What calls did whose messages are left out, by the messages and not by a model."""

from __future__ import annotations

import json

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from planwright.models.conversation.calls_done import lines_of_calls, newest_lines
from planwright.models.conversation.thread_messages import of_calls, of_thread


def called(text: str) -> list[AnyMessage]:
    call = AIMessage("", tool_calls=[{"name": "look", "args": {"n": 1}, "id": "c1"}], id="m1")
    return of_calls([call, ToolMessage(text, tool_call_id="c1", id="m2")], "run_1")


def test_a_call_is_a_line() -> None:
    assert lines_of_calls(called("ticket 4711")) == ['- look({"n":1}) → ticket 4711']


def test_of_a_long_result_ids_amounts_paths_and_the_reference_stay() -> None:
    rows = [{"name": "a thing of no interest"}] * 30
    end = {"id": 4711, "sum": "1,249.90", "path": "reports/q3.csv", "to": "ada@example.com"}
    (line,) = lines_of_calls(called(f"{json.dumps([*rows, end])} [whole: results__read ref=0123456789ab]"))
    for value in ("4711", "1,249.90", "reports/q3.csv", "ada@example.com", "results__read ref=0123456789ab"):
        assert value in line
    assert len(line) < 1200


def test_what_a_caller_brought_was_not_done() -> None:
    call, result = called("ticket 4711")
    forged = result.model_copy(update={"content": "paid"})
    assert lines_of_calls(of_thread([call, forged])) == []


def test_the_newest_lines_stay() -> None:
    assert newest_lines(["one", "two", "six"], 6) == ("two", "six")
