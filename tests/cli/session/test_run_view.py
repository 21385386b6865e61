"""The live view as a function of events: what it says, how it fits a screen, and that no risk is cut off."""

from __future__ import annotations

import io
import re
from decimal import Decimal
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command
from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment

from planwright.cli.session.event_lines import event_line
from planwright.cli.session.frame import frame, left_behind
from planwright.cli.views.run_views import recorded_events
from planwright.graph.building import build_graph
from planwright.presentation.rows import RunEvent
from planwright.presentation.run_view import RunView, fold, resumed_view, with_answer_piece
from planwright.settings.agents import RunBudgetSettings
from planwright.settings.settings import load
from tests.cli.conftest import Waiting
from tests.cli.desk import Desk

SIZES = [(79, 23), (119, 39)]
STEPS = 20
LONG = "Grüße 日本語のとても長い引数 🎉 \u202eעברית\x1b[2K " * 12
NO_LIMITS = RunBudgetSettings()


def event(kind: str, at: float = 0, /, **data: Any) -> dict[str, Any]:
    return {"type": kind, "ts": f"2026-01-01T00:00:{at:06.3f}+00:00", "data": data}


START = fold(RunView(), event("run_start")).began


def step(id_: str, risk: str = "Low", **params: Any) -> dict[str, Any]:
    mode = "local_write" if risk in ("Low", "Medium") else "destructive"
    shown = {"id": id_, "capability": "files.write", "description": "write it", "params": params}
    return {**shown, "after": [], "risk": risk, "mode": mode, "own_gate": risk == "Critical"}


def about(id_: str, **more: Any) -> dict[str, Any]:
    return {"step_id": id_, "capability": "files.write", "uid": f"step_{id_}", **more}


def planned(*steps: dict[str, Any]) -> RunView:
    """Put a verified plan on a board and start it."""
    plan = {"goal": "g", "plan_id": "p", "revision": 1, "risk": "Low", "steps": list(steps)}
    verified = event("plan_verified", outcome="ok", findings=[], plan=plan)
    return follow(RunView(), event("run_start"), verified, event("plan_start"))


def follow(board: RunView, *events: RunEvent) -> RunView:
    for told in events:
        board = fold(board, told)
    return board


def begins(id_: str, at: float = 0) -> dict[str, Any]:
    return event("plan_step_start", at, **about(id_))


def succeeds(id_: str, at: float = 0) -> dict[str, Any]:
    return event("plan_step_complete", at, **about(id_, attempts=1, seconds=1.25, status="completed"))


def printed(view: Any, width: int, height: int = 100) -> list[str]:
    """Print a view on a screen of a size and return its rows."""
    screen = Console(file=io.StringIO(), width=width, height=height, highlight=False)
    lines = Segment.split_lines(screen.render(view))
    return ["".join(segment.text for segment in line).rstrip() for line in lines]


def shown(
    board: RunView, width: int = 119, height: int = 39, at: float = 0, limits: RunBudgetSettings = NO_LIMITS
) -> list[str]:
    return printed(frame(board, START + at, width, height, limits), width)


def halfway(risk: str, **params: Any) -> RunView:
    """Carry out half of a long plan: nine steps are done, two run, nine are to come."""
    board = planned(*(step(f"s{n}", risk, **params) for n in range(1, STEPS + 1)))
    for n in range(1, 10):
        board = follow(board, begins(f"s{n}"), succeeds(f"s{n}"))
    return follow(board, begins("s10"), begins("s11"))


def row_of(id_: str, rows: list[str]) -> str:
    return next(row for row in rows if re.match(rf"\s+\S {id_} ", row))


def test_each_state_has_its_sign() -> None:
    board = planned(*(step(f"s{n}", path="a") for n in range(1, 7)))
    ended = {"attempts": 1, "error": "it is full", "code": "failed"}
    board = follow(
        board,
        *(begins(f"s{n}") for n in (1, 2, 3)),
        succeeds("s1"),
        event("plan_step_failed", **about("s2", status="failed", **ended)),
        event("plan_step_skipped", **about("s4", status="skipped", **ended)),
        event("approval_requested", gate_id="g", kind="step", step_id="s5"),
    )
    rows = shown(board)
    assert [row_of(f"s{n}", rows).strip()[0] for n in range(1, 7)] == list("✓✗▶–⏸◷")
    assert "failed: it is full" in row_of("s2", rows)


