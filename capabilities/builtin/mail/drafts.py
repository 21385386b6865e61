"""Drafts of mail: messages a person finds among the drafts of their mail program, and sends or not."""

from __future__ import annotations

from email.policy import SMTP

from pydantic import BaseModel, ConfigDict

from planwright.capabilities.builtin.mail.addresses import Recipients, Subject
from planwright.capabilities.builtin.mail.messages import Attachments, Letter, Text, build, check_attachments
from planwright.capabilities.builtin.places import attachments_of, source
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Guide
from planwright.capabilities.declaration import capability
from planwright.capabilities.descriptions import Deed
from planwright.domain.errors import CapabilityRejected
from planwright.security.jail import Jail

FOLDER = ".Drafts"  # as Maildir++ spells the folder Drafts
_ON_DISK = SMTP.clone(linesep="\n")


class MailDraft(BaseModel):
    """Where a draft lies, below the maildir."""

    model_config = ConfigDict(title="Draft")
    path: str
    """Path of the draft below the maildir."""
    to: list[str]
    """Addresses that it would go to."""
    subject: str
    """Subject of the draft."""
    message_id: str
    """Its Message-ID."""


@capability(
    "mail.draft",
    mode="local_write",
    risk="Low",
    effect="idempotent",
    tags=("draft", "compose", "mail", "email", "reply"),
    guide=Guide(
        "Puts a message among the drafts of the mailbox; nobody receives it. Prefer it to mail.send "
        "unless the user asks to send.",
        ("Draft a mail to jo@example.com saying the offer follows on Monday",),
        42,
    ),
    preflight=check_attachments,
    destinations=("to", "cc", "attachments"),
    deed=Deed("draft", "mail", where=("to", "cc")),
    trusted_result=True,
    reads=attachments_of,
    adds=source(lambda sources: sources.mail, FOLDER),
)
def draft(
    text: Text,
    call: CallContext,
    to: Recipients = [],  # noqa: B006 - pydantic copies defaults
    subject: Subject = "",
    cc: Recipients = [],  # noqa: B006
    attachments: Attachments = [],  # noqa: B006
) -> MailDraft:
    """Write a mail as a draft, without sending it."""
    mail = build(Letter(to, cc, subject, text, attachments), call, _ON_DISK)
    folder = call.settings.workspace / call.settings.sources.mail
    if not folder.is_dir():
        raise CapabilityRejected(
            f"there is no folder of mail at {folder}", "set sources.mail in planwright.toml"
        )
    path = _keep(Jail(folder), call.idempotency_key[:32], mail.wire)
    return MailDraft(path=path, to=to, subject=subject, message_id=mail.message_id)


def _keep(box: Jail, key: str, message: bytes) -> str:
    """Put a message into the drafts, once: what its user did with an earlier one under this key stays."""
    for part in ("tmp", "new", "cur"):
        box.make_folder(f"{FOLDER}/{part}")
    name = f"{key}.planwright"
    for there in box.files(f"{FOLDER}/cur"):
        if there.rpartition("/")[2].startswith(f"{name}:"):
            return there
    path = f"{FOLDER}/cur/{name}:2,DS"  # D: a draft, S: seen
    box.write_bytes(path, message)
    return path
