"""A file that is replaced is shown: how it begins, and what will be different, never more than fits."""

from __future__ import annotations

import pytest

from planwright.approvals.rewrites import LARGEST, LINES, LONGEST_LINE, shown_rewrite
from planwright.capabilities.descriptions import Rewrite
from planwright.presentation.file_lines import rewrite_texts
from planwright.security.redaction.redactor import Redactor

NOTE = b"# To do\n\nbuy nails\ncall Ann\n"


def text(before: bytes, after: bytes | None, redactor: Redactor | None = None) -> str:
    """Show what is replaced by what."""
    card = shown_rewrite(Rewrite("todo.md", before, after), redactor or Redactor())
    (shown,) = rewrite_texts({"rewrites": [card]})
    return shown


def test_what_is_different_stands_with_what_is_around_it() -> None:
    shown = text(NOTE, NOTE.replace(b"nails", b"screws"))
    assert shown.splitlines() == [
        "todo.md is replaced (28 bytes)",
        "@@ line 2 @@",
        " ",
        "-buy nails",
        "+buy screws",
        " call Ann",
    ]


def test_a_text_that_is_not_known_yet_shows_what_it_goes_over() -> None:
    assert text(NOTE, None).splitlines() == [
        "todo.md is replaced (28 bytes); it begins:",
        "# To do",
        "",
        "buy nails",
    ]


def test_the_same_text_changes_nothing() -> None:
    assert text(NOTE, NOTE) == "todo.md stays as it is"


@pytest.mark.parametrize("before", [b"\x00\x01", b"\xff\xfe", b"x" * (LARGEST + 1)])
def test_what_is_no_short_text_shows_its_size_alone(before: bytes) -> None:
    assert text(before, b"new") == f"todo.md is replaced ({len(before):,} bytes)"


def test_no_more_is_shown_than_can_be_read() -> None:
    shown = text(b"".join(b"%d\n" % n for n in range(300)), b"y" * 1_000).splitlines()
    assert len(shown) == LINES + 2
    assert shown[-1] == "… and 272 more lines"
    assert max(map(len, shown)) <= LONGEST_LINE


def test_a_secret_in_the_file_is_not_shown() -> None:
    redactor = Redactor({"KEY": "hunter2-is-long-enough"})
    assert "hunter2" not in text(b"key hunter2-is-long-enough\n", b"", redactor)


def test_a_line_in_the_middle_of_a_long_file_is_shown_at_its_place() -> None:
    lines = [b"%d\n" % n for n in range(5_000)]
    after = b"".join([*lines[:2_500], b"new\n", *lines[2_500:]])
    assert text(b"".join(lines), after).splitlines()[1:] == ["@@ line 2500 @@", " 2499", "+new", " 2500"]


def test_a_long_file_that_is_quite_another_shows_how_it_begins() -> None:
    before = b"".join(b"old %d\n" % n for n in range(5_000))
    assert text(before, before.replace(b"old", b"new")).splitlines()[1:] == ["old 0", "old 1", "old 2"]
