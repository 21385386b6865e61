"""How a message gets to people: through the mail server of the settings, or posted to a webhook.

Its id stands in it: whoever gets a message twice, after a crash between sending and writing that down, can
tell by Message-ID (RFC 5322 section 3.6.4) or Idempotency-Key.
"""

from __future__ import annotations

import asyncio
import logging
import smtplib
import ssl
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Any

import httpx
from pydantic import SecretStr

from planwright.approvals.notices.message import NoticeMessage
from planwright.capabilities.builtin.mail.addresses import check_mail_address
from planwright.domain.errors import CapabilityError, SetupError
from planwright.domain.hashing import json_text, sha256
from planwright.domain.plugins import how_to_install
from planwright.security.egress.network import Network
from planwright.security.egress.unreachable import why_unreachable
from planwright.settings.mail import DeciderAddresses, MailSettings
from planwright.settings.settings import Settings, mail_password

TIMEOUT_S = 20.0
"""Most seconds that one answer of a receiver may take: a message is claimed for longer than all of them."""


_LOG = logging.getLogger("planwright.approvals")


class NotDelivered(Exception):
    """A receiver did not take a message; the text says why."""


class RecipientsRefused(NotDelivered):
    """The mail server takes no message for these recipients, now or later."""


class MailDelivery:
    """Sends messages through the mail server of a workspace."""

    def __init__(self, server: MailSettings) -> None:
        self._server = server

    async def send(
        self, message: NoticeMessage, recipients: Sequence[str], now: datetime, person: str = ""
    ) -> None:
        """Send one mail to several people; log who is refused. Raises NotDelivered where nobody gets it.

        One that is for a `person` alone has an id of its own.
        """
        which = f"{message.notice.notice_id}.{sha256(person)[:8]}" if person else message.notice.notice_id
        mail = EmailMessage(policy=SMTP.clone(cte_type="7bit"))
        mail["From"] = self._server.sender
        mail["To"] = ", ".join(recipients)
        mail["Subject"] = message.head
        mail["Date"] = format_datetime(now)
        domain = self._server.sender.rpartition("@")[2].rstrip(">") or "planwright.invalid"
        mail["Message-ID"] = f"<{which}@{domain}>"
        mail["Auto-Submitted"] = "auto-generated"  # RFC 3834: nobody's absence answers it
        mail.set_content(message.text)
        try:
            await asyncio.to_thread(self._hand_over, mail)
        except smtplib.SMTPRecipientsRefused as error:
            problem = f"{self._server.host} did not take a message for {', '.join(error.recipients)}"
            for_good = all(code >= 500 for code, _ in error.recipients.values())  # RFC 5321 section 4.2.1
            raise (RecipientsRefused if for_good else NotDelivered)(problem) from error
        except (smtplib.SMTPException, OSError) as error:
            raise NotDelivered(f"{self._server.host}: {error or type(error).__name__}") from error

    def _hand_over(self, mail: EmailMessage) -> None:
        server, wait_s = self._server, min(self._server.timeout_s, TIMEOUT_S)
        context = None if server.security == "none" else ssl.create_default_context(cafile=server.ca_file)
        place = (server.host, server.port_in_use)
        client = (
            smtplib.SMTP_SSL(*place, timeout=wait_s, context=context)
            if server.security == "tls"
            else smtplib.SMTP(*place, timeout=wait_s)
        )
        try:
            if server.security == "starttls":
                client.starttls(context=context)
            if server.user:
                client.login(server.user, mail_password(server) or "")
            if refused := client.send_message(mail):  # the others have it
                _LOG.warning("%s did not take a message for %s", server.host, ", ".join(refused))
            with suppress(smtplib.SMTPException, OSError):  # it has been taken, whatever comes now
                client.quit()
        finally:
            client.close()


class WebhookDelivery:
    """Posts messages as JSON, through the guarded way out."""

    def __init__(self, network: Network) -> None:
        self._network = network

    async def send(self, message: NoticeMessage, url: str) -> None:
        """Post one message. Raises NotDelivered, also for any answer but 2xx; no redirect is followed."""
        notice = message.notice
        content = {
            "text": f"{message.head}\n\n{message.text}",
            "id": notice.notice_id,
            "event": notice.kind,
            "tenant": notice.tenant,
            "run_id": notice.run_id,
            **message.facts,
        }
        headers = {"content-type": "application/json", "idempotency-key": notice.notice_id}
        try:
            async with (
                asyncio.timeout(TIMEOUT_S),
                self._network.client(TIMEOUT_S) as client,
                client.stream("POST", url, content=json_text(content), headers=headers) as reply,
            ):
                status = reply.status_code
        except (httpx.TransportError, TimeoutError) as error:
            raise NotDelivered(f"the webhook is unreachable: {why_unreachable(error)}") from error
        except CapabilityError as error:  # where it may not be reached
            raise NotDelivered(f"the webhook may not be reached: {error.cause}") from error
        if not 200 <= status < 300:
            raise NotDelivered(f"the webhook answered {status}")


class AppriseDelivery:
    """Sends messages through Apprise, to whatever it can reach (github.com/caronc/apprise)."""

    async def send(self, message: NoticeMessage, addresses: Sequence[SecretStr]) -> None:
        """Send one message to several addresses. Raises NotDelivered where one of them did not take it.

        They have no place for an id, so whoever has taken it gets it once more with the next attempt.
        """
        receivers = _apprise(addresses)
        taken = await receivers.async_notify(body=message.text, title=message.head)
        if not taken:
            raise NotDelivered("one of the addresses for Apprise did not take it; its log says why")


def _apprise(addresses: Sequence[SecretStr]) -> Any:
    """Read addresses as Apprise does. Raises SetupError for one that it does not know, and without it."""
    try:
        import apprise  # here, for few workspaces have such addresses
    except ImportError as error:
        raise SetupError(f"[notify] apprise needs Apprise: {error}", how_to_install("notify")) from error
    receivers = apprise.Apprise()
    for number, address in enumerate(addresses, 1):
        if not receivers.add(address.get_secret_value()):
            cause = f"[notify] apprise: address {number} is none that Apprise knows"
            raise SetupError(cause, "write it as github.com/caronc/apprise says: slack://…, ntfy://…")
    return receivers


def check_addresses(settings: Settings) -> None:
    """Raise SetupError for addresses that are none, and where mail is to be sent without a server."""
    tenants = (settings.notify, *settings.notify.tenants.values())
    deciders = [*tenants, *(tenant.next for tenant in tenants)]
    every = [*deciders, *(schedule.answer_to for schedule in settings.schedules.values())]
    if any(each.links for each in deciders) and not settings.notify.page:
        raise SetupError("[notify] links lead nowhere", 'say where people reach the page: page = "https://…"')
    if any("mail" in each.ways for each in every) and not (settings.mail.host and settings.mail.sender):
        cause = "[notify] mail needs a server that sends it"
        raise SetupError(cause, 'add it to planwright.toml: [mail] host = "…" from = "me@…"')
    for addresses in every:
        links = addresses.links if isinstance(addresses, DeciderAddresses) else {}
        for address in (*addresses.mail, *links.values()):
            try:
                check_mail_address(address)
            except ValueError as error:
                raise SetupError(f"[notify] mail: {error}", "write bare addresses: jo@example.com") from error
        if addresses.apprise:
            _apprise(addresses.apprise)