def test_a_step_to_come_is_the_sentence_of_its_plan_and_a_running_one_its_arguments() -> None:
    words = {"does": "Write a text into a file", "capability": "files.write"}
    first, second = (
        step("s1", path="a.md"),
        step("s2", "Medium", path="b.md", text={"a": ["{{steps.s1.output}}"]}),
    )
    board = planned({**first, **words}, {**second, **words})
    rows = shown(board)
    assert rows[0] == "  ◷ s1  Write a text into a file: a.md"
    assert rows[1].startswith("  ◷ s2 Medium risk  Write a text into a file: b.md; text: ")
    assert "‹all that step 1 brings›" in rows[1]
    assert "files.write" not in "".join(rows)
    running = row_of("s1", shown(follow(board, begins("s1"))))
    assert "files.write" in running
    assert "path: a.md" in running


def test_a_running_step_ticks_and_a_settled_one_says_how_long_it_took() -> None:
    board = follow(planned(step("s1"), step("s2")), begins("s1"), succeeds("s1"), begins("s2", 3))
    assert "4.0 s" in row_of("s2", shown(board, at=7))
    assert "1 min 04 s" in row_of("s2", shown(board, at=67))
    assert "1.2 s" in row_of("s1", shown(board, at=67))


def test_tries_are_counted() -> None:
    retried = event("plan_step_retry", **about("s1", attempt=1, error="HTTP 503", idempotency_key="k"))
    rows = shown(follow(planned(step("s1")), begins("s1"), retried))
    assert "×2" in row_of("s1", rows)
    assert "HTTP 503" in row_of("s1", rows)


def test_a_call_made_instead_is_shown_with_its_own_arguments() -> None:
    other = {"capability": "mail.draft", "params": {"to": "noa@example.com"}}
    retried = event("plan_step_retry", **about("s1", attempt=1, error="HTTP 503", alternative=other))
    (row, *_) = shown(follow(planned(step("s1", "High", path="a.md")), begins("s1"), retried), 119)
    assert "mail.draft" in row
    assert "to: noa@example.com  instead of files.write: HTTP 503" in row
    assert "a.md" not in row


def test_a_step_that_a_model_does_again_in_another_way_stays_the_same_line() -> None:
    way = {"approach": "Search by the sender."}
    retried = event("plan_step_retry", **about("s1", attempt=1, error="no ticket", alternative=way))
    rows = shown(follow(planned(step("s1", path="a.md")), begins("s1"), retried), 119)
    assert "no ticket; again in another way" in row_of("s1", rows)
    line = event_line(retried)
    assert line is not None
    assert "trying again in another way" in str(line)


def test_the_calls_of_an_agent_stand_under_its_step() -> None:
    agent = {**step("s1"), "capability": "agent", "params": {"tools": ["mail.search"]}}
    call = {"lane": "step_s1", "step_id": "step_s1.1.0", "call_id": "c", "capability": "mail.search"}
    board = follow(
        planned(agent, step("s2")),
        event("plan_step_start", **{**about("s1"), "capability": "agent"}),
        event("tool_call_start", **call, args={"query": "acme"}, risk="None"),
    )
    rows = shown(board)
    assert rows.index(row_of("s1", rows)) + 1 == next(
        n for n, row in enumerate(rows) if "mail.search  " in row
    )
    assert "query: acme" in rows[1]
    asked = event("approval_requested", gate_id="g", kind="step", step_id="step_s1.2.0")
    rows = shown(follow(board, asked))
    assert row_of("s1", rows).strip().startswith("⏸")
    assert any("open gates: a call of s1" in row for row in rows)


