"""A message as it is drafted or sent (RFC 5322), from arguments that are checked already."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.header import Header
from email.message import EmailMessage
from email.policy import SMTP, Policy
from email.utils import format_datetime
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import Field, JsonValue

from planwright.capabilities.builtin.mail.mail_comparison import ApprovedMail, compare
from planwright.capabilities.call_context import CallContext
from planwright.domain.errors import CapabilityRejected

_ANY_FILE = "application/octet-stream"
_PLAIN_LINE = re.compile(r"(?=.{0,60}\Z)([!-~]+( [!-~]+)*)?")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
MOST_BYTES = 10_000_000  # of all attachments; many servers refuse 25 MB, a third of which is encoding

Text = Annotated[str, Field(description="the body, as plain text", max_length=200_000)]
Attachments = Annotated[
    list[str],
    Field(
        description="paths of files below the workspace", max_length=20, json_schema_extra={"format": "path"}
    ),
]


def check_attachments(args: Mapping[str, JsonValue], call: CallContext) -> None:
    """Refuse to attach what lies outside the workspace, or is not read."""
    paths = args.get("attachments")
    for path in paths if isinstance(paths, list) else ():
        if isinstance(path, str):
            call.workspace.check_readable(path)


@dataclass(frozen=True)
class BuiltMail:
    """A mail as the bytes that leave, and its Message-ID."""

    message_id: str
    """Its Message-ID."""
    wire: bytes
    """The whole mail as the bytes that leave."""


@dataclass(frozen=True)
class Letter:
    """What a mail is to say, and to whom, as the arguments of a call have it."""

    to: Sequence[str]
    """Addresses that it goes to."""
    cc: Sequence[str]
    """Addresses that get a copy."""
    subject: str
    """Subject, on one line."""
    text: str
    """Body as plain text."""
    attachments: Sequence[str]
    """Paths of the files of the workspace that it takes along."""


def build(letter: Letter, call: CallContext, policy: Policy[EmailMessage] = SMTP) -> BuiltMail:
    """Build a message; the same call gives it the same Message-ID.

    Raises CapabilityRejected, also where a reader of its bytes would not read the arguments in it.
    """
    sender = call.settings.mail.sender
    files = _read(call, letter.attachments)
    approved = ApprovedMail(sender, letter.to, letter.cc, letter.subject, letter.text, files)
    domain = sender.rpartition("@")[2].rstrip(">") or "planwright.invalid"
    message_id = f"<{call.idempotency_key[:32]}@{domain}>"
    try:
        message = _message(approved)
        message["Date"] = format_datetime(call.now())
        message["Message-ID"] = message_id
        wire = message.as_bytes(policy=policy)
    except (ValueError, LookupError, AttributeError) as error:  # what a header or a text cannot be written as
        raise CapabilityRejected(f"the mail cannot be written: {error}", "use plain words") from error
    compare(wire, policy.linesep.encode(), approved)
    return BuiltMail(message_id, wire)


def _message(approved: ApprovedMail) -> EmailMessage:
    message = EmailMessage()
    for name, value in (
        ("From", approved.sender),
        ("To", ", ".join(approved.to)),
        ("Cc", ", ".join(approved.cc)),
    ):
        if value:
            message[name] = value
    message.set_raw("Subject", _subject(approved.subject))
    # A server may change or refuse control characters that are sent as they are (RFC 5321 section 4.5.2).
    message.set_content(approved.text, cte="base64" if _CONTROLS.search(approved.text) else None)
    for name, content in approved.attachments:
        kind, _, subkind = (mimetypes.guess_type(name)[0] or _ANY_FILE).partition("/")
        if kind in ("message", "multipart"):  # may not be sent as base64, and would not arrive byte for byte
            kind, _, subkind = _ANY_FILE.partition("/")
        message.add_attachment(content, maintype=kind, subtype=subkind, filename=name)
    return message


def _subject(text: str) -> str:
    """Write a subject as it is where that is plain, otherwise whole as encoded words (RFC 2047).

    Left to itself, EmailMessage (Python 3.11) encodes single words, and loses or adds spaces between them;
    and what looks like an encoded word already would be decoded by its reader.
    """
    if _PLAIN_LINE.fullmatch(text) and "=?" not in text:
        return text
    return Header(text, "utf-8", header_name="Subject").encode()


def _read(call: CallContext, paths: Sequence[str]) -> list[tuple[str, bytes]]:
    files: list[tuple[str, bytes]] = []
    left = MOST_BYTES
    for path in paths:
        content = call.workspace.read_bytes(path, left)
        left -= len(content)
        files.append((PurePosixPath(path).name, content))
    return files


def check_sender(call: CallContext) -> str:
    """Read whom mail is sent as. Raises CapabilityRejected where that is not set."""
    if not call.settings.mail.host or not call.settings.mail.sender:
        raise CapabilityRejected(
            "no mail server is set", 'add it to planwright.toml: [mail] host = "…" from = "me@…"'
        )
    return call.settings.mail.sender
