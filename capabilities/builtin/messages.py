"""A message as it is drafted or sent (RFC 5322), from arguments that are checked already."""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import Field, JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.graph.errors import CapabilityRejected

MOST_BYTES = 10_000_000  # of all attachments; many servers refuse 25 MB, a third of which is encoding

Text = Annotated[str, Field(description="the body, as plain text", max_length=200_000)]
Attachments = Annotated[
    list[str],
    Field(
        description="paths of files below the workspace", max_length=20, json_schema_extra={"format": "path"}
    ),
]


def attached_files(args: Mapping[str, JsonValue], call: CallContext) -> None:
    """Refuse to attach what lies outside the workspace."""
    paths = args.get("attachments")
    for path in paths if isinstance(paths, list) else ():
        if isinstance(path, str):
            call.workspace.check(path)


def build(
    call: CallContext,
    *,
    to: Sequence[str],
    cc: Sequence[str],
    subject: str,
    text: str,
    attachments: Sequence[str],
) -> EmailMessage:
    """Build a message; the same call gives it the same Message-ID. Raises CapabilityRejected."""
    message, sender = EmailMessage(), call.settings.mail.sender
    if sender:
        message["From"] = sender
    for name, addresses in (("To", to), ("Cc", cc)):
        if addresses:
            message[name] = ", ".join(addresses)
    message["Subject"] = subject
    message["Date"] = format_datetime(call.now())
    domain = sender.rpartition("@")[2] or "planwright.invalid"
    message["Message-ID"] = f"<{call.idempotency_key[:32]}@{domain}>"
    message.set_content(text)
    left = MOST_BYTES
    for path in attachments:
        data = call.workspace.read_bytes(path, left)
        left -= len(data)
        kind, _, subkind = (mimetypes.guess_type(path)[0] or "application/octet-stream").partition("/")
        message.add_attachment(data, maintype=kind, subtype=subkind, filename=PurePosixPath(path).name)
    return message


def check_sender(call: CallContext) -> str:
    """Read whom mail is sent as. Raises CapabilityRejected where that is not set."""
    if not call.settings.mail.host or not call.settings.mail.sender:
        raise CapabilityRejected(
            "no mail server is set", 'add it to planwright.toml: [mail] host = "…" from = "me@…"'
        )
    return call.settings.mail.sender
