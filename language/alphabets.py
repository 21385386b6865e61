"""Letters of a language beside those of ASCII: what people write shows which letters are their own."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_ALPHABETS = tuple(
    map(
        frozenset,
        (
            "äöüß",
            "àâæçéèêëîïôœùûüÿ",
            "áéíñóúü",
            "àèéìîòóù",
            "ãáâàçéêíóôõú",
            "áéíïóöúü",
            "åäö",
            "æøå",
            "ąćęłńóśźż",
            "áčďéěíňóřšťúůýž",
            "áéíóöőúüű",
            "ăâîșț",
            "çğöşü",
        ),
    )
)
_WORD = re.compile(r"[^\W\d_]+")
# Letters of other scripts that are drawn as Latin ones (unicode.org/reports/tr39, confusables).
ALIKE = frozenset("аеорсухіјѕԁӏһԛԝАВЕКМНОРСТУХІЈЅҮορνικυαΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")


@dataclass(frozen=True)
class OwnLetters:
    """The letters that somebody writes with, beside those of ASCII."""

    latin: frozenset[str] = frozenset()
    """Latin letters with marks, in small ones."""
    scripts: frozenset[str] = frozenset()
    """Other scripts, as Unicode names them, as `CYRILLIC`."""

    def strange_in(self, word: str, *, place: bool) -> list[str]:
        """List the letters of a word that are not of that language: those of a word of two scripts, all.

        An address, a host or a path is a `place`: there a word whose letters all pass for Latin ones is strange.
        """
        foreign = [letter for letter in word if not letter.isascii()]
        if all(_script(letter) == "LATIN" for letter in foreign):
            return [letter for letter in foreign if letter.lower() not in self.latin]
        own = len(foreign) == len(word) and self.scripts.issuperset(map(_script, foreign))
        return foreign if not own or (place and ALIKE.issuperset(word)) else []


def letters_of(text: str) -> OwnLetters:
    """Read from somebody's own words which letters are theirs; places in them show nothing.

    With some letters of an alphabet come those that all alphabets have which hold them all. A script is
    theirs where a word is written in it that could not pass for a Latin one.
    """
    words = _WORD.findall(" ".join(part for part in text.split() if not _is_place(part)))
    foreign = {letter.lower() for word in words for letter in word if not letter.isascii()}
    latin = frozenset(letter for letter in foreign if _script(letter) == "LATIN")
    fitting = [alphabet for alphabet in _ALPHABETS if latin and latin <= alphabet]
    other = (word for word in words if not any(c.isascii() for c in word) and not ALIKE.issuperset(word))
    scripts = frozenset(script for word in other for script in map(_script, word)) - {"LATIN"}
    return OwnLetters(frozenset.intersection(*fitting) if fitting else latin, scripts)


def _is_place(part: str) -> bool:
    """Say whether a part of a text without spaces is an address, a host or a path."""
    return any(mark in part for mark in "@/\\:") or "." in part[1:-1]


def _script(letter: str) -> str:
    """Name the script of a letter, as its name begins; "" for one without a name."""
    return unicodedata.name(letter, "").partition(" ")[0]
