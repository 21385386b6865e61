"""The wishes of a user: sentences that are recognised as one, in seven languages; everything else is none.

A list of ways to say no is never complete, so it is no guard of its own. A request has wishes only where all
of its sentences are recognised, as a wish, a plain question or a greeting, and where no word of it refuses:
"The following is off limits. Send it" has none.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from planwright.language.first_person import GAP, MOST, OTHER_SCRIPT, own_words

LONGEST_SENTENCE = 2_000
OTHER = "other"  # the table of words of languages that no wish is recognised in
# Where it is open whether a sentence ends, it does: what is cut off has to be recognised, too.
_END = re.compile(
    r"\n|(?:(?<=[.!?…])|(?<=[.!?…][\"'”’»)]))(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bMrs\.)(?<!\bProf\.)\s+(?![\s\d])"
)
_GAPS = re.compile(rf"[\s.,;:!?-]|{re.escape(GAP)}")
_SPACE = r"[\s,]+"
_BETWEEN = r"(?:[\s,:;.!…–—-]+|$)"
_APOSTROPHES = str.maketrans("’‘`´ʼ＇", "''''''")
_CROSSES = re.compile("[❌❎✖✗✘✕☒⛔✋🚫🛑👎🙅🙈]")  # signs that refuse
_LETTER = re.compile(r"\w")
_LAST_WORD = re.compile(r"(\w+)\W*$")


@dataclass(frozen=True)
class Wish:
    """A sentence that wishes, in the user's own spelling."""

    sentence: str
    """All of it from its verb on."""
    effect: str
    """What of it wishes that something is changed; "" where it only looks."""


@dataclass(frozen=True)
class _Language:
    """What sentences of a language are recognised by."""

    opening: re.Pattern[str]
    """What may stand before the verb, as often as it likes."""
    acting: re.Pattern[str]
    """Verbs that change something."""
    looking: re.Pattern[str]
    """Verbs that only look."""
    joins: re.Pattern[str]
    """What begins another part of a sentence."""
    asking: re.Pattern[str]
    """What a question begins with that turns no wish around."""
    doubts: re.Pattern[str]
    """Words of sentences that are no plain wish."""
    harmless: re.Pattern[str]
    """Refusals of another language that are none in this one."""
    verb_last: bool
    """Whether the verb may be the last word, after an opening."""


@dataclass(frozen=True)
class _Reading:
    """What a sentence is in one language."""

    wish: Wish
    """What it wishes; empty for a greeting or a plain question."""
    doubted: bool
    """Whether a word of it makes it no plain wish."""


_NO_WISH = Wish("", "")


@lru_cache(maxsize=64)
def wishes(request: str) -> tuple[Wish, ...]:
    """List what a user wishes in a message; nothing where a word refuses, or a sentence is not recognised."""
    if len(request) > MOST:
        return ()
    wished: list[Wish] = []
    spoken: set[str] = set()
    for sentence in map(str.strip, _END.split(own_words(request))):
        if not _GAPS.sub("", sentence):
            continue
        if len(sentence) > LONGEST_SENTENCE or not (read := _read(sentence)):
            return ()
        names, wish = read
        spoken |= names
        if GAP not in sentence:
            wished.append(wish)
    return () if _refuses(request, spoken) else tuple(wish for wish in wished if wish.sentence)


def _read(sentence: str) -> tuple[set[str], Wish] | None:
    """Read a sentence in the languages that most of its small words are of; None where one doubts."""
    plain = _without_accents(sentence)
    sizes = {name: len(set(little.findall(plain))) for name, little in _little_words().items()}
    most = max(sizes.values())
    spoken = {name for name, size in sizes.items() if size == most}
    readings = {name: _reading(sentence, plain, _languages()[name]) for name in spoken - {OTHER}}
    known = {name: reading for name, reading in readings.items() if reading}
    if not known or (OTHER in spoken and most):
        return None
    if doubted := [reading for reading in known.values() if reading.doubted]:
        acts = all(reading.wish.effect == reading.wish.sentence != "" for reading in doubted)
        return (set(known), _NO_WISH) if acts else None  # "Put it there if …" turns no other sentence round
    return set(known), known[min(known)].wish


