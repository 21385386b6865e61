"""The page asks about each effect in doubt on one line, and says once what holds for several."""

from __future__ import annotations

from planwright.domain.doubt import Doubt
from planwright.extras.web.view_models.doubt_page import doubt_page


def doubt(number: int, why: str = "no answer came") -> Doubt:
    return Doubt(
        key=f"{number}" * 64,
        uid=f"step_{number}",
        step_id=f"s{number}",
        capability="mail.send",
        args={"to": f"{number}@example.com", "text": "hello"},
        sent_at=f"2026-11-26T20:31:1{number}+00:00",
        why=why,
    )


def test_each_has_a_line_and_the_values_that_the_line_leaves_out() -> None:
    page = doubt_page([doubt(1), doubt(2)])
    first, second = page.questions
    assert first.line == "mail.send (s1): to 1@example.com; begun 2026-11-26 20:31:11 UTC, key 111111111111"
    assert (second.key, second.values) == ("2" * 64, {"text": "hello"})
    assert (page.why, len(page.find_out)) == (["no answer came"], 1)


def test_reasons_that_differ_stand_behind_their_numbers() -> None:
    assert doubt_page([doubt(1), doubt(2, "it broke off")]).why == ["1: no answer came", "2: it broke off"]


def test_nothing_in_doubt_is_an_empty_page() -> None:
    page = doubt_page([])
    assert (list(page.questions), list(page.why), list(page.find_out)) == ([], [], [])
