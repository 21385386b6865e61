"""How far an approval is to hold is typed in one line, with names and values of the card."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.cli.session.breadth import breadth_words, read_breadth

ARGS = {"path": "notes/a.md", "text": "one", "amount": 40.0, "url": "https://a.example/x?y"}
CARD: dict[str, Any] = {"args": ARGS, "width": {"free": [], "choose": ["path", "text", "amount", "url"]}}
ANY = {"any": True}


@pytest.mark.parametrize(
    ("typed", "holds"),
    [
        ("r", "run"),
        ("C", "session"),
        ("always", "always"),
        ("a path=notes/", {"scope": "always", "args": {"path": {"under": "notes"}}}),
        ("a url=https://a.example", {"scope": "always", "args": {"url": {"origin": "https://a.example"}}}),
        ("r text path=notes/*.md", {"scope": "run", "args": {"text": ANY, "path": {"glob": "notes/*.md"}}}),
        ("c amount=*", {"scope": "session", "args": {"amount": ANY}}),
        ("c x10", {"scope": "session", "most": 10}),
        ("c when amount <= 100", {"scope": "session", "when": "amount <= 100"}),
        (
            "a text when amount <= 100 && text != 'x9' x3",
            {"scope": "always", "args": {"text": ANY}, "when": "amount <= 100 && text != 'x9'", "most": 3},
        ),
        ("a note on this", None),
        ("always, thanks", None),
        ("r x0", None),
        ("run to the hills", None),
        ("why", None),
        ("", None),
    ],
)
def test_what_is_typed_is_read(typed: str, holds: object) -> None:
    assert read_breadth(typed, {"shown": CARD}) == holds


def test_what_may_be_typed_is_said_with_the_values_of_the_card() -> None:
    words = breadth_words(CARD)
    for typed in ("a path=notes/", "a url=https://a.example", "a text", "c when amount <= 40", "c x10"):
        assert f"[{typed}]" in words
        assert read_breadth(typed, {"shown": CARD}) is not None


def test_a_call_without_arguments_has_a_number_of_calls_alone() -> None:
    assert breadth_words({"args": {}}) == "[c x10] for ten calls"
