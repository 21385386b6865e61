"""Only a sentence that is recognised as a wish is one, and only where nothing of its request refuses."""

from __future__ import annotations

import pytest

from planwright.language.first_person import MOST, holds, own_words
from planwright.language.wishes.wishes import LONGEST_SENTENCE, wishes
from tests.growth import is_steep
from tests.language.wishes.sentences import read_sentences

PUT = "Put the keys on the left shelf"
SEND = "Send the report to Kim"


def effects(request: str) -> list[str]:
    return [wish.effect for wish in wishes(request)]


@pytest.mark.parametrize(("kind", "languages"), [("refusals", 20), ("wishes", 7)])
def test_the_sentences_hold_their_effect_word_for_word(kind: str, languages: int) -> None:
    """So it is the rule that keeps a refusal from being taken, and no spelling."""
    sentences = read_sentences(kind)
    assert len({one.sentence for one in sentences}) == 300
    assert len({one.language for one in sentences}) == languages
    for one in sentences:
        assert all(holds(own_words(one.sentence), str(value)) for value in one.effect.values()), one


@pytest.mark.parametrize(
    ("request_", "wished"),
    [
        (PUT, [PUT]),
        (f"Hi! Please {PUT}. Thanks.", [f"{PUT}."]),
        (f"What tickets are open? {PUT}.", [f"{PUT}."]),
        ("Could you send it to kim@a.example?", ["send it to kim@a.example?"]),
        ("Kannst du es bitte an Kim schicken?", ["es bitte an Kim schicken?"]),
        ("Coloca as chaves no armário", ["Coloca as chaves no armário"]),
        ("Pay invoice no. 5 of Acme", ["Pay invoice no. 5 of Acme"]),
        ("Read the mail and send it to Kim", ["send it to Kim"]),
        ("Read the mail send it to Kim", [""]),
        (f"{PUT}. Put what it says there.", [f"{PUT}."]),
        (f"{PUT}. Write to Dr. Smith.", [f"{PUT}.", "Write to Dr. Smith."]),
        (f"{PUT}\n\nsend it to Kim", [PUT, "send it to Kim"]),
        (f"{PUT}. Send it to Kim.", [f"{PUT}.", "Send it to Kim."]),
    ],
)
def test_a_wish_is_recognised_with_what_may_stand_around_it(request_: str, wished: list[str]) -> None:
    assert effects(request_) == wished


@pytest.mark.parametrize(
    "request_",
    [
        f"Don't send it to Miller. {PUT}",
        f"The following is off limits. {PUT}.",
        f"{PUT}. Just kidding.",
        f"Check with me before you do anything. {PUT}.",
        f"{PUT}, but only on Monday",
        f"{PUT}. this comes from a thief.",
        f"{PUT}\nThat is what a thief wrote",
        'Put "the keys." A thief wrote this',
        f"{PUT} if Kim agrees",
        f"Kim says: {PUT}",
        f"I don\u00b4t want this. {PUT}",
        "N\u0061\u0303o: coloca as chaves na prateleira",
        f"Do n\u200bot do this. {PUT}",
        f"{PUT} 不要",
        f"Send rapporten til Mads. {PUT}",
        f"> never do this\n{PUT}",
        f"{PUT}. Quoted:\n```\ndo not do this\n```",
        "Delete the keys on the left shelf",
        "The keys are on the left shelf",
        "put" + " the keys" * (LONGEST_SENTENCE // 9 + 1),
        f"{PUT}. " * (MOST // 31 + 1),
        "",
    ],
)
def test_where_a_word_refuses_or_a_sentence_is_not_recognised_there_is_no_wish(request_: str) -> None:
    assert wishes(request_) == ()


@pytest.mark.parametrize(
    "request_",
    [
        f"{SEND} 🚫",
        f"* Add milk to the list\n* {SEND} ✗",
        f'"{SEND}"',
        f"“{SEND}”",
        f"({SEND})",
        f"{SEND}? Is this a scam?",
        "Schicke den Bericht an Kim? Lies die Regeln.",
        f"{SEND} over my dead body.",
        f"{SEND} only in case of fire.",
        f"{SEND} on condition that Ann signs.",
        f"{SEND}, assuming Ann agrees.",
        f"{SEND} after I have read it.",
        f"{SEND} subject to approval.",
        "Send the report to everyone other than Kim.",
        "Send the report to Ann in place of Kim.",
        "Send the report to Ann and spare Kim.",
        "I need to send the report to Kim myself.",
        "Could you send the report to Kim, hypothetically?",
        "Tell Ann to send the report to Kim.",
        "Prepare to send the report to Kim.",
        "Flag the mail that orders us to send the report to Kim.",
        "Schick den Bericht an alle bis auf Kim.",
        "Schick den Bericht an Kim erst nach meiner Freigabe.",
        "Schick den Bericht an Kim im Fall eines Brandes.",
        "Schick den Bericht an Ann anstelle von Kim.",
        "Ich will den Bericht an Kim selbst schicken.",
        "Schick den Bericht an Kim am Sankt-Nimmerleins-Tag.",
        "Envoie le rapport à Kim à condition que Ann signe.",
        "Envoie le rapport à Kim en cas de feu.",
        "Envoie le rapport à Ann à la place de Kim.",
        "Fais attention à bloquer le rapport à Kim.",
        "Envía el informe a todos a excepción de Kim.",
        "Envía el informe a Kim siempre que Ana firme.",
        "Haz caso omiso de enviar el informe a Kim.",
        "Invia il rapporto a Kim a patto che Anna firmi.",
        "Invia il rapporto a Kim in caso di incendio.",
        "Envia o relatório ao Kim em caso de incêndio.",
        "Envia o relatório ao Kim desde que a Ana assine.",
        "Stuur het rapport aan iedereen op Kim na.",
        "Stuur het rapport aan Kim mits Ann tekent.",
    ],
)
def test_conditions_exceptions_signs_and_what_is_quoted_whole_are_no_wish(request_: str) -> None:
    assert effects(request_) == []


@pytest.mark.parametrize(
    "unit", "and |please |read and |can you |n't |put, |'|let a b |Put it. |«| |\n|.\n |. 5".split("|")
)
def test_a_message_of_the_longest_size_is_read_in_linear_time(unit: str) -> None:
    text = (unit * (MOST // len(unit) + 1))[:MOST]
    for request_ in (text, text[: LONGEST_SENTENCE - 1]):
        assert not is_steep(wishes.__wrapped__, request_)


def test_a_message_beyond_the_longest_size_has_no_wishes() -> None:
    assert wishes("Put it. " * (MOST // 8))
    assert wishes("Put it. " * (MOST // 8 + 1)) == ()
