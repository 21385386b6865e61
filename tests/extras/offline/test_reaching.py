"""Pages that are fetched, and mails to an address that a request spells."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.extras.offline.planner import compose

PAGE = "http://127.0.0.1:8123/prices"


@pytest.mark.parametrize(
    ("request_", "calls"),
    [
        (f"get {PAGE}", [("http.request", {"url": PAGE, "method": None})]),
        (f"what does {PAGE} say?", [("http.request", {"url": PAGE})]),
        (
            f"fetch {PAGE} and save it to a.txt",
            [("http.request", {"url": PAGE}), ("files.write", {"text": "{{steps.s1.output.text}}"})],
        ),
        (
            f"summarize {PAGE}",
            [("http.request", {"url": PAGE}), ("text.summarize", {"text": "{{steps.s1.output.text}}"})],
        ),
        (
            "send a mail to jo@example.com saying the order shipped today",
            [("mail.send", {"to": ["jo@example.com"], "text": "the order shipped today"})],
        ),
        (
            "mail the open tickets to jo@example.com and kim@example.com",
            [("tickets.list", {}), ("mail.send", {"to": ["jo@example.com", "kim@example.com"]})],
        ),
        (
            'send an email to jo@example.com with subject "Offer" saying "Here it is" and attach notes/a.md',
            [
                (
                    "mail.send",
                    {"subject": "Offer", "text": "Here it is", "attachments": ["notes/a.md"]},
                )
            ],
        ),
        (
            "read notes/a.md and mail a summary to jo@example.com",
            [
                ("files.read", {}),
                ("text.summarize", {}),
                ("mail.send", {"text": "{{steps.s2.output.summary}}", "subject": "Summary"}),
            ],
        ),
    ],
)  # fmt: skip
def test_what_is_reached_is_what_the_request_spells(
    capabilities: list[dict[str, Any]], request_: str, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    steps = compose(request_, capabilities)["steps"][:-1]
    assert [step["capability"] for step in steps] == [name for name, _ in calls]
    for step, (_, params) in zip(steps, calls, strict=True):
        assert {name: step["params"].get(name) for name in params} == params


@pytest.mark.parametrize(
    "request_",
    [
        f"post the open tickets to {PAGE}",
        f"fetch {PAGE} every hour",
        "email Bob the roadmap",
        "forward the last mail from Acme to jo@example.com",
        "send a mail to jo@example.com tomorrow at nine",
        "send the unread mails to jo@example.com",
    ],
)
def test_what_cannot_be_sent_as_it_is_spelled_is_not_sent(
    capabilities: list[dict[str, Any]], request_: str
) -> None:
    assert "steps" not in compose(request_, capabilities)
