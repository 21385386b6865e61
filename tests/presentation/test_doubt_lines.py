"""Effects in doubt are told apart on one line each, and what holds for several of them is said once."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from planwright.domain.doubt import FIND_OUT, Doubt
from planwright.presentation.doubt_lines import (
    asked_lines,
    call_lines,
    finding_out_lines,
    not_whole,
    question_lines,
    reason_lines,
)

DIED = "the process ended in the middle of it"


def doubt(number: int, capability: str = "refund.pay", why: str = DIED, **args: JsonValue) -> Doubt:
    return Doubt(
        key=f"{number:x}" * 64,
        uid=f"step_{number}",
        step_id=f"s{number}",
        capability=capability,
        args=args,
        sent_at=f"2026-11-26T20:31:1{number}.004919+00:00",
        why=why,
    )


def test_a_line_says_what_when_and_under_which_key() -> None:
    assert question_lines([doubt(1, order="A-1", amount=10)]) == [
        "refund.pay (s1): order A-1, amount 10; begun 2026-11-26 20:31:11 UTC, key 111111111111"
    ]


def test_calls_of_one_capability_are_told_apart_by_what_differs_alone() -> None:
    doubts = [
        doubt(1, to="ann", text="hello"),
        doubt(2, to="ben", text="hello"),
        doubt(3, "mail.send", to="cleo"),
    ]
    assert call_lines(doubts) == [
        "refund.pay (s1): to ann",
        "refund.pay (s2): to ben",
        "mail.send (s3): to cleo",
    ]
    assert [not_whole(one, doubts) for one in doubts] == [["text"], ["text"], []]


def test_the_same_call_twice_is_told_apart_by_its_step() -> None:
    assert call_lines([doubt(1, to="ann"), doubt(2, to="ann")]) == [
        "refund.pay (s1): to ann",
        "refund.pay (s2): to ann",
    ]


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (("x" * 500,), ["x" * 40 + "…"]),
        (("x" * 500 + "1 and more", "x" * 500 + "2"), ["…xxxxxxxx1 and more", "…xxxxxxxx2"]),
        (("short", "x" * 500), ["short", "x" * 40 + "…"]),
        (("two\n lines", {"a": [1, 2]}), ["two lines", '{"a":[1,2]}']),
    ],
    ids=["one", "alike at first", "one of them long", "no texts of one line"],
)
def test_a_long_value_is_cut_where_it_still_tells_apart(
    values: tuple[JsonValue, ...], shown: list[str]
) -> None:
    doubts = [doubt(number, text=value) for number, value in enumerate(values, 1)]
    assert [line.partition(": text ")[2] for line in call_lines(doubts)] == shown


def test_a_line_stays_short_however_many_values_there_are() -> None:
    (line,) = call_lines([doubt(1, a=1, b=2, c=3, d=4, e=5, f=6)])
    assert line == "refund.pay (s1): a 1, b 2, c 3, d 4, 2 more"


def test_what_holds_for_several_is_said_once_and_else_behind_their_numbers() -> None:
    alike = [doubt(number, n=number) for number in range(1, 5)]
    assert (reason_lines(alike), finding_out_lines(alike)) == ([DIED], [FIND_OUT])
    other = doubt(5, "mail.send", why="no answer").model_copy(update={"find_out": "ask a recipient"})
    assert reason_lines([*alike[:2], other, *alike[2:]]) == [f"1-2, 4-5: {DIED}", "3: no answer"]
    assert finding_out_lines([*alike, other]) == [f"1-4: {FIND_OUT}", "5: ask a recipient"]


def test_four_are_asked_about_in_six_lines_and_no_answer_is_prepared() -> None:
    lines = asked_lines([doubt(number, n=number) for number in range(1, 5)])
    assert [line[:4] for line in lines] == ["1  r", "2  r", "3  r", "4  r", "why ", "how "]
    assert len([line for line in lines if DIED in line]) == 1
    assert not any("happened" in line and "whether" not in line for line in lines)
    assert asked_lines([]) == []
    assert asked_lines([doubt(1)])[0].startswith("refund.pay (s1); begun ")
