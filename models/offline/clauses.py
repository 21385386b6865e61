"""Split a request into clauses, each with the action it begins with."""

from __future__ import annotations

import re
from dataclasses import dataclass

from planwright.models.offline.lexicon import ACTIONS, UNSUPPORTED

_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|`[^`]*`|(?<!\w)'[^']{2,}'(?!\w)")
_POLITE = re.compile(
    r"^(?:(?:please|kindly|hey|hi|hello|ok|okay|so|well|also|now|first|firstly|finally|lastly|next|then|afterwards"
    r"|after that|secondly|and|but|thanks|thank you|can you|could you|would you|will you|can we|would you mind"
    r"|i need you to|i want you to|i'd like you to|i would like you to|i need to|i want to|i'd like to|i need|i want"
    r"|i'd like|i would like to|let's|lets|go ahead and|help me|to|quickly|just|quick question|use that to"
    r"|once done|once that's done|when done|with that|planwright|be so kind as to)\b[\s,:!-]*)+",
    re.IGNORECASE,
)
_BREAK = re.compile(
    r"\s*(?:[.;!?]+(?=\s|$)|,?\s+(?:and\s+)?(?:then|after that|afterwards|followed by|next|finally|lastly)\b[,:]?"
    r"|,\s*and\s+also\b|\s+as well as\b)\s*",
    re.IGNORECASE,
)
_SOFT_BREAK = re.compile(r"\s*(?:,\s*and\b|,|\band\b|&|\bplus\b)\s+", re.IGNORECASE)
_GERUND = re.compile(r"^(\w+?)(?:ing)\b")
_VERBS = sorted((*ACTIONS, *UNSUPPORTED), key=lambda verb: -len(verb))
_STARTS = re.compile(r"^(" + "|".join(re.escape(verb) for verb in _VERBS) + r")\b(?!['’.-]\w)", re.IGNORECASE)
_QUESTION = re.compile(
    r"^(what|which|who|when|where|how|is|are|do|does|did|have|has|any|whats|what's|was|were|why)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Clause:
    """A piece of the request: its verb, the action that means, and what follows the verb."""

    text: str
    verb: str
    action: str | None
    rest: str
    question: bool = False


def split(request: str) -> list[Clause]:
    """Split a request into clauses; quoted text is never split."""
    hidden, quotes = _hide_quotes(" ".join(request.split()))
    pieces: list[str] = []
    for hard in _BREAK.split(hidden):
        pieces += _split_softly(hard)
    return [clause(_show_quotes(piece, quotes)) for piece in pieces if re.search(r"\w|\x00", piece)]


def clause(text: str) -> Clause:
    """Read the verb a piece of text begins with, past any politeness."""
    plain = _strip(text)
    start = _STARTS.match(plain)
    if start:
        verb = start[1].lower()
        return Clause(plain, verb, ACTIONS.get(verb), plain[start.end() :].strip(" ,:"))
    stem = _from_gerund(plain)
    if stem:
        return stem
    return Clause(plain, "", None, plain, question=bool(_QUESTION.match(plain)))


def quoted(text: str) -> list[str]:
    """List the texts in quotation marks."""
    return [match[0][1:-1].strip() for match in _QUOTED.finditer(text)]


def _strip(text: str) -> str:
    return _POLITE.sub("", text.strip(" ,.;:!?")).strip(" ,.;:!?")


def _from_gerund(plain: str) -> Clause | None:
    match = _GERUND.match(plain)
    if not match:
        return None
    for verb in (match[1].lower(), match[1].lower() + "e", match[1].lower()[:-1]):
        if verb in ACTIONS:
            return Clause(plain, verb, ACTIONS[verb], plain[match.end() :].strip())
    return None


def _split_softly(piece: str) -> list[str]:
    """Split at a comma or `and` only where an action verb follows."""
    parts: list[str] = []
    start = 0
    for match in _SOFT_BREAK.finditer(piece):
        following = _strip(piece[match.end() :])
        if _STARTS.match(following) and not _is_noun(piece[: match.start()], following):
            parts.append(piece[start : match.start()])
            start = match.end()
    return [*parts, piece[start:]]


def _is_noun(before: str, following: str) -> bool:
    """Say whether a word that could be a verb is one of a list of nouns: `notes, file and text`."""
    verb = _STARTS.match(following)
    rest = following[verb.end() :].strip(" ,") if verb else ""
    return (
        not rest
        or bool(re.match(r"(in|of|from|to|for|on|is|are|that)\b", rest))
        and bool(
            verb
            and verb[1].lower()
            in ("email", "mail", "note", "file", "order", "message", "report", "update", "log")
        )
    )


def _hide_quotes(text: str) -> tuple[str, list[str]]:
    quotes = [match[0] for match in _QUOTED.finditer(text)]
    hidden = _QUOTED.sub("\x00", text)
    return hidden, quotes


def _show_quotes(piece: str, quotes: list[str]) -> str:
    return re.sub("\x00", lambda _: quotes.pop(0), piece)
