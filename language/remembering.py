"""The embedded planner looks for what to remember: only what a user says outright, in English."""

from __future__ import annotations

import re

from planwright.domain.memory_proposal import Candidate
from planwright.language.first_person import may_be_kept, own_words

_NO_END = "".join(
    rf"(?<!\b{short}\.)" for short in ("Dr", "Mr", "Mrs", "Ms", "St", "No", "e.g", "i.e", "vs", "[A-Z]")
)
_SENTENCE = re.compile(rf"(?<=[.!?]){_NO_END}\s+|\n+|;\s+")
_REQUEST = re.compile(
    r"^(?:and |also |please |,|\s)*(?:remember|keep in mind|bear in mind|note|don['’]t forget)(?: that\b|:)\s*(.+)$",
    re.IGNORECASE,
)
_SPOKEN: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    (
        "preference",
        "the user says what they prefer",
        re.compile(r"^(?:in general,? |generally,? )?i(?:'d| would|’d)? (?:much )?prefer\b", re.IGNORECASE),
    ),
    (
        "instruction",
        "the user says what is to hold always",
        re.compile(r"^(?:please )?(?:(?:i )?(?:always|never)|from now on,?)\s+\w", re.IGNORECASE),
    ),
    (
        "fact",
        "the user says something about themselves",
        re.compile(r"^my (?:[\w'’-]+ ){1,4}(?:is|are) (?!there\b)\w", re.IGNORECASE),
    ),
)


def spoken(request: str) -> list[Candidate]:
    """List what a message asks to be remembered, or says about its user, word for word."""
    sentences = (" ".join(part.split()) for part in _SENTENCE.split(own_words(request)))
    candidates = (_read(sentence.rstrip()) for sentence in sentences if not sentence.endswith("?"))
    return [candidate for candidate in candidates if candidate and may_be_kept(candidate.text)]


def _read(sentence: str) -> Candidate | None:
    if match := _REQUEST.match(sentence):
        return _candidate(match[1], "remembered", "the user asks for it to be remembered")
    kind = next(((tag, why) for tag, why, pattern in _SPOKEN if pattern.match(sentence)), None)
    return _candidate(sentence, *kind) if kind else None


def _candidate(text: str, tag: str, why: str) -> Candidate | None:
    text = text.rstrip(".!,;: ")
    return Candidate(said=text, text=text, tags=(tag,), why=why) if text else None
