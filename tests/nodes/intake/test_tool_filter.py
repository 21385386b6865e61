"""What a request that only asks is offered."""

from __future__ import annotations

import pytest

from planwright.nodes.intake.tool_filter import only_asks


@pytest.mark.parametrize(
    "request_",
    [
        "What's the weather?",
        "Tell me what the page says",
        "Can you please show me notes.md?",
        "Find the invoice, then look at the calendar",
        "List the markdown files in notes",
    ],
)
def test_a_question_and_a_look_only_ask(request_: str) -> None:
    assert only_asks(request_)


@pytest.mark.parametrize(
    "request_",
    [
        "Tell the team that lunch is ready",
        "Read the mail, then ring the bell",
        "Summarize the mail from Acme and post it",
        "Could you write hello to a.txt?",
        "Kannst du eine Datei schreiben?",
        "Yes, do it",
        "",
    ],
)
def test_any_other_request_may_act(request_: str) -> None:
    assert not only_asks(request_)
