"""2,000 pairs of names that a reader or a careless program takes for one, and whoever compares names here.

The pairs are made from Unicode's own tables: letters of other scripts that are drawn alike, full case
folding, the four normalization forms, letters that are not shown, other spaces, and dots at the end. What
lets something pass is asked both ways round; A to Z alone are the same in capitals.
"""

from __future__ import annotations

import sys
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, zip_longest
from pathlib import Path

from planwright.approvals.origins import REQUEST, value_origins
from planwright.capabilities.policy.decide import on_egress_list
from planwright.capabilities.policy.file import Match
from planwright.domain.errors import GateError
from planwright.language.first_person import holds, says
from planwright.language.wishes.wishes import wishes
from planwright.records.consent.approval_scope import ArgumentRule
from planwright.records.consent.approvers import check_approver
from planwright.security.credentials import Caller
from planwright.security.people import People, identity_key
from planwright.settings.egress import on_list, read_host_port
from planwright.settings.profile import stands_for

MANY = 2_000
LETTERS = Path(__file__).with_name("confusables.txt")
NAMES = (
    *("ada@strasse.example", "kim@bank.example", "office@fisk.example", "rené.müller@acme.example"),
    *("Kim Lister", "Åsa Öberg", "oskar fischer", "api.bank.example", "ssl.office.example"),
    *("tickets.close", "mail.send", "bank.pay", "reports/final.md", "notes/office.md"),
)
UNSEEN = "\u00ad\u034f\u061c\u115f\u180e\u200b\u200c\u200d\u200e\u200f\u202e\u2060\u2066\u2069\ufe0f\ufeff"
SPACES = "\u00a0\u2002\u2003\u2007\u2009\u202f\u205f\u3000\u0085\u2028\u001f"
DOTS = (".", "..", "\uff0e", "\u3002", "\u2024", "\uff61")


@dataclass(frozen=True)
class Pair:
    """Two names that are not the same, and how the second is made of the first."""

    how: str
    name: str
    other: str


def pairs(many: int = MANY) -> list[Pair]:
    """Make pairs, as many of each way as there are, in turn."""
    ways = [list(way) for way in (_drawn(), _folded(), _normalized(), _unseen(), _spaced(), _dotted())]
    mixed = (pair for row in zip_longest(*ways) for pair in row if pair and pair.name != pair.other)
    return list(islice(dict.fromkeys(mixed), many))


@cache
def _alike() -> Mapping[str, Sequence[str]]:
    rows = (line.split("\t") for line in LETTERS.read_text("utf-8").splitlines() if line[:2] != "# ")
    return {letter: [chr(int(point, 16)) for point in points.split()] for letter, points in rows}


def _drawn() -> Iterator[Pair]:
    """Put letters of other scripts in the place of each letter, one at a time and all at once."""
    for turn in range(60):
        for name in NAMES:
            place = (turn * 7) % len(name)
            if others := _alike().get(name[place]):
                other = others[turn % len(others)]
                yield Pair("drawn alike", name, name[:place] + other + name[place + 1 :])
            yield Pair("mixed scripts", name, "".join(_other(letter, turn) for letter in name))


def _other(letter: str, turn: int) -> str:
    others = _alike().get(letter, ())
    return others[turn % len(others)] if others else letter


@cache
def _same_when(folded: Callable[[str], str]) -> Mapping[str, Sequence[str]]:
    """List the letters outside ASCII that some way of folding makes a text of ASCII of."""
    found = defaultdict[str, list[str]](list)
    for letter in map(chr, range(128, sys.maxunicode + 1)):
        if (plain := folded(letter)).isascii() and plain.strip():
            found[plain.lower()].append(letter)
    return found


def _compatible(letter: str) -> str:
    return unicodedata.normalize("NFKC", letter)


