"""Mail and text over the demo workspace: the invoice is found, and its amount is the one that is due."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from planwright.capabilities.builtin import text
from planwright.capabilities.builtin.mail import mail
from planwright.capabilities.call_context import CallContext
from planwright.domain.errors import CapabilityRejected

INVOICE = "Invoice INV-2026-1187 from Acme"


def find(call: CallContext, **args: Any) -> mail.Mails:
    found = mail.search.function(call=call, **args)
    assert isinstance(found, mail.Mails)
    return found


def extract(content: str, kind: str = "amount") -> text.Extracted:
    found = text.extract.function(text=content, kind=kind)
    assert isinstance(found, text.Extracted)
    return found


def test_the_newest_invoice_of_acme_comes_first(demo: CallContext) -> None:
    found = find(demo, query="invoice", sender="Acme")
    assert found.messages[0].subject == INVOICE
    assert found.messages[0].sender == "Acme Industrial Supplies <billing@acme.example>"
    assert found.messages[0].date.startswith("2026-11-12")
    assert all("acme" in message.sender.lower() for message in found.messages)


def test_the_amount_of_the_invoice_is_its_total_due(demo: CallContext) -> None:
    invoice = find(demo, query="invoice", sender="Acme").messages[0].text
    found = extract(invoice)
    assert (found.value, found.kind) == ("EUR 4,310.50", "amount")
    assert found.value in found.values
    assert extract(invoice, "date").value == "2026-12-12"


@pytest.mark.parametrize(
    ("args", "subject"),
    [
        ({"query": "INVOICES", "sender": "acme"}, INVOICE),
        ({"query": "INV-2026-1187", "sender": "billing@acme.example"}, INVOICE),
        ({"query": "INV-2026-0931 invoice", "sender": "Acme Industrial"}, "Invoice INV-2026-0931 from Acme"),
        ({"sender": "Acme Bakery"}, None),
        ({"query": "Fühler Gewächshaus"}, "Rückfrage zur Lieferung der Fühler"),
        ({"query": "Rückfrage"}, "Rückfrage zur Lieferung der Fühler"),
    ],
    ids=str,
)
def test_words_find_the_mail_that_holds_them(
    demo: CallContext, args: dict[str, Any], subject: str | None
) -> None:
    found = find(demo, **args)
    assert found.messages
    if subject:
        assert found.messages[0].subject == subject


@pytest.mark.parametrize(
    "args",
    [
        {"query": "zebra"},
        {"sender": "nobody"},
        {"query": "invoice zebra"},
        {"query": "zebra", "sender": "Acme"},
    ],
)
def test_words_that_stand_nowhere_find_nothing(demo: CallContext, args: dict[str, Any]) -> None:
    assert find(demo, **args) == mail.Mails(messages=[], count=0)


def test_a_limit_shortens_the_list_and_not_the_count(demo: CallContext) -> None:
    everything = find(demo, limit=1000)
    assert everything.count == len(everything.messages) >= 44
    few = find(demo, limit=3)
    assert (len(few.messages), few.count) == (3, everything.count)
    dates = [message.date for message in few.messages]
    assert dates == sorted(dates, reverse=True)


def test_what_a_reply_quotes_does_not_count(demo: CallContext) -> None:
    subjects = [message.subject for message in find(demo, query="3,980.00").messages]
    assert subjects == []


def test_html_mail_is_read_as_text(demo: CallContext) -> None:
    texts = [message.text for message in find(demo, limit=1000).messages]
    assert not any("</" in content or "<p>" in content for content in texts)


def test_a_workspace_without_mail_says_so(make_world: Any) -> None:
    with pytest.raises(CapabilityRejected, match="there is no mail at") as refused:
        find(make_world(), query="x")
    assert "sources.mail" in refused.value.next_step


def test_broken_mail_is_no_reason_to_fail(demo: CallContext, tmp_path: Path) -> None:
    cur = tmp_path / "mail" / "cur"
    for number, content in enumerate(
        (
            b"",
            b"\xff\xfe\x00",
            b"Subject: zebra one\nDate: yesterday\n\nno date",
            b"From: =?nope?Q?x?=\nSubject: zebra two\n\n\xff\xff",
            b'Content-Type: text/plain; charset="nope"\nSubject: zebra three\n\n\xe4\xf6',
            b"Content-Type: multipart/mixed; boundary=x\nSubject: zebra four\n\n--x\n",
            b"Subject: zebra five\nDate: Mon, 99 Zzz 2026 25:61:00 +9999\n\nx",
        )
    ):
        (cur / f"broken{number}:2,S").write_bytes(content)
    found = find(demo, query="zebra", limit=100)
    assert {message.subject for message in found.messages} == {
        f"zebra {n}" for n in ("one", "two", "three", "four", "five")
    }


@pytest.mark.parametrize(
    ("content", "kind", "value"),
    [
        ("Subtotal: EUR 1.00\nTotal: EUR 2.00\nThank you", "amount", "EUR 2.00"),
        ("Total: EUR 2.00\nAmount due: EUR 3.00\nTotal: EUR 9.00", "amount", "EUR 3.00"),
        ("> Total due: EUR 9.00\nTotal due: $3", "amount", "$3"),
        ("It costs 1.234,56 € or so", "amount", "1.234,56 €"),
        ("Total credit: EUR -310.00", "amount", "EUR -310.00"),
        ("Sent 2026-11-01, due by 2026-12-12", "date", "2026-11-01"),
        ("Invoice date: 2026-11-01\nDue date: 12 December 2026", "date", "12 December 2026"),
        ("write to a.b+c@mail.example.org.", "email", "a.b+c@mail.example.org"),
        ("see https://a.example/x?y=1 (or not)", "url", "https://a.example/x?y=1"),
        ("call +31 20 123 45 67 now", "phone", "+31 20 123 45 67"),
        ("there were 1,024 of them", "number", "1,024"),
    ],
)
def test_the_value_that_is_meant_is_extracted(content: str, kind: str, value: str) -> None:
    assert extract(content, kind).value == value


@pytest.mark.parametrize("kind", ["amount", "date", "email", "url", "number", "phone"])
def test_a_text_without_the_value_is_rejected(kind: str) -> None:
    with pytest.raises(CapabilityRejected, match=f"the text holds no {kind}"):
        extract("nothing of the kind", kind)


@pytest.mark.parametrize("sentences", [1, 3, 20])
def test_a_summary_is_made_of_the_texts_own_words(demo: CallContext, tmp_path: Path, sentences: int) -> None:
    roadmap = (tmp_path / "notes" / "roadmap.md").read_text()
    summary = text.summarize.function(text=roadmap, sentences=sentences).summary
    assert set(re.findall(r"\w+", summary)) <= set(re.findall(r"\w+", roadmap))
    assert 1 <= len(re.findall(r"[.!?:](?=\s|$)", summary)) <= 2 * sentences
    assert len(summary) < len(roadmap)


def test_a_summary_of_the_invoice_names_the_total(demo: CallContext) -> None:
    invoice = find(demo, query="invoice", sender="Acme").messages[0].text
    assert "EUR 4,310.50" in text.summarize.function(text=invoice, sentences=3).summary


def test_a_list_is_summarized_text_by_text_under_its_names(demo: CallContext) -> None:
    mails = [mail.model_dump(mode="json") for mail in find(demo, query="invoice").messages]
    rows = text.summarize.function(text=mails, sentences=1).summary.splitlines()
    assert [row.partition(": ")[0] for row in rows] == [mail["subject"].partition(": ")[0] for mail in mails]
    files = [{"path": "a.md", "text": "The roof leaks badly. Nobody minds."}, {"path": "b.md", "text": ""}]
    assert text.summarize.function(text=files, sentences=1).summary.splitlines()[1] == "b.md: (no text)"
    assert text.summarize.function(text=["The roof leaks badly."]).summary == "The roof leaks badly."


def test_texts_that_are_too_long_together_are_refused() -> None:
    with pytest.raises(CapabilityRejected, match="together"):
        text.summarize.function(text=["word. " * 40_000] * 2)


@pytest.mark.parametrize("content", ["", "   \n", "> quoted only\n> and more", "# A heading"])
def test_nothing_to_summarize_is_rejected(content: str) -> None:
    with pytest.raises(CapabilityRejected, match="no text to summarize"):
        text.summarize.function(text=content)


async def test_reading_the_mailbox_does_not_change_it(demo: CallContext, tmp_path: Path) -> None:
    before = sorted(path.name for path in (tmp_path / "mail").rglob("*"))
    await asyncio.to_thread(find, demo, query="invoice")
    assert sorted(path.name for path in (tmp_path / "mail").rglob("*")) == before
