"""Sending mail, through the SMTP server of the settings (RFC 5321).

Until the server is given the text, nothing has happened and a call may be made again. From then on
only its answer says whether it took the message: without one, the call is in doubt.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from email.policy import SMTP

import aiosmtplib
from pydantic import BaseModel, JsonValue

from planwright.capabilities.builtin.mail.addresses import MOST, Recipients, Subject
from planwright.capabilities.builtin.mail.mail_comparison import compare_recipients
from planwright.capabilities.builtin.mail.messages import (
    Attachments,
    Letter,
    Text,
    build,
    check_attachments,
    check_sender,
)
from planwright.capabilities.builtin.places import attachments_of
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Guide
from planwright.capabilities.declaration import capability
from planwright.capabilities.descriptions import Deed
from planwright.domain.errors import (
    CapabilityError,
    CapabilityRejected,
    CapabilityUnavailable,
    EffectInDoubt,
)
from planwright.settings.mail import MailSettings
from planwright.settings.settings import mail_password

_SEVEN_BITS = SMTP.clone(cte_type="7bit")  # what every server takes (RFC 5321 section 2.4)


class Refusal(BaseModel):
    """A recipient the server did not take, and what it said."""

    address: str
    """Address that the server did not take."""
    code: int
    """SMTP code of the refusal."""
    said: str
    """What the server said."""


class Sent(BaseModel):
    """A message the server took: for whom, and for whom not."""

    accepted: list[str]
    """Addresses that the server took the mail for."""
    refused: list[Refusal]
    """Addresses that it did not take the mail for."""
    message_id: str
    """Message-ID of the mail."""
    said: str
    """What the server said when it took the mail."""


class _Client(aiosmtplib.SMTP):
    """A client that hangs up at once: a transport that is only closed waits for the server's TLS farewell."""

    def close(self) -> None:
        """Close the connection, also when the server's answer, such as 421, ends it."""
        if isinstance(self.transport, asyncio.WriteTransport):
            self.transport.abort()
        super().close()


def _check_sendable(args: Mapping[str, JsonValue], call: CallContext) -> None:
    check_sender(call)
    check_attachments(args, call)


def _hosts(args: Mapping[str, JsonValue], call: CallContext) -> Sequence[str]:
    return [f"{call.settings.mail.host}:{call.settings.mail.port_in_use}"]


@capability(
    "mail.send",
    mode="network",
    risk="High",
    effect="blind",
    tags=("mail", "email", "send", "reply", "recipient"),
    guide=Guide(
        "Sends a mail to addresses the user has named; it cannot be taken back.",
        ("Send a mail to jo@example.com with the summary",),
        45,
    ),
    preflight=_check_sendable,
    hosts=_hosts,
    timeout_s=180,
    destinations=("to", "cc", "bcc", "attachments"),
    deed=Deed("send", "mail", where=("to", "cc", "bcc")),
    reads=attachments_of,
    adds=("sent mail",),
)
async def send(
    to: Recipients,
    text: Text,
    call: CallContext,
    subject: Subject = "",
    cc: Recipients = [],  # noqa: B006 - pydantic copies defaults
    bcc: Recipients = [],  # noqa: B006
    attachments: Attachments = [],  # noqa: B006
) -> Sent:
    """Send a mail, with files of the workspace attached."""
    everyone = list(dict.fromkeys((*to, *cc, *bcc)))
    if not 0 < len(everyone) <= MOST:
        raise CapabilityRejected(f"a mail goes to 1 to {MOST} recipients, not to {len(everyone)}")
    server, sender = call.settings.mail, check_sender(call)
    compare_recipients(everyone, to, cc, bcc)
    mail = build(Letter(to, cc, subject, text, attachments), call, _SEVEN_BITS)
    client = _client(server)
    try:
        try:
            await client.connect()
            refused = await _offer(client, sender, everyone)
        except (aiosmtplib.SMTPException, OSError) as error:
            raise _nothing_sent(error, server) from error
        reply = await _hand_over(client, mail.wire, server)
    finally:
        await _leave(client)
    turned_away = {refusal.address for refusal in refused}
    return Sent(
        accepted=[address for address in everyone if address not in turned_away],
        refused=refused,
        message_id=mail.message_id,
        said=reply,
    )


def _client(server: MailSettings) -> aiosmtplib.SMTP:
    try:
        context = None if server.security == "none" else ssl.create_default_context(cafile=server.ca_file)
    except OSError as error:
        raise CapabilityRejected(f"cannot read mail.ca_file: {error}", "set mail.ca_file") from error
    return _Client(
        hostname=server.host,
        port=server.port_in_use,
        use_tls=server.security == "tls",
        start_tls=server.security == "starttls",
        tls_context=context,
        username=server.user,
        password=mail_password(server),
        timeout=server.timeout_s,
    )


async def _offer(client: aiosmtplib.SMTP, sender: str, recipients: Sequence[str]) -> list[Refusal]:
    """Name sender and recipients, and return who was refused. Raises when all of them were."""
    await client.mail(sender)
    refused = []
    for address in recipients:
        try:
            await client.rcpt(address)
        except aiosmtplib.SMTPRecipientRefused as error:
            refused.append((address, error))
    if len(refused) == len(recipients):
        raise next((error for _, error in refused if error.code < 500), refused[0][1])
    return [Refusal(address=address, code=error.code, said=error.message) for address, error in refused]


async def _hand_over(client: aiosmtplib.SMTP, message: bytes, server: MailSettings) -> str:
    """Give the server the text, and return its answer."""
    try:
        return (await client.data(message)).message
    except aiosmtplib.SMTPResponseException as error:
        raise _nothing_sent(error, server) from error
    except (aiosmtplib.SMTPException, OSError) as error:
        raise EffectInDoubt(
            f"{server.host} was given the mail and did not say whether it took it: {_words(error)}",
            "look for it among what was sent there, or ask a recipient",
        ) from error


def _nothing_sent(error: Exception, server: MailSettings) -> CapabilityError:
    """Say whether it may work later: what the server refuses for good, and what we refuse it, may not."""
    cause = f"{server.host} did not take the mail: {_words(error)}"
    final = isinstance(
        error, aiosmtplib.SMTPNotSupported | aiosmtplib.SMTPAuthenticationError | ssl.SSLCertVerificationError
    ) or isinstance(error.__cause__, ssl.SSLCertVerificationError)
    if isinstance(error, aiosmtplib.SMTPResponseException):
        final = error.code >= 500
    elif type(error) is aiosmtplib.SMTPException:
        final = True  # STARTTLS was asked for and is not offered
    if final:
        return CapabilityRejected(cause, "nothing was sent; check [mail] in planwright.toml")
    return CapabilityUnavailable(cause, "nothing was sent")


def _words(error: Exception) -> str:
    if isinstance(error, aiosmtplib.SMTPResponseException):
        return f"{error.code} {error.message}"
    return str(error) or type(error).__name__


async def _leave(client: aiosmtplib.SMTP) -> None:
    """End the session; whatever the server says now, its answer to the message counts."""
    try:
        if client.is_connected:
            await client.quit(timeout=2)
    except (aiosmtplib.SMTPException, OSError):
        pass
    finally:
        client.close()
        await asyncio.sleep(0)  # the loop closes the socket in its next round
