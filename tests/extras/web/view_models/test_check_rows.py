"""Lines of a check as rows."""

from __future__ import annotations

from planwright.extras.web.view_models.check_rows import CheckRow, check_rows

OUTPUT = """python     ok   3.11.7, SQLite 3.40.1
provider   !!   provider a has no key
                set A_KEY
mail       ok   none: no maildir
"""


def test_each_check_is_a_row_and_what_to_do_belongs_to_the_one_before() -> None:
    assert check_rows(OUTPUT) == [
        CheckRow("python", True, "3.11.7, SQLite 3.40.1"),
        CheckRow("provider", False, "provider a has no key", "set A_KEY"),
        CheckRow("mail", True, "none: no maildir"),
    ]


def test_what_is_no_check_is_no_row() -> None:
    assert check_rows("") == []
    assert check_rows("Traceback (most recent call last):\n  x\n") == []
