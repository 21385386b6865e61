"""The text of a message, as people read it."""

from __future__ import annotations

from email.message import EmailMessage

import pytest

from planwright.capabilities.builtin.mail.mail_message import fields


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<head><title>no</title></head><p>hi</p>", "hi"),
        ("</head><p>hi</p>", "hi"),
        ("</style></script><p>hi</p><style>p {}</style><p>you</p>", "hi\nyou"),
    ],
)
def test_what_is_hidden_ends_where_it_was_begun(html: str, text: str) -> None:
    message = EmailMessage()
    message.set_content(html, subtype="html")
    assert fields(message.as_bytes())[0]["text"] == text
