"""Who is another person, and who is the same one again."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from planwright.checkpoints.consent.approvers import Approval, check_approvals, check_person
from planwright.domain.errors import GateError

KIM = Approval(by="Kim Öz", channel="cli", at=datetime(2026, 1, 1, tzinfo=UTC))


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
        check_approvals("gate_1", [KIM, other], (), 2)


@pytest.mark.parametrize("name", ["Kim Oz", "Tim Öz", "Kim", "कि", "कु"])
def test_another_name_is_another_person(name: str) -> None:
    check_person("gate_1", [KIM], name, "cli", 2)
    check_approvals("gate_1", [KIM, KIM.model_copy(update={"by": name})], (), 2)


def test_names_that_differ_in_a_vowel_sign_are_two() -> None:
    first, second = (KIM.model_copy(update={"by": name}) for name in ("कि", "कु"))
    check_approvals("gate_1", [first, second], (), 2)


@pytest.mark.parametrize("name", ["", "cli", "CLI", "cli ", "\u200b", "c\u200bli"])
def test_the_name_of_a_door_is_no_person(name: str) -> None:
    with pytest.raises(GateError, match="does not say whose it is"):
        check_person("gate_1", [KIM], name, "cli", 2)
