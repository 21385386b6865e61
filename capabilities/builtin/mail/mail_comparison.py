"""Compare a mail with the arguments that were approved, from the exact bytes that would leave.

Libraries fold, encode and normalize headers. Whatever they did, a recipient's program has to read what
was approved: the bytes are parsed as it would (RFC 5322, RFC 2045 to 2047, RFC 2231) and compared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import NoReturn

from planwright.domain.errors import CapabilityRejected

# A mail has each of these at most once, and no other; a part below it only the second list.
HEADERS = frozenset(
    "from to cc subject date message-id mime-version content-type content-transfer-encoding".split()
)
PART_HEADERS = frozenset("mime-version content-type content-transfer-encoding content-disposition".split())
_LINE_END = re.compile(r"\r\n|\r")


@dataclass(frozen=True)
class ApprovedMail:
    """What a mail was approved to say; attachments are names and contents."""

    sender: str
    """Address that the mail comes from."""
    to: Sequence[str]
    """Addresses that it goes to."""
    cc: Sequence[str]
    """Addresses that get a copy."""
    subject: str
    """Subject as approved."""
    text: str
    """Body as approved."""
    attachments: Sequence[tuple[str, bytes]]
    """Names and contents of the files."""


def compare(wire: bytes, line_end: bytes, approved: ApprovedMail) -> None:
    """Refuse a mail that would not say what was approved; line ends in its text may change.

    Raises CapabilityRejected, which names the part that differs.
    """
    rest = wire.replace(line_end, b"")
    if b"\r" in rest or b"\n" in rest or b"\0" in rest:
        _refuse("line ends")
    mail = message_from_bytes(wire, policy=default)
    parts: list[EmailMessage] = [part for part in mail.walk() if part is not mail]
    _compare_headers(mail, parts)
    for name, value in (
        ("From", approved.sender),
        ("To", ", ".join(approved.to)),
        ("Cc", ", ".join(approved.cc)),
        ("Subject", approved.subject),
    ):
        if str(mail[name] or "") != value:
            _refuse(name)
    for name, addresses in (("To", approved.to), ("Cc", approved.cc)):
        parsed = mail[name].addresses if name in mail else ()
        if [address.addr_spec for address in parsed] != list(addresses):
            _refuse(name)
    _compare_text(mail, parts, approved)
    _compare_attachments(parts, approved)


def compare_recipients(envelope: Sequence[str], *approved: Sequence[str]) -> None:
    """Refuse to name anyone to the server but the recipients that were approved, each of them once.

    Raises CapabilityRejected.
    """
    everyone = {address for addresses in approved for address in addresses}
    if len(envelope) != len(everyone) or set(envelope) != everyone:
        _refuse("recipients")


def _compare_headers(mail: EmailMessage, parts: Sequence[EmailMessage]) -> None:
    """Refuse headers nobody asked for, headers twice, and what a parser finds wrong."""
    for part, allowed in ((mail, HEADERS), *((part, PART_HEADERS) for part in parts)):
        names = [name.lower() for name in part]
        if len(names) != len(set(names)) or not allowed.issuperset(names):
            _refuse("headers")
        if part.defects or any(value.defects for value in part.values()):
            _refuse("form")


def _compare_text(mail: EmailMessage, parts: Sequence[EmailMessage], approved: ApprovedMail) -> None:
    body = parts[0] if approved.attachments and parts else mail
    kind = body.get_content_type(), body.get_content_charset(), body.get_content_disposition()
    if kind != ("text/plain", "utf-8", None):
        _refuse("text")
    if _lines(_content(body).decode("utf-8", "replace")) != _lines(approved.text):
        _refuse("text")


def _compare_attachments(parts: Sequence[EmailMessage], approved: ApprovedMail) -> None:
    files = [(part.get_filename(), _content(part)) for part in parts[1:]]
    kinds = {part.get_content_disposition() for part in parts[1:]}
    if files != list(approved.attachments) or not kinds <= {"attachment"}:
        _refuse("attachments")


def _content(part: EmailMessage) -> bytes:
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def _lines(text: str) -> str:
    """Bring line ends to one form; a text ends with one, which is added where it is missing."""
    return _LINE_END.sub("\n", text).removesuffix("\n")


def _refuse(part: str) -> NoReturn:
    raise CapabilityRejected(
        f"the mail would not arrive as it was approved: its {part} would differ",
        "nothing was sent; use plain words, and names without special characters",
    )