def _folded() -> Iterator[Pair]:
    """Write as one letter what that folds to: `ß`, `ﬃ`, the Kelvin sign, letters of mathematics."""
    for how, fold in (("case folding", str.casefold), ("lower case", str.lower), ("NFKC", _compatible)):
        for plain, letters in _same_when(fold).items():
            for name in (name for name in NAMES if plain in name.lower()):
                place = name.lower().index(plain)
                for letter in letters[:6]:
                    yield Pair(how, name, name[:place] + letter + name[place + len(plain) :])
    for name in NAMES:
        for letter in "\u0130\u0131":
            yield Pair("the other i", name, name.replace("i", letter))


def _normalized() -> Iterator[Pair]:
    for name in (*NAMES, "Ångström", "한국.example", "e\u0301lan@acme.example", "\u212bsa@acme.example"):
        for form in ("NFC", "NFD", "NFKC", "NFKD"):
            yield Pair(form, name, unicodedata.normalize(form, name))
        yield Pair("a mark more", name, f"{name}\u0301")
        yield Pair("a mark more", name, f"{name[:3]}\u0323{name[3:]}")


def _unseen() -> Iterator[Pair]:
    for letter in UNSEEN:
        for name in NAMES:
            for place in (0, len(name) // 2, len(name)):
                yield Pair("a letter that is not shown", name, name[:place] + letter + name[place:])


def _spaced() -> Iterator[Pair]:
    for space in SPACES:
        for name in NAMES:
            if " " in name:
                yield Pair("another space", name, name.replace(" ", space))


def _dotted() -> Iterator[Pair]:
    for dots in DOTS:
        for name in NAMES:
            if not (dots.isascii() and " " in name):  # several words are a text, whose dot ends it
                yield Pair("a dot at the end", name, name + dots)
            if "." in name and not dots.isascii():
                yield Pair("another dot", name, name.replace(".", dots))


def _signs_in(name: str, other: str) -> bool:
    known = Caller("ada")
    return any(People({identity_key(name, claim): known}, claim).caller(other) for claim in ("email", "sub"))


def _approves(name: str, other: str) -> bool:
    try:
        check_approver("gate_1", [name], other, "web")
    except GateError:
        return False
    return True


def _is_own_word(name: str, other: str) -> bool:
    return any(holds(wish.effect, other) for wish in wishes(f"Please send it to {name} today"))


def _is_own_sentence(name: str, other: str) -> bool:
    return says(f"I write to {name} today", f"I write to {other} today")


def _is_listed(name: str, other: str) -> bool:
    if read_host_port(name) is None:  # it could not be listed
        return False
    place = read_host_port(other)
    return on_egress_list(other, [name]) or (place is not None and on_list(place.host, place.port, [name]))


def _is_of_tenant(name: str, other: str) -> bool:
    return Match(tenant=(name,)).of_tenant(other)


def _is_the_capability(name: str, other: str) -> bool:
    return stands_for(name, other) or Match(capability=(name,)).declared(other, "network", None)


def _fits_a_rule(name: str, other: str) -> bool:
    return ArgumentRule(equals=name).fits(other) or ArgumentRule(glob=name).fits(other)


def _comes_from_the_request(name: str, other: str) -> bool:
    words = f"Please send it to {name} today"
    return value_origins({"to": other}, words, []) == {"to": REQUEST}


COMPARISONS: Mapping[str, Callable[[str, str], bool]] = {
    "sign-in": _signs_in,
    "approvers": _approves,
    "own words": _is_own_word,
    "own sentences": _is_own_sentence,
    "origins on a card": _comes_from_the_request,
    "hosts": _is_listed,
    "tenants": _is_of_tenant,
    "capability names": _is_the_capability,
    "remembered approvals": _fits_a_rule,
}
"""Whoever lets something pass because one name is another, by what it compares."""


def equal(all_pairs: Sequence[Pair]) -> Iterator[tuple[str, Pair]]:
    """List what is taken for one, with who does.

    Where a user writes a name and a dot, the dot ends their sentence: that is asked one way round only.
    """
    for pair in all_pairs:
        for what, same in COMPARISONS.items():
            ends = what in ("own words", "origins on a card") and pair.how == "a dot at the end"
            if same(pair.name, pair.other) or (not ends and same(pair.other, pair.name)):
                yield what, pair
