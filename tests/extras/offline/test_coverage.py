"""A word that no step binds makes a request one that cannot be planned; it is never dropped."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.extras.offline.clauses import clause
from planwright.extras.offline.coverage import unbound
from planwright.extras.offline.planner import compose


@pytest.mark.parametrize(
    ("request_", "word"),
    [
        ("show me the unread mails from Mara", "unread"),
        ("list my three largest emails", "largest"),
        ("tickets sorted by amount", "sorted"),
        ("show the tickets assigned to Priya", "assigned"),
        ("list the files in reports changed since Monday", "changed"),
        ("list all files except the markdown ones", "except"),
        ("read notes/standup.md backwards", "backwards"),
        ("find mails that I have not answered", "not"),
        ("mails about budgets or audits", "or"),
        ("what is in my calendar on Monday afternoon?", "afternoon"),
        ("show my meetings last Friday", "last"),
        ("which notes mention budget before May?", "before"),
        ('search mail for "contract" in PDF attachments only', "pdf"),
        ("what time is it in Atlantis?", "atlantis"),
    ],
)
def test_a_word_that_nothing_takes_is_named(
    capabilities: list[dict[str, Any]], request_: str, word: str
) -> None:
    answer = compose(request_, capabilities)
    assert repr(word) in answer["cannot"]


@pytest.mark.parametrize(
    "request_",
    [
        "show me only the mails from Mara",
        "list the last three mails, please",
        'which notes mention "unread"?',
        "list the markdown files in notes",
        "what time is it in New York right now?",
        "make a three-line summary of notes/roadmap.md",
        "which tickets have already been closed?",
        "remember that the largest order came after lunch",
        "meetings with Mara next week",
    ],
)
def test_words_that_are_bound_or_select_nothing_are_no_obstacle(
    capabilities: list[dict[str, Any]], request_: str
) -> None:
    assert "steps" in compose(request_, capabilities)


def test_a_step_binds_the_words_of_those_whose_results_it_uses() -> None:
    read = {"id": "s1", "capability": "files.read", "params": {"path": "a.md"}, "estimated_risk": "None"}
    text = "{{steps.s1.output.text}}"
    short = {
        "id": "s2",
        "capability": "text.summarize",
        "params": {"text": text},
        "estimated_risk": "None",
    }
    assert unbound(clause("summarize a.md"), [read, short], ["s2"]) == ""
    assert unbound(clause("summarize b.md"), [read, short], ["s2"]) == "b.md"
    assert unbound(clause("summarize a.md by 3 May"), [read, short], ["s2"], bound=["3 May"]) == ""


def test_a_quotation_has_to_be_an_argument() -> None:
    step = {"id": "s1", "capability": "tickets.list", "params": {"status": "open"}, "estimated_risk": "None"}
    assert unbound(clause('tickets about "cold rooms"'), [step], ["s1"]) == "cold rooms"