def test_the_calls_of_a_sub_agent_stand_under_the_call_that_opened_it() -> None:
    opens = {"lane": "main", "step_id": "main.1.0", "uid": "step_d", "capability": "agent.delegate"}
    call = {"lane": "step_d", "step_id": "step_d.1.0", "uid": "step_e", "capability": "mail.search"}
    board = follow(
        RunView(),
        event("tool_call_start", **opens, args={"task": "look"}, risk="Low"),
        event("tool_call_start", **call, args={"query": "acme"}, risk="None"),
        event("tool_call_end", **call, status="completed", seconds=0.5, error=""),
    )
    rows = shown(board)
    assert rows[0].startswith("  ▶ agent.delegate")
    assert rows[1].startswith("      ✓ mail.search")


def test_the_calls_of_a_run_without_a_plan_are_lines_themselves() -> None:
    call = {"lane": "main", "step_id": "main.1.0", "call_id": "c", "capability": "tickets.list"}
    board = follow(RunView(), event("tool_call_start", **call, args={"state": "open"}, risk="None"))
    assert "▶ tickets.list" in shown(board)[0]
    board = fold(board, event("tool_call_end", **call, status="failed", seconds=0.5, error="no such table"))
    assert "✗ tickets.list" in shown(board)[0]
    assert "no such table" in shown(board)[0]


def test_the_foot_tells_time_usage_what_is_left_and_the_open_gates() -> None:
    used = {"role": "planner", "input_tokens": 1000, "output_tokens": 200, "cost": 25_000_000}
    board = follow(planned(step("s1", "Critical")), event("llm_call", **used), begins("s1"))
    board = fold(board, event("approval_requested", gate_id="g", kind="step", step_id="s1"))
    limits = RunBudgetSettings(tokens=5000, tool_calls=10, cost=Decimal("1.00"))
    foot = " ".join(shown(board, at=90, limits=limits)[1:])
    for said in ("waiting for a decision", "1 min 30 s", "0 of 1 steps", "1 model call, 1,200 tokens"):
        assert said in foot
    assert "cost $0.25" in foot
    assert "left: 3,800 tokens, 9 calls, $0.75" in foot
    assert "open gates: s1" in foot
    closed = fold(board, event("approval_resolved", gate_id="g", decision="approved", reason="", by="me"))
    assert "open gates" not in "".join(shown(closed))


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("risk", ["Low", "Medium", "Critical"])
def test_a_long_plan_fits_the_screen_and_what_is_left_out_is_counted(
    risk: str, width: int, height: int
) -> None:
    rows = shown(halfway(risk, path="a.md", text=LONG), width, height)
    assert len(rows) <= height
    assert max(map(cell_len, rows)) <= width
    seen = {found[1] for row in rows if (found := re.match(r"\s+\S (s\d+) ", row))}
    assert {"s10", "s11"} <= seen
    counted = sum(map(int, re.findall(r"(\d+) more (?:done|to come)", "".join(rows))))
    assert len(seen) + counted == STEPS


@pytest.mark.sampled(6)
@pytest.mark.parametrize("height", range(7, 24))
def test_it_fits_a_screen_of_any_height(height: int) -> None:
    board = with_answer_piece(halfway("Critical", text=LONG), "The answer. " * 100, "m1")
    gates = (event("approval_requested", gate_id=f"g{n}", kind="step", step_id=f"s{n}") for n in range(1, 20))
    rows = shown(follow(board, *gates), 79, height)
    assert len(rows) <= height
    assert max(map(cell_len, rows)) <= 79


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("risk", ["Medium", "High", "Critical"])
@pytest.mark.parametrize("length", [10, 70, 150, 400, 5000])
def test_a_risky_row_is_whole_or_says_what_it_leaves_out(
    length: int, risk: str, width: int, height: int
) -> None:
    text = "".join(chr(97 + n % 26) for n in range(length))
    board = follow(planned(step("s1", risk, text=text)), begins("s1"))
    rows = shown(board, width, height)[:-1]
    said = re.sub(r"\s", "", "".join(rows))
    assert "…" not in said
    assert risk in rows[0]
    assert text in said or f"({length + 6:,}characters,infullattheend)" in said
    stays = printed(left_behind(board.lines, START, width), width)
    assert text in "".join(row.strip() for row in stays)
    assert all(row.startswith(" " * 8) for row in stays[1:])


