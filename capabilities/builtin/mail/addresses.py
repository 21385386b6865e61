"""What may stand in the header of a message: addresses and lines nobody can smuggle a header into."""

from __future__ import annotations

import unicodedata
from typing import Annotated

from pydantic import AfterValidator, Field

MOST = 50  # recipients of one message


def check_mail_address(text: str) -> str:
    """Check one bare mail address (RFC 5321): no name beside it, no list, no route. Raises ValueError.

    A domain beyond ASCII is refused: it may look like another, and no header or server takes it as it is;
    so is what looks like an encoded word (RFC 2047), which some servers decode even in an envelope.
    """
    from email_validator import EmailNotValidError, validate_email  # here: 13 ms, and few runs write mail

    try:
        checked = validate_email(
            text, check_deliverability=False, allow_smtputf8=False, globally_deliverable=False, strict=True
        )
    except EmailNotValidError as error:
        raise ValueError(f"{text!r} is no mail address: {error}") from error
    if not text.isascii():
        raise ValueError(f"{text!r} has a domain beyond ASCII; write {checked.ascii_email!r}")
    if "=?" in text:
        raise ValueError(f"{text!r} looks like an encoded word, and may be read as another address")
    return text


def check_one_line(text: str) -> str:
    """Check that a text has no character that could end a header's line. Raises ValueError."""
    if controls := [c for c in text if unicodedata.category(c) in ("Cc", "Zl", "Zp", "Cs")]:
        raise ValueError(f"it holds {controls[0]!a}, which no header may")
    return text


Recipients = Annotated[
    list[Annotated[str, AfterValidator(check_mail_address)]],
    Field(description="bare addresses, e.g. jo@example.com", max_length=MOST),
]
Subject = Annotated[str, AfterValidator(check_one_line), Field(description="one line", max_length=500)]
