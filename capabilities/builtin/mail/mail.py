"""Mail of the user (RFC 5322 messages), searched by words and sender."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field

from planwright.capabilities.builtin.mail.stored import StoredMail, stored_mails
from planwright.capabilities.builtin.places import mails_of
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Guide
from planwright.capabilities.declaration import capability
from planwright.capabilities.registry import words
from planwright.domain.errors import CapabilityRejected
from planwright.language.nouns import MAIL_TAGS
from planwright.sandbox.sandbox import sandbox

JOB = "planwright.capabilities.builtin.mail.mail_message"
_REPLY = re.compile(r"^\s*(re|fwd?|aw|wg)\s*:", re.IGNORECASE)


class Mail(BaseModel):
    """One message; `text` is its body as plain text."""

    id: str
    """Message-ID of the message, or the name of its file where it has none."""
    sender: str
    """Who sent it, as its header says."""
    subject: str
    """Subject of the message."""
    date: str
    """When it was sent, in ISO 8601; in 1970 where its header does not say."""
    text: str
    """Body as plain text."""


class Mails(BaseModel):
    """Messages, best match first, the newest first among equals."""

    messages: list[Mail]
    """Messages that match, up to the limit asked for."""
    count: int
    """Number of all messages that match."""
    unreadable: list[str] = []
    """Messages that could not be read."""


@capability(
    "mail.search",
    mode="read_only",
    tags=MAIL_TAGS,
    guide=Guide(
        "Searches the mailbox. `query` takes the words a message must hold, `sender` a name or address. "
        "The best match is messages.0; its body is messages.0.text.",
        ("Search my emails for the invoice from Acme",),
        40,
    ),
    timeout_s=30,
    reads=mails_of,
)
def search(
    call: CallContext,
    query: Annotated[str, Field(description="words the message must hold")] = "",
    sender: Annotated[str, Field(description="name or address of the sender")] = "",
    limit: Annotated[int, Field(ge=1, le=100)] = 10,
) -> Mails:
    """Search the user's mailbox by words and sender."""
    scored, unreadable = [], []
    for stored in stored_mails(call.settings.workspace / call.settings.sources.mail):
        if stored.unreadable:
            unreadable.append(f"{stored.name}: {stored.unreadable}")
            continue
        try:
            mail, when = _read(stored)
        except CapabilityRejected as error:
            unreadable.append(f"{stored.name}: {error.cause}")
            continue
        if sender and not words(sender) <= words(mail.sender):
            continue
        score = _score(mail, words(query))
        if score is not None:
            scored.append((score, when, mail))
    scored.sort(key=lambda entry: (entry[0], entry[1]), reverse=True)
    best = [mail for _, _, mail in scored[:limit]]
    return Mails(messages=best, count=len(scored), unreadable=unreadable[:limit])


def _score(mail: Mail, wanted: set[str]) -> float | None:
    """Weigh where the words stand; None when one is missing. A reply counts less than its original."""
    subject, sender = words(mail.subject), words(mail.sender)
    unquoted = words("\n".join(row for row in mail.text.splitlines() if not row.startswith(">")))
    if not wanted <= subject | sender | unquoted:
        return None
    score = sum(3 * (word in subject) + 3 * (word in sender) + (word in unquoted) for word in wanted)
    return score - (2.5 if _REPLY.match(mail.subject) else 0)


def _read(stored: StoredMail) -> tuple[Mail, datetime]:
    """Read one message. Raises CapabilityRejected for one that takes too much to read."""
    fields, when = sandbox().run(f"{JOB}:fields", stored.data)
    return Mail(**{**fields, "id": fields["id"] or stored.name}), when
