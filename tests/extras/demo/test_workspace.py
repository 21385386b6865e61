"""The demo corpus is sound, tells the Acme story, and is written without overwriting anything."""

from __future__ import annotations

import email
import email.policy
import mailbox
import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from email.message import EmailMessage
from pathlib import Path

import pytest

from planwright.extras.demo.mail import UNREAD_SINCE, messages, write_maildir
from planwright.extras.demo.workspace import is_demo_workspace, write_workspace

ACME = "billing@acme.example"
THE_INVOICE = "Invoice INV-2026-1187 from Acme"


@pytest.fixture(scope="module")
def corpus() -> list[EmailMessage]:
    return [email.message_from_bytes(content, policy=email.policy.default) for content in messages()]


def text_of(message: EmailMessage) -> str:
    part = message.get_body(("plain", "html"))
    assert part is not None
    content = part.get_content()
    assert isinstance(content, str)
    return content


def sender(message: EmailMessage) -> str:
    return str(message["From"].addresses[0].addr_spec)


def sent(message: EmailMessage) -> datetime:
    moment = message["Date"].datetime
    assert isinstance(moment, datetime)
    return moment


def one(corpus: list[EmailMessage], address: str, subject: str) -> EmailMessage:
    (found,) = (m for m in corpus if sender(m) == address and m["Subject"] == subject)
    return found


def amount(label: str, text: str) -> Decimal:
    (found,) = re.findall(rf"^{re.escape(label)}:\s+EUR (-?[\d,]+\.\d\d)$", text, re.MULTILINE)
    return Decimal(found.replace(",", ""))


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_every_message_parses_without_defects(corpus: list[EmailMessage]) -> None:
    assert 44 <= len(corpus) <= 48
    for message in corpus:
        for part in message.walk():
            assert part.defects == []
            for name, value in part.items():
                assert not getattr(value, "defects", ()), f"{message['Subject']}: {name}"
            if "Content-Type" in part and not part.is_multipart():
                assert part.get_content()


def test_every_message_is_for_sam_and_from_the_autumn(corpus: list[EmailMessage]) -> None:
    for message in corpus:
        receivers = [a.addr_spec for name in ("To", "Cc") if message[name] for a in message[name].addresses]
        assert "sam@northwind.example" in receivers
        assert datetime(2026, 9, 1, tzinfo=UTC) <= sent(message) < datetime(2026, 11, 21, tzinfo=UTC)
    assert [sent(m) for m in corpus] == sorted(sent(m) for m in corpus)
    assert len({m["Message-ID"] for m in corpus}) == len(corpus)


def test_every_address_is_fictional() -> None:
    hosts = re.findall(rb"(?:@|https?://)([\w-]+(?:\.[\w-]+)+)", b"\n".join(messages()))
    assert len(hosts) > 100
    assert [host for host in hosts if not host.endswith(b".example")] == []


def test_the_corpus_has_every_kind_of_mail(corpus: list[EmailMessage]) -> None:
    kinds = {part.get_content_type() for m in corpus for part in m.walk()}
    assert {"multipart/alternative", "multipart/report", "text/calendar"} <= kinds
    assert {"application/pdf", "text/csv"} <= kinds
    encodings = {part["Content-Transfer-Encoding"] for m in corpus for part in m.walk()}
    assert {"7bit", "8bit", "base64", "quoted-printable"} <= encodings
    assert any(m.get_content_type() == "text/html" for m in corpus)
    assert any(m["List-Unsubscribe"] for m in corpus)
    assert any(b"\nSubject: =?utf-8?" in content for content in messages())
    known = {m["Message-ID"] for m in corpus}
    replies = [m for m in corpus if m["In-Reply-To"] in known]
    assert len(replies) >= 6
    assert all(re.search(r"^> \S", text_of(m), re.MULTILINE) for m in replies)


def test_encoded_german_is_readable(corpus: list[EmailMessage]) -> None:
    german = one(corpus, "j.hartmann@hartmann-gartenbau.example", "Rückfrage zur Lieferung der Fühler")
    assert "das große Gewächshaus" in text_of(german)


def test_the_invoice_adds_up(corpus: list[EmailMessage]) -> None:
    invoice = one(corpus, ACME, THE_INVOICE)
    text = text_of(invoice)
    assert invoice["From"] == f"Acme Industrial Supplies <{ACME}>"
    assert (sent(invoice).date().isoformat(), invoice.get_content_type()) == ("2026-11-12", "text/plain")
    assert "\nTotal due: EUR 4,310.50\n" in text
    assert "\nDue date: 2026-12-12\n" in text
    items = re.findall(r"^ \d .*?(\d+) +([\d,.]+) +([\d,.]+)$", text, re.MULTILINE)
    lines = [tuple(Decimal(field.replace(",", "")) for field in item) for item in items]
    assert len(lines) == 5
    assert all(quantity * price == total for quantity, price, total in lines)
    assert sum(total for _, _, total in lines) == amount("Subtotal", text) == Decimal("3562.40")
    vat = (amount("Subtotal", text) * Decimal("0.21")).quantize(Decimal("0.01"))
    assert amount("VAT 21%", text) == vat
    assert amount("Total due", text) == amount("Subtotal", text) + vat


def test_the_invoice_is_the_newest_of_two(corpus: list[EmailMessage]) -> None:
    invoices = [m for m in corpus if sender(m) == ACME and m["Subject"].startswith("Invoice ")]
    old, new = sorted(invoices, key=sent)
    assert new["Subject"] == THE_INVOICE
    assert old["Subject"] == "Invoice INV-2026-0931 from Acme"
    assert sent(old).month == 9
    assert amount("Total due", text_of(old)) == Decimal("1204.00")
    payment = one(corpus, "priya@northwind.example", "Payment run September: done")
    assert re.search(r"INV-2026-0931 +EUR 1,204.00 +paid", text_of(payment))


