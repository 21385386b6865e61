"""What a gate shows on its page: real values beside templates, warnings, who may decide, how many have."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from planwright.extras.web.view_models.gate_page import GatePage, gate_page
from planwright.records.consent.gate import Gate
from planwright.security.credentials import Caller

AT = datetime(2026, 11, 24, tzinfo=UTC)
ADA = Caller("ada")
STEP: dict[str, Any] = {
    **{"id": "s2", "capability": "mail.send", "description": "d", "does": "Send a mail", "risk": "High"},
    **{"params": {"to": "kim@a.example", "text": "{{steps.s1.output.text}}"}, "values": {"text": "Hello"}},
    **{"after": ["s1"], "mode": "network", "effect": "blind", "own_gate": True, "marks": ["а is no a"]},
    **{"tainted": True, "done_before": "r0", "criterion": "polite", "judged": "not judged"},
}
READ = {
    **STEP,
    "id": "s1",
    "capability": "mail.search",
    "risk": "None",
    "mode": "read_only",
    "after": [],
    "params": {},
}
PLAN = {
    **{
        "goal": "write to kim",
        "risk": "High",
        "revision": 2,
        "steps": [READ, STEP],
        "changes": ["changed s2"],
    },
    **{
        "done": {"s1": "this run"},
        "estimate": {"model_calls": 1, "at_least": False, "tokens": 9, "cost": 250_000_000},
    },
}


def laid_out(card: dict[str, Any], kind: str = "plan", person: Caller = ADA, **fields: Any) -> GatePage:
    """Lay out a gate with a card."""
    row: dict[str, object] = {
        "gate_id": "g",
        "thread_id": "t",
        "run_id": "r",
        "tenant": "default",
        "kind": kind,
        "step_uid": None,
    }
    row |= {"shown_hash": "h", "requested_at": AT, "expires_at": AT + timedelta(hours=1), "status": "open"}
    return gate_page(Gate.model_validate({**row, "card": card, **fields}), person, AT)


def test_a_plan_shows_each_call_with_its_real_values_beside_what_they_come_from() -> None:
    page = laid_out(PLAN)
    read, mail = page.calls
    text = next(row for row in mail.values if row.name == "text")
    assert (text.value, text.planned) == ("Hello", "‹the text of step 1›")
    assert (mail.facts, mail.after) == (["network", "High risk"], ["s1"])
    assert mail.warnings == [
        "а is no a",
        "this run has done the same or the like before",
        "its values come from text that somebody else wrote",
    ]
    assert "it asks again" in mail.notes
    assert "criterion: polite (not judged)" in mail.notes
    assert read.done == "this run"
    assert page.findings == ["changed s2"]
    assert ("models", "1 call of a model, from 9 tokens, from $2.50") in page.facts


LONG = {"text": "long " * 2000 + "and send it to eve", "pages": [{"name": "n", "note": None}]}
CHAINED = [{"capability": "files.write", "args": LONG, "id": "c.1", "risk": "Low", "mode": "local_write"}]
SHOWN_WHOLE: dict[str, tuple[str, dict[str, Any]]] = {
    "a step": ("plan", {**PLAN, "steps": [{**STEP, "params": LONG, "values": {}}]}),
    "a step whose values are known": ("plan", {**PLAN, "steps": [{**STEP, "values": LONG}]}),
    "a chain in a plan": (
        "plan",
        {**PLAN, "steps": [{**STEP, "params": {}, "chain": {"calls": [{"arguments": LONG}]}}]},
    ),
    "a step left to a model": (
        "plan",
        {
            **PLAN,
            "steps": [{**STEP, "capability": "agent", "params": {"tools": "a.b"}, "description": "Pay eve"}],
        },
    ),
    "a call": ("step", {"capability": "a.b", "risk": "Low", "args": LONG}),
    "the calls of a reply": ("step", {"calls": [{"capability": "a.b", "risk": "Low", "args": LONG}]}),
    "the call of a chain": ("step", {"capability": "c", "risk": "Low", "args": {}, "steps": CHAINED}),
    "a call by evidence": (
        "step",
        {"capability": "a", "risk": "Low", "args": {}, "evidence": {"order": {"value": LONG}}},
    ),
}


@pytest.mark.parametrize("what", SHOWN_WHOLE)
def test_every_value_that_a_person_decides_over_stands_on_the_page_as_a_whole(what: str) -> None:
    kind, card = SHOWN_WHOLE[what]
    page = laid_out(card, kind)
    calls = [*page.calls, *(inner for call in page.calls for inner in call.inner)]
    rows = [text for call in calls for row in call.values for text in (row.planned, row.value)]
    text = "\n".join([*rows, *(fact for _, fact in page.facts)])
    decided = (
        ["Pay eve", "a.b"] if what == "a step left to a model" else ["and send it to eve", '"name": "n"']
    )
    assert [part for part in decided if part not in text] == []
    assert "characters)" not in text


def test_no_text_of_a_real_value_is_taken_for_a_reference() -> None:
    page = laid_out({"capability": "a.b", "risk": "Low", "args": {"text": "{{steps.s1.output}}"}}, "step")
    assert [(row.planned, row.value) for row in page.calls[0].values] == [("", "{{steps.s1.output}}")]


def test_a_call_shows_why_it_asks_and_by_which_rule() -> None:
    card = {
        **{
            "capability": "mail.send",
            "step_id": "s2",
            "description": "a mail",
            "args": {"to": "kim"},
            "risk": "High",
        },
        **{"mode": "network", "effect": "blind", "reason": "it sends data", "policy": {"rule": "mail asks"}},
    }
    page = laid_out(card, "step")
    assert [(call.name, call.reason) for call in page.calls] == [("mail.send", "it sends data")]
    assert ("rule", "mail asks") in page.facts
    assert page.picture == ""
    assert list(page.remember) == ["run", "session", "always"]


def test_who_may_not_approve_is_told_so() -> None:
    card = {**PLAN, "policy": {"approvers": ["kim"], "quorum": 2}}
    approval = {"by": "ada", "channel": "web", "at": AT}
    assert laid_out(card).waits_for == "only kim may approve"
    assert laid_out(card, person=Caller("kim")).waits_for == ""
    open_to_page = {**PLAN, "policy": {"approvers": ["channel:web"], "quorum": 2}}
    assert laid_out(open_to_page).waits_for == ""
    assert "somebody else" in laid_out(open_to_page, approvals=[approval]).waits_for
    assert laid_out(open_to_page, approvals=[approval]).approvals == ["ada"]


def test_a_gate_is_late_once_its_time_is_up() -> None:
    assert not laid_out(PLAN).late
    assert laid_out(PLAN, expires_at=AT).late


def test_questions_outcomes_and_doubts_each_have_their_place() -> None:
    info = laid_out({"description": "d", "args": {"questions": ["which?", "when?"]}}, "info")
    assert (info.questions, list(info.calls)) == (["which?", "when?"], [])
    sent, failed = (
        {"id": id_, "capability": "mail.send", "risk": "High", "status": status, "params": {}}
        for id_, status in (("s1", "in_doubt"), ("s2", "failed"))
    )
    doubt = {
        "key": "k" * 64,
        "uid": "u",
        "step_id": "s1",
        "capability": "mail.send",
        "args": {},
        "sent_at": "",
        "why": "?",
    }
    card = {
        "goal": "g",
        "args": {"s2": "not today"},
        "steps": [sent, failed],
        "in_doubt": ["s1"],
        "effects": [doubt],
    }
    escalation = laid_out(card, "escalation")
    assert [(step.name, step.why) for step in escalation.outcomes] == [("mail.send", "not today")]
    assert escalation.title == "Say what became of effects in doubt"
    assert [asked.line for asked in escalation.doubts.questions] == [
        "mail.send (s1); begun  UTC, key kkkkkkkkkkkk"
    ]
    assert (escalation.doubts.why, len(escalation.doubts.find_out)) == (["?"], 1)
