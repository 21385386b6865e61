"""`[people]`: each with an identity and a name of their own, and a provider that is whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planwright.domain.errors import SetupError
from planwright.security.credentials import Caller
from planwright.security.people import read_people
from planwright.settings.settings import load

ADA = {"identity": "Ada@Example.com", "name": "Ada", "rights": ["approve"]}
BEN = {"identity": "ben@example.com", "rights": ["request", "operate"], "tenant": "acme"}
PROVIDER = {"issuer": "https://login.example.com", "client_id": "planwright"}


def test_people_are_found_by_their_claim(tmp_path: Path) -> None:
    people = read_people(load(tmp_path, people={"ada": ADA, "ben": BEN}, sign_in=PROVIDER))
    assert people.caller(" ada@example.COM") == Caller("Ada", "default", frozenset(("approve",)))
    assert people.caller("ben@example.com") == Caller(
        "ben@example.com", "acme", frozenset(("request", "operate"))
    )
    assert people.caller("eve@example.com") is None
    assert {caller.person for caller in people.callers()} == {"Ada", "ben@example.com"}


@pytest.mark.parametrize(
    ("known", "comes"),
    [
        ("ada@strasse.example", "ada@straße.example"),
        ("kim@kelvin.example", "kim@\u212aelvin.example"),
        ("office@firm.example", "o\ufb03ce@firm.example"),
        ("ada@groß.example", "ada@GRO\u1e9e.example"),
        ("ada@example.com", "\u2003ada@example.com"),
    ],
)
def test_an_address_that_looks_alike_or_folds_onto_another_is_a_strangers(
    tmp_path: Path, known: str, comes: str
) -> None:
    for mine, theirs in ((known, comes), (comes, known)):
        people = read_people(load(tmp_path, people={"ada": {**ADA, "identity": mine}}, sign_in=PROVIDER))
        assert people.caller(theirs) is None


def test_a_subject_is_compared_letter_by_letter(tmp_path: Path) -> None:
    people = {"ada": {**ADA, "identity": "Ab7"}}
    known = read_people(load(tmp_path, people=people, sign_in={**PROVIDER, "claim": "sub"}))
    assert known.caller("Ab7")
    assert known.caller("ab7") is None


@pytest.mark.parametrize(
    ("people", "sign_in", "cause"),
    [
        ({"ada": ADA, "too": {**BEN, "identity": "ada@example.com"}}, PROVIDER, "identity of another"),
        ({"ada": ADA, "too": {**ADA, "identity": "x@example.com"}}, PROVIDER, "signs decisions as another"),
        ({"ada": ADA}, {}, "can sign in nowhere"),
        ({}, PROVIDER, "without people"),
        ({"ada": ADA}, {"issuer": "https://login.example.com"}, "without a client_id"),
    ],
)
def test_what_would_mix_people_up_is_refused(
    tmp_path: Path, people: dict[str, Any], sign_in: dict[str, Any], cause: str
) -> None:
    with pytest.raises(SetupError, match=cause):
        read_people(load(tmp_path, people=people, sign_in=sign_in))


@pytest.mark.parametrize(
    "tables",
    [
        {"people": {"ada": {**ADA, "rights": []}}},
        {"people": {"ada": {**ADA, "rights": ["decide"]}}},
        {"people": {"ada": {**ADA, "identity": ""}}},
        {"sign_in": {"issuer": "http://login.example.com"}},
        {"sign_in": {"issuer": "https://ada@login.example.com"}},
        {"sign_in": {"issuer": "https://login.example.com?x=1"}},
        {"sign_in": {"claim": "preferred_username"}},
    ],
)
def test_settings_that_say_nothing_clear_are_refused(tmp_path: Path, tables: dict[str, Any]) -> None:
    with pytest.raises(SetupError):
        load(tmp_path, **tables)
