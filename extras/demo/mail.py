"""The demo mail: RFC 822 messages kept as files in `messages/`, written out as a maildir."""

from __future__ import annotations

import mailbox
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.resources import files
from pathlib import Path

UNREAD_SINCE = datetime(2026, 11, 16, tzinfo=UTC)


def messages() -> list[bytes]:
    """Read all demo messages, the oldest first (their file names start with the date)."""
    folder = files("planwright.extras.demo") / "messages"
    entries = sorted(
        (entry for entry in folder.iterdir() if entry.name.endswith(".eml")), key=lambda e: e.name
    )
    return [entry.read_bytes() for entry in entries]


def write_maildir(folder: Path) -> None:
    """Add every demo message the maildir does not hold yet, the newest as unread; touch no other mail.

    A message counts as held if one with its Message-ID is there, however it was edited or moved.
    """
    for part in ("cur", "new", "tmp"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    maildir = mailbox.Maildir(folder, create=False)
    held = {str(message["Message-ID"]) for message in maildir}
    for content in messages():
        message = mailbox.MaildirMessage(content)
        if str(message["Message-ID"]) in held:
            continue
        sent = parsedate_to_datetime(message["Date"])
        message.set_date(sent.timestamp())
        if sent < UNREAD_SINCE:
            message.set_subdir("cur")
            message.set_flags("S")
        maildir.add(message)
