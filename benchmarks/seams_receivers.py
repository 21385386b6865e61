"""Who receives outside, in the sweep over the seams: an SMTP server, and services over HTTP."""

from __future__ import annotations

import email
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.policy import default
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from benchmarks.consent_receivers import HOST, Service, free_port
from benchmarks.seams_tools import Receipt


@dataclass
class Office:
    """An SMTP server that takes every mail, with what is attached to it."""

    received: list[Receipt] = field(default_factory=list)
    port: int = field(default_factory=free_port)

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        """Write a mail down."""
        content = envelope.content or b""
        message = email.message_from_bytes(
            content if isinstance(content, bytes) else content.encode(), policy=default
        )
        text = "\n".join([*map(str, envelope.rcpt_tos), str(message["subject"]), *_bodies(message)])
        self.received.append(Receipt("mail.send", {}, _attached(message), text))
        return "250 taken"


def _bodies(message: Any) -> Iterator[str]:
    for part in message.walk():
        if part.get_content_type() == "text/plain" and not part.get_filename():
            yield part.get_content()


def _attached(message: Any) -> dict[str, str]:
    parts = [part for part in message.walk() if part.get_filename()]
    return {part.get_filename(): hashlib.sha256(part.get_payload(decode=True)).hexdigest() for part in parts}


@contextmanager
def taking_mail(office: Office) -> Iterator[None]:
    """Let an office take mail."""
    postman = Controller(office, hostname=HOST, port=office.port)
    postman.start()
    try:
        yield
    finally:
        postman.stop(no_assert=True)


@contextmanager
def listening(kind: str) -> Iterator[Service]:
    """Open a service that writes down what it hears."""
    service = Service(kind)
    try:
        yield service
    finally:
        service.shutdown()
        service.server_close()
