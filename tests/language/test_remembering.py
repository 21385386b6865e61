"""The embedded planner proposes only what a user says outright."""

from __future__ import annotations

import pytest

from planwright.language.remembering import spoken


@pytest.mark.parametrize(
    ("request_", "text", "tag"),
    [
        ("Remember that the Berlin office closes at six", "the Berlin office closes at six", "remembered"),
        ("Please remember: Priya pays on Fridays.", "Priya pays on Fridays", "remembered"),
        ("Keep in mind that Acme is a partner", "Acme is a partner", "remembered"),
        ("I prefer metric units. What time is it?", "I prefer metric units", "preference"),
        ("I'd prefer short answers", "I'd prefer short answers", "preference"),
        ("What tickets are open? Always answer in German.", "Always answer in German", "instruction"),
        ("Never post on Sundays", "Never post on Sundays", "instruction"),
        ("I never work on Fridays", "I never work on Fridays", "instruction"),
        ("From now on, call me Ada", "From now on, call me Ada", "instruction"),
        ("My dentist is Dr. Miller. What time is it?", "My dentist is Dr. Miller", "fact"),
        ("I prefer e.g. green tea.", "I prefer e.g. green tea", "preference"),
        ("My boss is J. Smith. What tickets are open?", "My boss is J. Smith", "fact"),
        ("My manager is Priya; list the open tickets", "My manager is Priya", "fact"),
        ("My favourite   colour is\u00a0blue!", "My favourite colour is blue", "fact"),
    ],
)
def test_what_is_said_outright_is_proposed_word_for_word(request_: str, text: str, tag: str) -> None:
    (found,) = spoken(request_)
    assert (found.text, found.said, found.tags) == (text, text, (tag,))
    assert found.why


@pytest.mark.parametrize(
    "request_",
    [
        "What tickets are open?",
        "Remember to call Bob",
        "Do you remember that the office closes at six?",
        "Forget that I prefer tea",
        "Search my emails for the invoice",
        "Is it true that my manager is Priya?",
        "My manager is who?",
        "Write 'I prefer tea' to note.md",
        "> I prefer tea",
        "Never send “a text that somebody has written, word for word” without asking me",
        "I always like <b>everything</b> but tea",
        "My password is hunter2hunter2",
        "Remember that",
        "",
    ],
)
def test_nothing_else_is(request_: str) -> None:
    assert spoken(request_) == []


def test_several_things_are_proposed_in_the_order_they_were_said() -> None:
    texts = [one.text for one in spoken("I prefer tea. My dog is old.\nNever wake me up")]
    assert texts == ["I prefer tea", "My dog is old", "Never wake me up"]
