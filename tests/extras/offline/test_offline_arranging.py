"""The embedded planner on the calendar, drafts, documents and forgetting: plain requests, and no others."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.capabilities.registry import Registry, load_registry
from planwright.extras.offline.planner import compose
from planwright.planning.catalogue import describe_capability
from planwright.presentation.answering import answer_from_results

TICKETS = {"status": "open"}


@pytest.fixture(scope="module")
def capabilities(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    registry: Registry = load_registry(tmp_path_factory.mktemp("workspace"))
    return [describe_capability(found) for found in registry]


@pytest.mark.parametrize(
    ("request_", "calls"),
    [
        ("What meetings do I have tomorrow?", [("calendar.list", {"start": "tomorrow"})]),
        ("What's on my calendar?", [("calendar.list", {"start": "this week"})]),
        ("Is there anything in my calendar next week?", [("calendar.list", {"start": "next week"})]),
        ("Show me my appointments on Friday", [("calendar.list", {"start": "friday"})]),
        (
            "List my meetings from 2026-11-23 to 2026-11-27",
            [("calendar.list", {"start": "2026-11-23", "end": "2026-11-27"})],
        ),
        (
            "Draft a mail to jo@example.com saying the offer follows on Monday",
            [("mail.draft", {"to": ["jo@example.com"], "text": "the offer follows on Monday"})],
        ),
        (
            'Please draft an email to jo@example.com and kim@example.com about it saying "It is late."',
            [("mail.draft", {"to": ["jo@example.com", "kim@example.com"], "text": "It is late."})],
        ),
        (
            "Draft a mail to jo@example.com saying we will write to everyone and then close the books",
            [("mail.draft", {"text": "we will write to everyone and then close the books"})],
        ),
        (
            "Create a CSV of the open tickets",
            [
                ("tickets.list", TICKETS),
                ("documents.create", {"path": "tickets.csv", "rows": "{{steps.s1.output.tickets}}"}),
            ],
        ),
        (
            "Make a spreadsheet of the open tickets as out/open.csv",
            [("tickets.list", TICKETS), ("documents.create", {"path": "out/open.csv"})],
        ),
        ("Forget that the office closes at six", [("memory.forget", {"query": "office closes six"})]),
        ("Don't forget that the Berlin office closes at six", [("memory.write", {})]),
    ],
)  # fmt: skip
def test_a_plain_request_is_planned(
    capabilities: list[dict[str, Any]], request_: str, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    plan = compose(request_, capabilities)
    steps = plan["steps"][:-1]
    assert [step["capability"] for step in steps] == [name for name, _ in calls]
    for step, (_, params) in zip(steps, calls, strict=True):
        assert {name: step["params"].get(name) for name in params} == params


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        ("Draft a mail to Jo saying hello there my friend", "clarify"),
        ("Draft a mail to jo@example.com about the offer", "clarify"),
        ("Draft a contract with Acme", "cannot"),
        ("Put the meeting into my calendar", "cannot"),
        ("Create a CSV of my feelings", "cannot"),
        ("Send a mail to Jo saying hello there", "cannot"),
        ("Forget it", "cannot"),
        ('Write a file "x.md"', "clarify"),
        ("Write a file `x.md`", "clarify"),
    ],
)
def test_what_is_less_plain_is_not_begun(
    capabilities: list[dict[str, Any]], request_: str, kind: str
) -> None:
    assert kind in compose(request_, capabilities)


def test_the_notes_of_a_meeting_are_no_calendar(capabilities: list[dict[str, Any]]) -> None:
    plan = compose("Show me the meeting notes in notes/meeting-2026-11-10.md", capabilities)
    assert [step["capability"] for step in plan["steps"][:-1]] == ["files.read"]


def test_events_a_draft_and_any_rows_are_told() -> None:
    event = {
        "start": "2026-11-24T11:00:00+01:00",
        "end": "2026-11-24T11:30:00+01:00",
        "title": "Call",
        "location": "Hall 1",
    }
    whole = {"start": "2026-11-27", "end": "2026-11-28", "title": "Payment run", "all_day": True}
    draft = {"path": ".Drafts/cur/x", "to": ["a@example.com", "b@example.com"], "subject": "Offer"}
    results: list[dict[str, Any]] = [
        {"status": "completed", "description": "Look", "output": {"events": [event, whole], "count": 2}},
        {"status": "completed", "description": "Draft a mail", "changed": True, "output": draft},
        {"status": "completed", "description": "Query", "output": {"rows": [{"title": "x", "line": 1}]}},
    ]  # fmt: skip
    assert answer_from_results(results).splitlines() == [
        "Look: two found.",
        "  - 2026-11-24 11:00-11:30  Call (Hall 1)",
        "  - 2026-11-27  Payment run",
        "Drafted a mail (path .Drafts/cur/x, to a@example.com, b@example.com, subject Offer).",
        "Query: one found.",
        "  - title x, line 1",
    ]