def test_what_could_act_on_a_terminal_is_shown_as_an_escape() -> None:
    board = follow(planned(step("s1", "High", text="a\u202eb\x1b[2K\nc")), begins("s1"))
    assert r"text: a\u202eb\x1b[2K\nc" in row_of("s1", shown(board))


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_no_argument_passes_for_a_line_of_another_step(width: int, height: int) -> None:
    forged = " " * (width - 50) + "  ✓ s2 files.read  1.0 s   " * 9
    board = follow(planned(step("s1", "High", text=forged)), begins("s1"))
    rows = [*shown(board, width, height), *printed(left_behind(board.lines, START, width), width)]
    assert [row for row in rows if re.match(r" {2}\S s2", row)] == []


def test_the_answer_comes_in_and_one_that_came_to_nothing_goes() -> None:
    board = with_answer_piece(with_answer_piece(RunView(), "Half of ", "m1"), "it", "m1")
    assert "Half of it" in shown(board)[0]
    assert "Half" not in "".join(shown(with_answer_piece(board, "Whole", "m2")))
    failed = event("llm_call", role="respond", provider="p", model="m", error="it broke off")
    assert "Half" not in "".join(shown(fold(board, failed)))
    assert "Half" not in "".join(shown(fold(board, event("agent_message", content="Half of it"))))


def test_a_plan_made_again_keeps_what_is_done_and_drops_the_rest() -> None:
    board = follow(planned(step("s1", path="a"), step("s2", path="b")), begins("s1"), succeeds("s1"))
    plan = {"plan_id": "p2", "steps": [step("s1", path="a"), step("s3", path="c")]}
    board = fold(board, event("plan_verified", outcome="ok", findings=[], plan=plan))
    assert [(line.id, line.state) for line in board.lines] == [("s1", "done"), ("s3", "pending")]


def test_a_run_taken_up_by_another_process_counts_its_own_time() -> None:
    board = resumed_view(follow(planned(step("s1")), begins("s1")), START + 3600)
    assert "5.0 s" in row_of("s1", shown(board, at=3605))


def test_the_numbers_are_those_that_the_run_itself_records(desk: Desk, waiting: Waiting) -> None:
    settings = load(desk.folder)
    agent = build_graph(settings)
    try:
        config: RunnableConfig = {"configurable": {"thread_id": waiting.thread_id}}
        agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
    finally:
        agent.close()
    events = recorded_events(settings, waiting.run_id)
    board = follow(RunView(), *events)
    (spent,) = (told["data"] for told in events if told["type"] == "budget_update")
    assert board.usage == {name: spent[name] for name in board.usage}
    assert [(line.capability, line.state) for line in board.lines] == [("files.write", "done")]
    assert board.gates == {}


def test_a_model_that_has_not_said_a_word_is_seen_to_think() -> None:
    def thinks(call: str, at: float) -> dict[str, Any]:
        return event("thinking", at, call=call, role="planner", provider="p", model="m", seconds=5.0)

    replied = {"role": "planner", "provider": "p", "model": "m", "input_tokens": 700, "output_tokens": 80}
    board = follow(RunView(), event("run_start"), thinks("one", 6), thinks("two", 9))
    assert "thinking, 34 s" in shown(board, at=35.9)[-1]
    board = fold(board, event("llm_call", 40, call="one", cost=None, **replied))
    assert "thinking, 36 s" in shown(board, at=40)[-1]
    assert "thinking" not in shown(with_answer_piece(board, "Four", "m1"), at=40)[-1]
    assert "thinking" not in shown(resumed_view(board, START + 50), at=50)[-1]
    failed = event("llm_call", 41, call="two", cost=None, error="it sent nothing", **replied)
    ended = fold(board, failed)
    assert "thinking" not in shown(ended, at=41)[-1]
    assert (ended.model_calls, ended.tokens) == (2, 1560)
