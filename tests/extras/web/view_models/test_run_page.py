"""What the page of a run shows of its steps: what was planned, what was called, what came of it, and when."""

from __future__ import annotations

from planwright.extras.web.view_models.run_page import run_page
from planwright.extras.web.view_models.run_state import run_state
from planwright.records.history.run_records import RunRecord
from tests.extras.web.view_models.test_run_state import events

EFFECT = {
    **{"key": "k" * 64, "step_uid": "u1", "attempt": 1, "capability": "tickets.create", "status": "done"},
    **{
        "args": {"title": "T", "amount": "EUR 3", "due": None},
        "intended_at": "2026-11-24T10:00:06.500+00:00",
        "error": None,
    },
}
SPENT = {"u1": {"tokens": 1_200, "cost": 300_000_000, "calls": 2}}
RECORDS = RunRecord({"u1": {"output": {"id": 7}, "blob": None}}, [EFFECT], [], None, [], SPENT)


def test_a_step_shows_what_it_was_called_with_and_what_came_of_it_once_it_has_ended() -> None:
    (step,) = run_page(run_state(events()), RECORDS, "completed").steps
    assert [(row.name, row.planned, row.value) for row in step.values] == [
        ("title", "T", ""),
        ("amount", "", "EUR 3"),
    ]
    assert '"id": 7' in step.output
    assert step.used == "2 model calls, 1,200 tokens, $3.00"
    assert (step.key, step.seconds, step.word, step.noticed) == ("k" * 64, 0.5, "done", ("slow",))


def test_before_its_end_nothing_of_it_shows() -> None:
    (step,) = run_page(run_state(events(), 6), RECORDS, "completed", past=True).steps
    assert (step.output, step.seconds, step.state) == ("", None, "running")


def test_a_moment_has_its_own_status_and_no_effect_of_later() -> None:
    at_gate = run_page(run_state(events(), 3), RECORDS, "completed", past=True)
    assert (at_gate.status, at_gate.busy, list(at_gate.effects)) == ("waiting", False, [])
    running = run_page(run_state(events(), 6), RECORDS, "completed", past=True)
    assert running.status == "running"
    assert len(run_page(run_state(events(), 7), RECORDS, "completed", past=True).effects) == 1
    assert run_page(run_state(events()), RECORDS, "completed").status == "completed"


def test_the_picture_says_in_words_how_each_step_stands() -> None:
    picture = run_page(run_state(events()), RECORDS, "completed").picture
    assert "s1 tickets.create" in picture
    assert "done · 0.50 s" in picture


def test_since_when_a_model_thinks_is_said_until_it_has_replied() -> None:
    source = {"call": "planner:0", "role": "planner", "provider": "p", "model": "m"}
    told = {"run_id": "r", "thread_id": "t", "v": 1}
    thinking = {**told, "seq": 1, "ts": "2026-11-24T10:00:06.000+00:00", "type": "thinking"}
    thinks = run_state([{**thinking, "data": {**source, "seconds": 5.0}}])
    assert run_page(thinks, RECORDS, "running").thinks_since == "2026-11-24T10:00:01.000+00:00"
    replied = {**thinking, "seq": 2, "type": "llm_call"}
    ended = run_state([{**replied, "data": {**source, "error": "it sent nothing"}}], before=thinks)
    assert run_page(ended, RECORDS, "running").thinks_since == ""
