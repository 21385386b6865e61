"""Who is another person, and who is the same one again."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import JsonValue

from planwright.domain.errors import GateError
from planwright.domain.verified_step import StepGate
from planwright.records.consent.approvers import (
    Approval,
    any_one_may,
    check_approvals,
    check_person,
    check_requester,
    requester_of,
    with_requester,
)

KIM = Approval(by="Kim Öz", channel="cli", at=datetime(2026, 1, 1, tzinfo=UTC))
TWO = StepGate(name="release", quorum=2)
OTHERS = StepGate(name="release", exclude_requester=True)


@pytest.mark.parametrize(
    "name",
    [
        "kim öz",
        " Kim Öz ",
        "Kim  Öz",
        "Kim\u200b Öz",  # zero width space
        "Kim\u00ad Öz",  # soft hyphen
        "Kim\u3164 Öz",  # Hangul filler
        "Kim\ufe0f Öz",  # variation selector
        "Kim\u034f Öz",  # grapheme joiner
        "Kim Öz",
        "Ｋｉｍ Öz",
        "Kim\u202e Öz",  # turns letters round
        "Kim\u2065 Öz",  # not given to any letter yet, and not shown
        "Kim\tÖz",
    ],
)
def test_a_person_is_not_two_by_letters_that_nobody_sees(name: str) -> None:
    with pytest.raises(GateError, match="has approved gate gate_1 already"):
        check_person("gate_1", [KIM], name, "cli", 2)
    other = KIM.model_copy(update={"by": name})
    with pytest.raises(GateError, match="somebody else"):
        check_approvals("gate_1", [KIM, other], TWO, {})


@pytest.mark.parametrize("name", ["Kim Oz", "Tim Öz", "Kim", "कि", "कु"])
def test_another_name_is_another_person(name: str) -> None:
    check_person("gate_1", [KIM], name, "cli", 2)
    check_approvals("gate_1", [KIM, KIM.model_copy(update={"by": name})], TWO, {})


def test_names_that_differ_in_a_vowel_sign_are_two() -> None:
    first, second = (KIM.model_copy(update={"by": name}) for name in ("कि", "कु"))
    check_approvals("gate_1", [first, second], TWO, {})


@pytest.mark.parametrize("name", ["", "cli", "CLI", "cli ", "\u200b", "c\u200bli"])
def test_the_name_of_a_door_is_no_person(name: str) -> None:
    with pytest.raises(GateError, match="does not say whose it is"):
        check_person("gate_1", [KIM], name, "cli", 2)


Card = dict[str, JsonValue]


def asked_by(name: str) -> Card:
    """Make a card that is not for who asked."""
    return {"policy": {"exclude_requester": True, "requester": name}}


@pytest.mark.parametrize("name", ["Kim Öz", "kim öz", "Kim\u200b Öz", "Ｋｉｍ Öz"])
def test_who_asked_does_not_approve_by_any_spelling_of_the_name(name: str) -> None:
    with pytest.raises(GateError, match="is not for who asked, Kim Öz, to approve") as refused:
        check_requester("gate_1", "Kim Öz", name, "cli")
    assert "planwright approve gate_1" in refused.value.next_step
    given = KIM.model_copy(update={"by": name})
    with pytest.raises(GateError, match="is not for who asked"):
        check_approvals("gate_1", [given], OTHERS, asked_by("Kim Öz"))


@pytest.mark.parametrize("name", [None, "", "cli", "CLI", "c\u200bli"])
def test_whoever_does_not_say_who_they_are_may_have_asked(name: str | None) -> None:
    with pytest.raises(GateError, match="does not say whose it is"):
        check_requester("gate_1", "Ada", name, "cli")


@pytest.mark.parametrize("name", [None, "", "cli", "Ada"])
@pytest.mark.parametrize("requester", ["", " ", "\u200b"])
def test_where_nobody_knows_who_asked_nobody_is_known_to_be_another(requester: str, name: str | None) -> None:
    with pytest.raises(GateError, match="nobody knows who asked") as refused:
        check_requester("gate_1", requester, name, "cli")
    assert "requested_by" in refused.value.next_step


def test_somebody_else_approves_and_where_nobody_is_excluded_all_do() -> None:
    check_requester("gate_1", "Ada", "Kim", "cli")
    check_requester("gate_1", None, "cli", "cli")
    check_approvals("gate_1", [KIM], OTHERS, asked_by("Ada"))


def test_a_gate_that_was_open_to_who_asked_does_not_count_where_it_may_not_be() -> None:
    with pytest.raises(GateError, match="was open to who asked"):
        check_approvals("gate_1", [KIM], OTHERS, {"policy": {"approvers": []}})


def test_a_card_says_who_asked_only_where_that_person_may_not_approve() -> None:
    closed: Card = {"policy": {"exclude_requester": True}}
    open_: Card = {"policy": {"exclude_requester": False}}
    several: Card = {"policy": {"quorum": 2}}
    assert requester_of(with_requester(closed, "Ada")) == "Ada"
    assert requester_of(closed) == ""
    assert with_requester(open_, "Ada") == open_
    assert [any_one_may(card) for card in (closed, open_, {}, several)] == [False, True, True, False]
