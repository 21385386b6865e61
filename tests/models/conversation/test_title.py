"""The title of a thread by rule."""

from __future__ import annotations

import pytest

from planwright.models.conversation.title import title


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("hi", "Hi"),
        ("Hello!", "Hello!"),
        ("please", "Please"),
        ("hi, what time is it?", "What time is it?"),
        ("can you  list\nthe files", "List the files"),
        ("?", "?"),
        ("word " * 20, "Word word word word word word word word word word word…"),
    ],
)
def test_a_title_is_the_request_without_its_courtesies_and_never_empty(request_: str, expected: str) -> None:
    assert title(request_) == expected
