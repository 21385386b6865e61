"""What was said of tools, in its file: for whom, for which code, and when it says nothing."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from planwright.records.consent.approval_scope import ApprovalScope, ToolMay
from planwright.records.consent.gate import Gate
from planwright.records.consent.tool_answers import ToolAnswers

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
CODE = "a" * 16


@pytest.fixture
def answers(tmp_path: Path) -> ToolAnswers:
    return ToolAnswers(tmp_path)


def gate(may: ToolMay = "reads", **more: Any) -> Gate:
    card = {"capability": "look", "undeclared": True, "pin": f"{CODE}.{'b' * 16}", "args": {}}
    fields = {
        "gate_id": "gate_a",
        "thread_id": "thread_1",
        "run_id": "run_1",
        "tenant": "acme",
        "kind": "step",
        "step_uid": "step_1",
        "shown_hash": "c" * 64,
        "card": card,
        "requested_at": NOON,
        "expires_at": NOON,
        "status": "approved",
        "decided_by": "ann",
        "decided_at": NOON,
        "remembered": ApprovalScope(tools={"look": may}),
    }
    return Gate.model_validate({**fields, **more})


def may(answers: ToolAnswers, name: str = "look", tenant: str = "acme", code: str = CODE) -> str | None:
    answer = answers.answer_for(name, tenant, code)
    return None if answer is None else answer.may


def test_it_holds_for_its_tool_its_tenant_and_its_code(answers: ToolAnswers) -> None:
    answers.remember(gate())
    answers.remember(gate())  # a run that died behind its decision writes it again
    assert len(answers.read()) == 1
    assert may(answers) == "reads"
    assert may(answers, name="other") is may(answers, tenant="globex") is may(answers, code="d" * 16) is None


def test_the_newest_counts(answers: ToolAnswers) -> None:
    answers.remember(gate())
    answers.remember(gate("asks", gate_id="gate_b"))
    assert may(answers) == "asks"
    answers.revoke(answers.read()[-1].id)
    assert may(answers) == "reads"


@pytest.mark.parametrize(
    "more",
    [{"status": "rejected"}, {"remembered": None}, {"card": {"capability": "look", "args": {}}}],
    ids=str,
)
def test_nothing_else_says_it(answers: ToolAnswers, more: dict[str, Any]) -> None:
    answers.remember(gate(**more))
    assert answers.read() == []


def test_a_line_that_cannot_be_read_answers_nothing(
    answers: ToolAnswers, caplog: pytest.LogCaptureFixture
) -> None:
    answers.remember(gate())
    answers.path.write_text(answers.path.read_text("utf-8") + "{}\n", "utf-8")
    assert may(answers) is None
    with caplog.at_level(logging.WARNING):
        answers.remember(gate("asks", gate_id="gate_b"))
    assert "gate_b is approved, what its tools may do is not kept" in caplog.text


def test_a_call_that_waits_is_covered_once_its_tool_only_reads(answers: ToolAnswers) -> None:
    waits = gate(status="open", remembered=None)
    assert answers.covering(waits, waits.card) is None
    answers.remember(gate("asks"))
    assert answers.covering(waits, waits.card) is None
    answers.remember(gate("reads", gate_id="gate_b"))
    assert answers.covering(waits, waits.card) is not None
    assert answers.covering(waits, {**waits.card, "done_before": "run_0"}) is None


@pytest.mark.parametrize("more", [{"policy": {"quorum": 2}}, {"gate": "GATE_FINANCE"}], ids=str)
def test_where_several_have_to_approve_or_a_plan_names_the_gate_nobody_says_it_for_good(
    answers: ToolAnswers, more: dict[str, Any]
) -> None:
    asked = gate(card={**gate().card, **more})
    assert asked.undeclared == {}
    answers.remember(asked)
    assert answers.read() == []
