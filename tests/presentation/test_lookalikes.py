"""Letters that look like others are named on the card."""

from __future__ import annotations

import pytest

from planwright.presentation.lookalikes import MOST, lookalikes


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("kim@acme.example", []),
        ("kim@аcme.example", ['kim@аcme.example: "а" is CYRILLIC SMALL LETTER A']),
        ("https://gοοgle.example/x", ['https://gοοgle.example/x: "ο" is GREEK SMALL LETTER OMICRON']),
        ("http://xn--80ak6aa92e.example", ['http://xn--80ak6aa92e.example: xn--80ak6aa92e is "аррӏе"']),
        ("Grüße aus Köln", []),
        ("notes/plаn.md", ['notes/plаn.md: "а" is CYRILLIC SMALL LETTER A']),
        ("xn--\x00.example", []),
        ("kim\uff11@acme.example", ['kim\uff11@acme.example: "\uff11" is FULLWIDTH DIGIT ONE']),
        ("acme\u2024example", ['acme\u2024example: "\u2024" is ONE DOT LEADER']),
        ("Pay \u0415\u0430\u0441\u0435", 4),
        ("p\u0430y Kim", ['p\u0430y: "\u0430" is CYRILLIC SMALL LETTER A']),
        ("\u041f\u0440\u0438\u0432\u0435\u0442 Kim", []),
        (f"{'a' * 64}@mail.bank-office.\u0430cme.example", 1),
    ],
)
def test_a_letter_is_named_where_it_is_no_plain_one(text: str, marks: list[str] | int) -> None:
    lines = lookalikes({"to": [text]})
    assert (len(lines) if isinstance(marks, int) else lines) == marks
    assert all(len(line) < 160 for line in lines)


def test_no_more_is_listed_than_can_be_read() -> None:
    lines = lookalikes({"to": [f"{chr(1072 + n)}@a.example" for n in range(30)]})
    assert (len(lines), lines[-1]) == (MOST + 1, "and 20 more")


def test_another_script_comes_before_accents() -> None:
    names = [f"a{letter}@x.example" for letter in "àáâãäåæçèéêë"]
    assert "CYRILLIC" in lookalikes({"to": [*names, "kim@\u0430cme.example"]})[0]


@pytest.mark.parametrize(
    ("request_text", "text", "names"),
    [
        ("Grüße aus Köln: schreib Kim", "kim@grüße.example", []),
        ("Grüße aus Köln: schreib Kim", "kim@gráße.example", ["LATIN SMALL LETTER A WITH ACUTE"]),
        ("Запиши это в заметки", "заметки/план.md", []),
        ("Запиши это в заметки", "почта@почта.рф", []),
        ("Напиши Kim: хор поёт", "хор Kim", []),
        ("Запиши это в заметки", "kim@аcme.example", ["CYRILLIC SMALL LETTER A"]),
        ("Запиши это в заметки", "kim@арр.example", ["CYRILLIC SMALL LETTER A", "CYRILLIC SMALL LETTER ER"]),
        ("Write to kim@заметки.example", "kim@заметки.example", 7),
        ("> Запиши это в заметки\nSend it", "заметки/план.md", 10),
        ("把会议记录写下来", "会议/记录.md", []),
        ("Γράψε το στον Kim", "ρορο/σχέδιο.md", ["GREEK SMALL LETTER RHO", "GREEK SMALL LETTER OMICRON"]),
    ],
)
def test_words_in_the_letters_of_the_user_are_no_doubles(
    request_text: str, text: str, names: list[str] | int
) -> None:
    lines = lookalikes({"to": text}, request_text)
    if isinstance(names, int):
        assert len(lines) >= names
    else:
        assert [line.rpartition(" is ")[2] for line in lines] == names
