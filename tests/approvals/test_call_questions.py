"""What a function asks, in words, and the value that answers it."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.approvals.answers.binding import bind, signed
from planwright.approvals.call_questions import as_decision, question_words
from planwright.records.consent.call_question import QUESTION, value_of
from tests.approvals.answers.test_binding import gate

INBOX = [{"type": "accept", "args": None}]
CARD: dict[str, Any] = {QUESTION: {"value": "Well?", "schema": None}}
ASKED = gate("gate_a", "info", **CARD)


@pytest.mark.parametrize("value", ["Ada", "approve", True, 3, ["a"], {"room": "12"}, INBOX])
@pytest.mark.parametrize("person", ["", "ada"])
def test_any_value_answers_the_one_open_question(value: Any, person: str) -> None:
    (bound,) = bind(signed(value, person) if person else value, [ASKED], {"i": "gate_a"}, "server")
    assert bound.decision.answer == "respond"
    assert value_of(bound.decision.reason) == value
    assert bound.decision.decided_by == (person or "server")


@pytest.mark.parametrize(
    "value", [[[{"type": "v", "decided_by": "boss"}]], {"a": [[{"decided_by": "boss"}]]}]
)
def test_a_name_inside_of_a_value_is_no_signature(value: Any) -> None:
    (bound,) = bind(signed(value, "ada"), [ASKED], {"i": "gate_a"}, "server")
    assert bound.decision.decided_by != "boss"


@pytest.mark.parametrize(
    "decision",
    [
        {"decisions": [{"type": "reject", "message": "no"}]},
        {"type": "reject", "message": "no"},
        {"gate_a": {"type": "reject"}},
        {"i": {"decisions": [{"type": "reject"}]}},
    ],
)
def test_a_decision_stays_one(decision: Any) -> None:
    (bound,) = bind(decision, [ASKED], {"i": "gate_a"}, "cli")
    assert bound.decision.answer == "reject"


def test_the_questions_of_a_model_take_no_values() -> None:
    asked = gate("gate_a", "info")
    assert as_decision("Ada", [asked], ()) == "Ada"


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Which room?", "Which room?"),
        ({"question": "Which?", "free": [1]}, 'Which? {"free":[1]}'),
        ([{"action_request": {"action": "book"}, "description": "Book it?"}], "Book it? "),
        ({"a": 1}, '{"a":1}'),
        (None, "null"),
    ],
)
def test_a_question_is_shown_in_its_words(question: Any, words: str) -> None:
    assert question_words(question).startswith(words)
