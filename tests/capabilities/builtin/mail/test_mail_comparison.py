"""A mail as bytes is compared with what was approved: any difference is refused, and what is odd arrives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from email.policy import SMTP
from pathlib import Path
from typing import Any

import pytest

from planwright.capabilities.builtin.mail.addresses import check_mail_address
from planwright.capabilities.builtin.mail.mail_comparison import ApprovedMail, compare, compare_recipients
from planwright.capabilities.builtin.mail.messages import Letter, build
from planwright.capabilities.call_context import CallContext
from planwright.domain.errors import CapabilityRejected

SENDER = "agent@planwright.example"
PLAIN = ApprovedMail(SENDER, ["jo@example.com"], ["kim@example.com"], "Offer", "Hello\nworld", [])
WITH_FILE = replace(PLAIN, attachments=[("offer.txt", b"the offer")])
Build = Callable[[ApprovedMail], bytes]


@pytest.fixture
def wire(make_world: Callable[..., CallContext], tmp_path: Path) -> Build:
    """Write a mail as it is sent, files and all."""

    def write(mail: ApprovedMail) -> bytes:
        call = make_world(mail={"host": "localhost", "from": mail.sender})
        for name, content in mail.attachments:
            (tmp_path / name).write_bytes(content)
        parts: dict[str, Any] = {name: getattr(mail, name) for name in ("to", "cc", "subject", "text")}
        names = [name for name, _ in mail.attachments]
        return build(Letter(**parts, attachments=names), call, SMTP.clone(cte_type="7bit")).wire

    return write


@pytest.mark.parametrize(
    ("before", "after", "part"),
    [
        (b"To: jo@", b"To: mallory@", "To"),
        (b"To: jo@example.com", b"To: jo@example.com, mallory@example.com", "To"),
        (b"Cc: kim@example.com\r\n", b"", "Cc"),
        (b"Subject: Offer", b"Subject: Other", "Subject"),
        (b"Subject: Offer", b"Subject: =?utf-8?q?Offer=20?=", "Subject"),
        (b"From: agent@", b"From: boss@", "From"),
        (b"Date:", b"Bcc: mallory@example.com\r\nDate:", "headers"),
        (b"Date:", b"Reply-To: mallory@example.com\r\nDate:", "headers"),
        (b"Date:", b"Subject: Offer\r\nDate:", "headers"),
        (b"Hello", b"Goodbye", "text"),
        (b"text/plain", b"text/html", "text"),
        (b"utf-8", b"utf-7", "text"),
        (b"Hello", b"Hello\rBcc: x", "line ends"),
        (b"Hello", b"Hello\nBcc: x", "line ends"),
        (b"Hello", b"Hello\0", "line ends"),
    ],
)
@pytest.mark.parametrize("mail", [PLAIN, WITH_FILE])
def test_what_differs_is_refused_by_name(
    wire: Build, mail: ApprovedMail, before: bytes, after: bytes, part: str
) -> None:
    written = wire(mail)
    compare(written, b"\r\n", mail)
    assert before in written
    with pytest.raises(CapabilityRejected, match=f"its {part} would differ"):
        compare(written.replace(before, after, 1), b"\r\n", mail)


@pytest.mark.parametrize(
    ("before", "after", "part"),
    [
        (b"offer.txt", b"offer.exe", "attachments"),
        (b"dGhlIG9mZmVy", b"dGhlIE9GRkVS", "attachments"),
        (b"Disposition: attachment", b"Disposition: inline", "attachments"),
        (b"Content-Disposition:", b"Content-Location: x\r\nContent-Disposition:", "headers"),
    ],
)
def test_an_attachment_that_differs_is_refused(wire: Build, before: bytes, after: bytes, part: str) -> None:
    written = wire(WITH_FILE)
    assert before in written
    with pytest.raises(CapabilityRejected, match=f"its {part} would differ"):
        compare(written.replace(before, after, 1), b"\r\n", WITH_FILE)


@pytest.mark.parametrize(("sent", "approved"), [(PLAIN, WITH_FILE), (WITH_FILE, PLAIN)])
def test_an_attachment_too_many_or_too_few_is_refused(
    wire: Build, sent: ApprovedMail, approved: ApprovedMail
) -> None:
    with pytest.raises(CapabilityRejected):
        compare(wire(sent), b"\r\n", approved)


@pytest.mark.parametrize(
    "subject",
    [
        "a(b) Größe שלום 🧾 日本語 ; é.é \u202eabc",  # of these a space was lost
        "<tag>  [x]  :  re:  🧾  quoted  日本語",  # and of these one was added
        "=?utf-8?q?x=0ABcc=3A_mallory=40example=2Ecom?=",
        " leading",
        "trailing ",
        "x" * 500,
        "\u202egnp.exe\u2066",
        "",
    ],
)
def test_an_odd_subject_arrives_as_it_is(wire: Build, subject: str) -> None:
    compare(wire(replace(PLAIN, subject=subject)), b"\r\n", replace(PLAIN, subject=subject))


@pytest.mark.parametrize("sender", ["Planwright <a@b.example>", "Jo Müller <a@b.example>"])
def test_a_sender_may_have_a_name(wire: Build, sender: str) -> None:
    assert b"<key-1@b.example>" in wire(replace(PLAIN, sender=sender))


@pytest.mark.parametrize(
    "text", ["", "\0", "\x0b\x1c\x7f", "a\rb\r\nc\n\n", "é\x85\u2028x", "x" * 2000, ".\n"]
)
def test_an_odd_text_arrives_as_it_is(wire: Build, text: str) -> None:
    written = wire(replace(PLAIN, text=text))
    assert b"\0" not in written


@pytest.mark.parametrize("name", ["mail.eml", "page.mht", "ü" * 80, 'a"b;c.txt', "a%20b", "\u202etxt.exe"])
def test_an_odd_attachment_arrives_as_it_is(wire: Build, name: str) -> None:
    wire(replace(PLAIN, attachments=[(name, b"Subject: x\n\nbody\r\n\0")]))


@pytest.mark.parametrize(
    "mail",
    [
        replace(PLAIN, to=["=?utf-8?q?a?=@example.com"]),
        replace(PLAIN, text="\ud800"),
        replace(PLAIN, subject="x\ud800"),
        replace(PLAIN, sender="a@b.example\nBcc: x@b.example"),
        replace(PLAIN, attachments=[("=?utf-8?q?x?=.txt", b"")]),
        replace(PLAIN, attachments=[("a\nb", b"")]),
    ],
)
def test_what_cannot_arrive_as_it_is_is_refused(wire: Build, mail: ApprovedMail) -> None:
    with pytest.raises(CapabilityRejected):
        wire(mail)


@pytest.mark.parametrize("envelope", [["a@x"], ["a@x", "b@x", "c@x"], ["a@x", "a@x"], ["a@x", "b@x", "b@x"]])
def test_the_envelope_names_who_was_approved_and_nobody_else(envelope: list[str]) -> None:
    compare_recipients(["b@x", "a@x"], ["a@x"], ["b@x"], ["a@x"])
    with pytest.raises(CapabilityRejected, match="its recipients would differ"):
        compare_recipients(envelope, ["a@x"], ["b@x"], ["a@x"])


@pytest.mark.parametrize(
    ("address", "cause"),
    [
        ("jo@bücher.de", "write 'jo@xn--bcher-kva.de'"),
        ("jo@ex．com", "beyond ASCII"),
        ("=?utf-8?q?a?=@example.com", "encoded word"),
    ],
)
def test_an_address_that_may_be_read_as_another_is_refused(address: str, cause: str) -> None:
    with pytest.raises(ValueError, match=cause):
        check_mail_address(address)