def _reading(sentence: str, plain: str, language: _Language) -> _Reading | None:
    """Read a sentence in one language: a wish, a plain question, a greeting; None for all else."""
    start = _end(language.opening, plain, 0)
    if start == len(plain):
        return _Reading(_NO_WISH, doubted=False)
    if plain.endswith("?") and (asks := language.asking.match(plain, start)):
        return _Reading(_NO_WISH, language.doubts.search(plain, asks.end()) is not None)
    bare_question = plain.endswith("?") and not _LETTER.search(plain, 0, start)  # "Send it to Kim?"
    acts = None if bare_question or OTHER_SCRIPT.search(sentence) else _acts(plain, start, language)
    if acts is None:
        return None
    wish = Wish(sentence[start:], sentence[acts:])
    return _Reading(wish, language.doubts.search(plain, start) is not None)


def _acts(plain: str, start: int, language: _Language) -> int | None:
    """Find where a wish begins to act, at its end where it only looks; None where it is no wish."""
    if language.acting.match(plain, start):
        return start
    if language.looking.match(plain, start):
        joined = (_end(language.opening, plain, join.end()) for join in language.joins.finditer(plain, start))
        return next((at for at in joined if language.acting.match(plain, at)), len(plain))
    last = _LAST_WORD.search(plain) if language.verb_last and start else None
    if last and language.acting.fullmatch(last[1]):
        return start
    return len(plain) if last and language.looking.fullmatch(last[1]) else None


def _refuses(request: str, spoken: set[str]) -> bool:
    """Say whether a word or a sign anywhere in a request refuses, in whatever language."""
    composed = unicodedata.normalize("NFKC", request.translate(_APOSTROPHES))
    visible = "".join(c for c in composed if unicodedata.category(c) not in ("Cf", "Mn"))
    if _CROSSES.search(visible):
        return True
    plain = _without_accents(visible)
    harmless = [_languages()[name].harmless for name in spoken]
    words = (word[0] for word in _refusals().finditer(plain))
    return any(not any(known.fullmatch(word) for known in harmless) for word in words)


def _without_accents(text: str) -> str:
    """Spell a text in small letters without accents, letter by letter, so that places stay."""
    plain = "".join(unicodedata.normalize("NFD", c)[0] for c in text.translate(_APOSTROPHES))
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in plain)


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return match.end() if match else start


@cache
def _languages() -> Mapping[str, _Language]:
    return {name: _language(table) for name, table in _tables().items() if name != OTHER}


def _language(table: Mapping[str, str]) -> _Language:
    verb = rf"{table.get('clitics', '')}(?![\w-])"
    return _Language(
        opening=re.compile(rf"[\s¿¡*-]*(?:{_any(table['opening'])}(?:(?<=')|{_BETWEEN}))*"),
        acting=re.compile(_any(table["acting"]) + verb),
        looking=re.compile(_any(table["looking"]) + verb),
        joins=re.compile(rf"[\s,;]{_any(table['joins'])}(?=\s)"),
        asking=re.compile(rf"{_any(table['asking'])}\b"),
        doubts=re.compile(rf"\b{_any(table['doubts'])}\b"),
        harmless=re.compile(_any(table["harmless"])),
        verb_last=bool(table.get("verb_last")),
    )


@cache
def _little_words() -> Mapping[str, re.Pattern[str]]:
    return {name: re.compile(rf"\b{_any(table['little'])}\b") for name, table in _tables().items()}


@cache
def _refusals() -> re.Pattern[str]:
    words = ",".join(table["refusals"] for table in _tables().values())
    return re.compile(rf"(?:\b|(?=n't)){_any(words)}(?!\w)")


@cache
def _tables() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))


def _any(words: str) -> str:
    """Write words between commas as one pattern; the longest of them counts."""
    parts = sorted((part.strip() for part in words.split(",")), key=len, reverse=True)
    return rf"(?:{'|'.join(part.replace(' ', _SPACE) for part in parts if part)})"
