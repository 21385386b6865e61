"""One message of a mailbox (RFC 5322), as the sandbox reads it.

The parser of addresses and words in the standard library takes quadratic time, so headers are cut first.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import EmailPolicy
from email.utils import parsedate_to_datetime
from html.parser import HTMLParser
from typing import cast

LONGEST_HEADER = 2000  # characters; RFC 5322 section 2.1.1 has 998 in a line
LONGEST = 300_000  # characters of the text


class _CutHeaders(EmailPolicy):
    """Read no more of a header than one has."""

    def header_source_parse(self, sourcelines: Sequence[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(list(sourcelines))
        return name, value[:LONGEST_HEADER]


_POLICY = _CutHeaders()


def fields(data: bytes) -> tuple[dict[str, str], datetime]:
    """Read the fields of a message, and when it was sent; 1970 where it does not say."""
    message = cast(EmailMessage, BytesParser(policy=_POLICY).parsebytes(data))
    try:
        when = parsedate_to_datetime(str(message["date"]))
    except (TypeError, ValueError):
        when = datetime.fromtimestamp(0, UTC)
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    addresses: tuple[Address, ...] = getattr(message["from"], "addresses", ())
    sender = ", ".join(str(address) for address in addresses) or str(message["from"] or "")
    read = {
        "id": str(message["message-id"] or ""),
        "sender": sender,
        "subject": str(message["subject"] or ""),
        "date": when.isoformat(),
        "text": _body(message),
    }
    return read, when


def _body(message: EmailMessage) -> str:
    part = message.get_body(("plain", "html"))
    if part is None:
        return ""
    try:
        content = part.get_content()
    except (LookupError, ValueError):  # a charset nobody knows, or a broken encoding
        content = part.get_payload(decode=True) or b""
    text = content if isinstance(content, str) else bytes(content).decode("utf-8", errors="replace")
    return _plain(text[:LONGEST]) if part.get_content_subtype() == "html" else text[:LONGEST].strip()


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("style", "script", "head")
        if tag == "body":  # the end of the head may be left out (HTML, 13.1.2)
            self._hidden = 0
        if tag in ("p", "br", "div", "tr", "li", "h1", "h2", "h3"):
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if self._hidden and tag in ("style", "script", "head"):  # a stray end tag hides nothing
            self._hidden -= 1

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(" ".join(data.split()))


def _plain(html: str) -> str:
    parser = _Words()
    parser.feed(html)
    parser.close()
    rows = " ".join(parser.parts).split("\n")
    return "\n".join(row.strip() for row in rows if row.strip())