def test_later_mail_from_acme_is_no_invoice(corpus: list[EmailMessage]) -> None:
    invoice = one(corpus, ACME, THE_INVOICE)
    reminder = one(corpus, ACME, "Payment reminder: INV-2026-0931")
    credit = one(corpus, ACME, "Credit note CN-2026-0077")
    assert sent(invoice) < sent(reminder)
    assert amount("Amount open", text_of(reminder)) == Decimal("1204.00")
    assert amount("Total credit", text_of(credit)) == Decimal("-310.00")


def test_the_colleague_quotes_an_old_amount(corpus: list[EmailMessage]) -> None:
    reply = one(corpus, "priya@northwind.example", "Re: Invoice from Acme")
    assert sent(reply) > sent(one(corpus, ACME, THE_INVOICE))
    assert reply["In-Reply-To"]
    amounts = [line for line in text_of(reply).splitlines() if "EUR" in line]
    assert "> Total due: EUR 3,980.00" in amounts
    assert all(line.startswith("> ") for line in amounts)


@pytest.mark.parametrize(
    ("address", "total", "word"),
    [
        ("hello@acmebakery.example", "Order total: USD 86.40", "your invoice will follow at\nyear end"),
        ("accounts@globex.example", "Amount: USD 2,150.00", "our invoice GX-40719"),
        ("rechnung@initech.example", "Amount payable / Zahlbarer Betrag: CHF 540.00", "Invoice 88-2041"),
    ],
)
def test_others_bill_in_other_currencies(
    corpus: list[EmailMessage], address: str, total: str, word: str
) -> None:
    (message,) = (m for m in corpus if sender(m) == address)
    assert total in text_of(message).splitlines()
    assert word in text_of(message)


def test_the_maildir_holds_the_messages_unchanged(tmp_path: Path) -> None:
    write_maildir(tmp_path / "mail")
    maildir = mailbox.Maildir(tmp_path / "mail", create=False)
    assert sorted(maildir.get_bytes(key) for key in maildir.iterkeys()) == sorted(messages())
    assert list((tmp_path / "mail" / "tmp").iterdir()) == []
    for message in maildir:
        moment = datetime.fromtimestamp(message.get_date(), UTC)
        expected = ("cur", "S") if moment < UNREAD_SINCE else ("new", "")
        assert (message.get_subdir(), message.get_flags()) == expected
    assert 3 <= len(list((tmp_path / "mail" / "new").iterdir())) <= 10


def test_the_workspace_is_complete(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "demo"
    assert not is_demo_workspace(folder)
    write_workspace(folder)
    assert is_demo_workspace(folder)
    assert {p.name for p in folder.iterdir()} == {
        ".planwright-demo",
        "mail",
        "calendar",
        "notes",
        "tickets.db",
    }
    notes = {p.name for p in (folder / "notes").iterdir()}
    assert notes == {"roadmap.md", "meeting-2026-11-10.md", "onboarding.md", "retro.md", "ideas.txt"}
    roadmap = (folder / "notes" / "roadmap.md").read_text(encoding="utf-8").splitlines()
    assert 40 <= len(roadmap) <= 60
    assert sum(line.startswith("## ") for line in roadmap) >= 4


def test_the_tickets_are_there(tmp_path: Path) -> None:
    write_workspace(tmp_path)
    with closing(sqlite3.connect(tmp_path / "tickets.db")) as db:
        rows = db.execute("SELECT status, amount, effect_key FROM tickets").fetchall()
        assert sorted(row[0] for row in rows) == ["closed"] * 2 + ["open"] * 4
        assert [row[1] for row in rows if row[1]] == ["CHF 540.00"]
        db.execute("INSERT INTO tickets (title, created_at, effect_key) VALUES ('a', 'now', 'k')")
        defaults = db.execute("SELECT body, status FROM tickets WHERE effect_key = 'k'").fetchone()
        assert defaults == ("", "open")
        with pytest.raises(sqlite3.IntegrityError):
            db.execute("INSERT INTO tickets (title, created_at, effect_key) VALUES ('b', 'now', 'k')")


def test_writing_again_changes_nothing(tmp_path: Path) -> None:
    write_workspace(tmp_path)
    (tmp_path / "notes" / "retro.md").write_text("mine now")
    (tmp_path / "notes" / "ideas.txt").unlink()
    next((tmp_path / "mail" / "cur").iterdir()).write_bytes(b"Subject: edited by hand\n\nhello\n")
    before = tree(tmp_path)
    write_workspace(tmp_path)
    assert tree(tmp_path) == before


def test_an_interrupted_workspace_is_completed(tmp_path: Path) -> None:
    write_workspace(tmp_path)
    whole = tree(tmp_path)
    edited = next((tmp_path / "mail" / "cur").iterdir())
    edited.write_bytes(edited.read_bytes() + b"\nmy remark\n")
    (tmp_path / ".planwright-demo").unlink()
    (tmp_path / "notes" / "ideas.txt").unlink()
    next((tmp_path / "mail" / "new").iterdir()).unlink()
    (tmp_path / "notes" / "retro.md").write_text("mine now")
    kept = tree(tmp_path)
    write_workspace(tmp_path)
    after = tree(tmp_path)
    assert kept.items() <= after.items()
    assert len(after) == len(whole)
    assert after["notes/ideas.txt"] == whole["notes/ideas.txt"]
    assert is_demo_workspace(tmp_path)
