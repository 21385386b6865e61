"""Mail in a maildir (RFC 5322 messages, one a file)."""

from __future__ import annotations

import mailbox
import re
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from email.utils import parsedate_to_datetime
from html.parser import HTMLParser
from typing import Annotated

from pydantic import BaseModel, Field

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.capability import Guide, capability
from planwright.capabilities.registry import words
from planwright.graph.errors import CapabilityRejected

_REPLY = re.compile(r"^\s*(re|fwd?|aw|wg)\s*:", re.IGNORECASE)


class Mail(BaseModel):
    """One message; `text` is its body as plain text."""

    id: str
    sender: str
    subject: str
    date: str
    text: str


class Mails(BaseModel):
    """Messages, best match first, the newest first among equals."""

    messages: list[Mail]
    count: int


@capability(
    "mail.search",
    mode="read_only",
    tags=("email", "mail", "inbox", "message", "search", "find"),
    guide=Guide(
        "Searches the mailbox. `query` takes the words a message must hold, `sender` a name or address. "
        "The best match is messages.0; its body is messages.0.text.",
        ("Search my emails for the invoice from Acme",),
        40,
    ),
    timeout_s=30,
)
def search(
    call: CallContext,
    query: Annotated[str, Field(description="words the message must hold")] = "",
    sender: Annotated[str, Field(description="name or address of the sender")] = "",
    limit: int = 10,
) -> Mails:
    """Search the user's mailbox by words and sender."""
    folder = call.settings.workspace / call.settings.sources.mail
    if not (folder / "cur").is_dir():
        raise CapabilityRejected(f"there is no maildir at {folder}", "set sources.mail in planwright.toml")
    parse = BytesParser(policy=default).parse
    box = mailbox.Maildir(folder, factory=parse, create=False)  # type: ignore[arg-type]
    scored = []
    for key in box.keys():  # noqa: SIM118 - a Maildir is no dict
        with box.get_file(key) as file:
            mail, when = _read(key, parse(file))  # type: ignore[arg-type]
        if sender and not words(sender) <= words(mail.sender):
            continue
        score = _score(mail, words(query))
        if score is not None:
            scored.append((score, when, mail))
    scored.sort(key=lambda entry: (entry[0], entry[1]), reverse=True)
    return Mails(messages=[mail for _, _, mail in scored[:limit]], count=len(scored))


def _score(mail: Mail, wanted: set[str]) -> float | None:
    """Weigh where the words stand; None when one is missing. A reply counts less than its original."""
    subject, sender = words(mail.subject), words(mail.sender)
    unquoted = words("\n".join(row for row in mail.text.splitlines() if not row.startswith(">")))
    if not wanted <= subject | sender | unquoted:
        return None
    score = sum(3 * (word in subject) + 3 * (word in sender) + (word in unquoted) for word in wanted)
    return score - (2.5 if _REPLY.match(mail.subject) else 0)


def _read(key: str, message: EmailMessage) -> tuple[Mail, datetime]:
    try:
        when = parsedate_to_datetime(str(message["date"]))
    except (TypeError, ValueError):
        when = datetime.fromtimestamp(0, UTC)
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    addresses: tuple[Address, ...] = getattr(message["from"], "addresses", ())
    sender = ", ".join(str(address) for address in addresses) or str(message["from"] or "")
    mail = Mail(
        id=str(message["message-id"] or key),
        sender=sender,
        subject=str(message["subject"] or ""),
        date=when.isoformat(),
        text=_body(message),
    )
    return mail, when


def _body(message: EmailMessage) -> str:
    part = message.get_body(("plain", "html"))
    if part is None:
        return ""
    try:
        content = part.get_content()
    except (LookupError, ValueError):  # a charset nobody knows, or a broken encoding
        content = part.get_payload(decode=True) or b""
    text = content if isinstance(content, str) else bytes(content).decode("utf-8", errors="replace")
    return _plain(text) if part.get_content_subtype() == "html" else text.strip()


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("style", "script", "head")
        if tag in ("p", "br", "div", "tr", "li", "h1", "h2", "h3"):
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("style", "script", "head")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(" ".join(data.split()))


def _plain(html: str) -> str:
    parser = _Words()
    parser.feed(html)
    rows = " ".join(parser.parts).split("\n")
    return "\n".join(row.strip() for row in rows if row.strip())
