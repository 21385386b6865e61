"""Effects in doubt on a terminal: as many lines as there are, and no command that has an answer in it."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console, Group

from planwright.cli.views.doubt_views import (
    decide_command,
    doubt_rows,
    doubts_beside,
    doubts_on,
    left_in_doubt,
)
from planwright.cli.views.gate_view import gate_view
from planwright.domain.doubt import Doubt


def effect(number: int, **args: Any) -> dict[str, Any]:
    doubt = Doubt(
        key=f"{number}" * 64,
        uid=f"step_{number}",
        step_id=f"s{number}",
        capability="refund.pay",
        args=args,
        sent_at=f"2026-11-26T20:31:1{number}+00:00",
        why="the process ended in the middle of it",
    )
    return doubt.model_dump(mode="json")


FOUR = [effect(number, order=f"A-{number}", note="the same" * 20) for number in range(1, 5)]
STEP = {"capability": "refund.pay"}
CARD = {
    "goal": "Refund four orders",
    "args": {"s5": "failed: not today"},
    "effects": FOUR,
    "steps": [{**STEP, "id": "s1", "status": "in_doubt"}, {**STEP, "id": "s5", "status": "failed"}],
}


def printed(view: Any) -> list[str]:
    console = Console(width=120)
    with console.capture() as captured:
        console.print(view)
    return [line.rstrip() for line in captured.get().splitlines()]


def test_four_take_seven_lines_and_what_else_was_not_accepted_stands_below() -> None:
    lines = printed(gate_view("escalation", CARD))
    assert [line[:11].strip() for line in lines[:7]] == ["gate", "in doubt", "", "", "", "why", "find out"]
    assert "4  refund.pay (s4): order A-4; begun 2026-11-26 20:31:14 UTC, key 444444444444" in lines[4]
    assert lines[7:] == ["           s5: failed: not today", "step       s5 refund.pay failed"]


def test_all_of_their_values_are_shown_where_the_whole_card_is() -> None:
    whole = printed(Group(*doubt_rows(doubts_on(CARD), whole=True)))
    assert sum("note: the same" in line for line in whole) == 4
    assert not any("note: the same" in line for line in printed(gate_view("escalation", CARD)))


def test_what_is_in_doubt_and_on_no_open_card_stands_below_it() -> None:
    run = {"in_doubt": FOUR}
    beside = printed(Group(*doubts_beside(run, [{"effects": FOUR[:3]}, {"capability": "bank.pay"}])))
    assert [line[:10].strip() for line in beside if line[:10].strip()] == ["in doubt", "why", "find out"]
    assert "refund.pay (s4)" in beside[0]
    assert beside[-1].strip() == "you are asked about it when the run comes to it"
    assert len(printed(Group(*doubts_beside(run, [{"capability": "bank.pay"}])))) == 7
    assert printed(Group(*doubts_beside(run, [{"effects": FOUR}]))) == []


@pytest.mark.parametrize(("ended_at", "lines"), [("2026-11-26T20:40:00+00:00", 7), (None, 0)])
def test_what_an_ended_run_left_is_shown_with_the_command_that_decides(
    ended_at: str | None, lines: int
) -> None:
    rows = printed(
        Group(*left_in_doubt({"run_id": "run_1", "ended_at": ended_at, "in_doubt": FOUR}, " -w there"))
    )
    assert len(rows) == lines
    assert not lines or rows[-1].startswith(
        "decide     planwright respond run_1 -w there --happened KEY[=RESULT]"
    )


def test_no_command_says_for_a_person_what_happened() -> None:
    command = decide_command("gate_1")
    assert "--happened KEY[=RESULT] --not-happened KEY" in command
    assert not any(entry["key"][:4] in command for entry in FOUR)
