"""What a person says of effects in doubt: matched to each of them, or refused."""

from __future__ import annotations

import pytest

from planwright.domain.doubt import (
    Doubt,
    EffectAnswer,
    check_denied,
    every_one,
    read_result,
    recorded_answers,
)
from planwright.domain.errors import GateError


def doubt(key: str, **more: str) -> Doubt:
    told = {"uid": f"step_{key}", "step_id": key, "capability": "mail.send", "why": "no answer"}
    return Doubt(key=key * 32, args={"to": "jo"}, sent_at="2026-11-22T06:00:00+00:00", **{**told, **more})


def answer(key: str, happened: bool = True) -> EffectAnswer:
    return EffectAnswer(key=key, happened=happened)


DOUBTS = [doubt("ab"), doubt("ac")]


@pytest.mark.parametrize("key", ["abab", "ABABab", "abababababab…", "ab" * 32])
def test_a_key_may_be_shortened_as_it_is_shown(key: str) -> None:
    settled = every_one(DOUBTS, [answer("acac", happened=False), answer(key)], "how")
    assert [(one.key, one.happened) for one in settled] == [("ab" * 32, True), ("ac" * 32, False)]


def test_a_key_that_fits_several_is_refused() -> None:
    alike = [doubt("ab"), Doubt(**{**DOUBTS[0].model_dump(), "key": "abab" + "0" * 60})]
    with pytest.raises(GateError, match="fits several effects"):
        every_one(alike, [answer("abab"), answer("abab0")], "how")


def test_the_effects_that_are_left_out_are_named_with_the_command() -> None:
    with pytest.raises(GateError, match=r"mail\.send \(key acacacacacac\)") as refused:
        every_one(DOUBTS, [answer("abab")], "say it so")
    assert refused.value.next_step == "say it so"


@pytest.mark.parametrize(
    ("word", "reason", "happened", "result"),
    [
        ("approve", "", False, None),
        ("respond", "it arrived", True, {"text": "it arrived"}),
        ("respond", '{"id": 3}', True, {"id": 3}),
    ],
)
def test_a_single_effect_is_decided_by_a_word(word: str, reason: str, happened: bool, result: object) -> None:
    (settled,) = recorded_answers(DOUBTS[:1], word, reason, (), "how")
    assert (settled.happened, settled.result) == (happened, result)


def test_a_rejection_decides_nothing() -> None:
    assert recorded_answers(DOUBTS, "reject", "", (), "how") == ()


def test_effects_are_not_decided_where_none_is_in_doubt() -> None:
    with pytest.raises(GateError, match="no effect is in doubt"):
        recorded_answers([], "respond", "", [answer("abab")], "how")


def test_what_may_still_be_sent_cannot_be_said_not_to_have_happened() -> None:
    check_denied(DOUBTS)
    with pytest.raises(GateError, match=r"may still be sent: mail\.send .* by process 4711"):
        check_denied([*DOUBTS, doubt("ad", still_sent_by="process 4711")])


def test_a_result_is_an_object_or_a_list_of_json_or_words() -> None:
    assert [read_result(said) for said in ('{"id": 3}', "[1]", "seen", "3")] == [
        {"id": 3},
        [1],
        {"text": "seen"},
        {"text": "3"},
    ]


@pytest.mark.parametrize(
    "words",
    [
        "it did not happen",
        "No",
        "It hasn't",
        "didnt happen",
        "isn`t there",
        "did_not_happen",
        "NOT_SENT",
        "nein",
    ]
    + ["it bounced", "it was rejected", "the server refused it", "nobody got it", "never"],
)
def test_words_that_say_no_are_no_result(words: str) -> None:
    with pytest.raises(GateError, match="would be written down as what") as refused:
        recorded_answers(DOUBTS[:1], "respond", words, (), "how")
    assert refused.value.next_step == "how"


@pytest.mark.parametrize(
    "words", ["sent, message no. 55", "Order No 17", '{"failed": 0}', "Knot", "sent at noon"]
)
def test_other_words_are_a_result(words: str) -> None:
    (settled,) = recorded_answers(DOUBTS[:1], "respond", words, (), "how")
    assert settled.happened
