"""A real SMTP server (aiosmtpd) on the loopback interface that can be told to misbehave."""

from __future__ import annotations

import asyncio
import email
import socket
import ssl
import threading
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tests.patience import PATIENCE_S

USER, PASSWORD = "robot", "s3cret-of-the-post-office"


@dataclass
class Handler:
    """What the server answers, and what it took. A reply of `drop` or `hang` says nothing."""

    replies: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    taken: list[tuple[list[str], EmailMessage]] = field(default_factory=list)
    offered: int = 0
    logins: list[str] = field(default_factory=list)
    secure: list[bool] = field(default_factory=list)
    hangs: threading.Event = field(default_factory=threading.Event)

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        reply = await self._reply("MAIL", server)
        if reply.startswith("250"):
            envelope.mail_from = address
        return reply

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address in self.refused:
            return self.refused[address]
        envelope.rcpt_tos.append(address)
        return await self._reply("RCPT", server)

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        self.offered += 1
        self.secure.append(session.ssl is not None)
        reply = self.replies.get("DATA", "250 taken")
        content = envelope.content
        assert isinstance(content, bytes)
        if reply.startswith("250") or reply == "take and drop":
            self.taken.append((list(envelope.rcpt_tos), email.message_from_bytes(content, policy=default)))
        return await self._reply("DATA", server)

    def authenticate(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any
    ) -> AuthResult:
        """Let one user in (aiosmtpd's authenticator)."""
        assert isinstance(data, LoginPassword)
        self.logins.append(data.login.decode())
        known = (data.login, data.password) == (USER.encode(), PASSWORD.encode())
        return AuthResult(success=known, handled=False)

    async def _reply(self, command: str, server: SMTP) -> str:
        reply = self.replies.get(command, "250 taken" if command == "DATA" else "250 OK")
        if reply.endswith("drop"):
            assert isinstance(server.transport, asyncio.Transport)
            server.transport.abort()
        if reply == "hang":
            self.hangs.set()
            await asyncio.sleep(PATIENCE_S)
        return "250 nobody hears this" if reply.endswith(("drop", "hang")) else reply


class PostOffice:
    """The server in a thread of its own; `settings` are those of a client that trusts it."""

    def __init__(self, folder: Path, *, security: str = "starttls", auth: bool = False) -> None:
        self.handler = Handler()
        self._security = security
        self._auth = auth
        authority = trustme.CA(key_type=trustme.KeyType.ECDSA)
        self.ca_file = folder / "authority.pem"
        authority.cert_pem.write_to_path(str(self.ca_file))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost", "127.0.0.1").configure_cert(context)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        options: dict[str, Any] = {"ssl_context": context} if security == "tls" else {}
        if security == "starttls":
            options = {"tls_context": context, "require_starttls": True}
        if auth:
            options |= {"authenticator": self.handler.authenticate, "auth_required": True}
        self._controller = Controller(self.handler, hostname="127.0.0.1", port=self.port, **options)

    @property
    def settings(self) -> dict[str, Any]:
        """The `[mail]` section of a client, and the egress list that lets it in."""
        mail: dict[str, Any] = {"host": "localhost", "port": self.port, "security": self._security}
        mail |= {"from": "agent@planwright.example", "ca_file": str(self.ca_file), "timeout_s": PATIENCE_S}
        mail |= {"user": USER, "password": PASSWORD} if self._auth else {}
        return {"mail": mail, "egress": {"allow": [f"localhost:{self.port}"]}}

    def __enter__(self) -> PostOffice:
        self._controller.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._controller.stop(no_assert=True)
