"""Split a request into clauses, each with the action it begins with."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace

from planwright.extras.offline.literals import protect
from planwright.language.lexicon import ACTIONS, CORRECTABLE, PARTICIPLES, POLITE, UNSUPPORTED
from planwright.language.verbs import BARE_VERBS, NOUNS_TOO

QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|`[^`]*`|(?<!\w)'[^']{2,}'(?!\w)|(?<!\w)‘[^’]{2,}’(?!\w)")
_POLITE = re.compile(rf"^(?:(?:{'|'.join(POLITE)})(?=[\s,:!-]|$)[\s,:!-]*)+", re.IGNORECASE)
# It begins where a run of blanks and commas does: from each place within one it would take the square of them.
_TRAILING = re.compile(
    r"(?<![\s,])(?:[\s,]+(?:please|pls|thanks|thank you|thx|too|as well|also|for me|right away|asap|right now))+$",
    re.IGNORECASE,
)
_HARD_BREAK = re.compile(
    r"\s*(?:[.;!?]+(?=\s|$)|,?\s+(?:and\s+)?(?:then|after that|afterwards|followed by|finally|lastly)\b[,:]?|(?:,\s*(?:and\s+)?|\s+and\s+)next\b(?! (?:week|month|\w+day))[,:]?"
    r"|,\s*and\s+also\b|\s+as well as\b|\s+[-–—]\s+(?=(?:and|then)\b))\s*",
    re.IGNORECASE,
)
_THEN = re.compile(
    r"\b(?:then|after that|afterwards|followed by|next|finally|lastly|once (?:done|that['’]?s done)|when done)\b",
    re.IGNORECASE,
)
_AND = re.compile(r"^\s*(?:and\s+)?", re.IGNORECASE)
_SOFT_BREAK = re.compile(r"\s*(?:,\s*(?:and|but)\b|,|:|\band\b|&|\bplus\b)\s+", re.IGNORECASE)
_VERBS = sorted((*ACTIONS, *UNSUPPORTED), key=lambda verb: -len(verb))
_STARTS = re.compile(rf"^({'|'.join(re.escape(verb) for verb in _VERBS)})\b(?!['’.-]\w)", re.IGNORECASE)
_QUESTION = re.compile(
    r"^(what|which|who|when|where|how|is|are|do|does|did|have|has|any|what['’]?s|was|were|why|whether|if|anything"
    r"|anyone|anybody|when['’]s|where['’]s|who['’]s)\b",
    re.IGNORECASE,
)
_NEW_QUESTION = re.compile(
    r"^(what|which|how (?:many|much)|do (?:i|we)|are there|is there|when|where|who)\b", re.IGNORECASE
)
_PASSIVE = re.compile(
    rf"^(?P<what>.+?)\s+(?P<be>(?:should|must|has to|needs? to|to|can)\s+be\s+)?(?P<verb>{'|'.join(PARTICIPLES)})\b(?P<rest>.*)$",
    re.IGNORECASE,
)
_TICKET_OPENED = re.compile(
    r"(?:get|have) (?:a|an|another|one) (?:new )?ticket (?:opened|created|filed|raised|logged)\b",
    re.IGNORECASE,
)
_NEW_THING = re.compile(
    r"(?:a |an |one |another )?(?:new )?ticket\b(?! (?:is|was|number|id))(?=.)|(?:a |one )?new (?:text |markdown )?(?:file|note)\b",
    re.IGNORECASE,
)
_ONE_TICKET = re.compile(
    r"(?:up )?(?:a|an|another|one|new|me a|us a)\b(?:\s+[\w-]+){0,3}?\s+tickets?\b(?!s)", re.IGNORECASE
)
_WISH = re.compile(
    r"\b(?:i(?:['’]d| would)? (?:like|want|need|love)|i want|i need)\s+(?!to\b|you\b)", re.IGNORECASE
)
_BEFORE = re.compile(r"^before (?:you |we )?(?P<later>.+?),\s*(?P<sooner>.+)$", re.IGNORECASE)


@dataclass(frozen=True)
class Clause:
    """A piece of the request: its verb, the action that means, and what follows the verb.

    `then` says whether the request wants it done after the clause before it.
    """

    text: str
    """The piece as it stands, without politeness."""
    verb: str
    """Verb that it begins with, in lower case; "" for none."""
    action: str | None
    """What that verb means to the planner; None where it means nothing to it."""
    rest: str
    """What follows the verb."""
    question: bool = False
    """Whether the piece is a question."""
    then: bool = False
    """Whether the request wants it done after the clause before it."""


def split(request: str) -> list[Clause]:
    """Split a request into clauses; quoted text is never split."""
    hidden, quotes = _hide_quotes(protect(" ".join(request.replace("\x00", " ").split())))
    hidden = _correct(hidden)
    turned = _BEFORE.match(hidden)
    hard = [(turned["later"], False), (turned["sooner"], False)] if turned else _split_hard(hidden)
    pieces: list[tuple[str, bool]] = []
    for text, then in hard:
        first, *others = _split_softly(_active(text))
        pieces += [(first, then), *((other, False) for other in others)]
    numbers = itertools.count()
    numbered = [(re.sub("\x00", lambda _: f"\x00{next(numbers)}\x00", piece), then) for piece, then in pieces]
    return [
        replace(clause(_show_quotes(piece, quotes)), then=then)
        for piece, then in numbered
        if re.search(r"\w", piece)
    ]


def reverses(request: str) -> bool:
    """Say whether a request names its last effect first: `before you post it, save it`."""
    return bool(_BEFORE.match(request.strip()))


def clause(text: str) -> Clause:
    """Read the verb a piece of text begins with, past any politeness."""
    plain = strip(text)
    if match := re.match(r"give (?=(?:the |our )?(?:#?team|channel|everyone)\b)", plain, re.IGNORECASE):
        return Clause(plain, "tell", "send", plain[match.end() :])
    start = _STARTS.match(plain)
    if start and not _adjective(start[1], plain[start.end() :]):
        verb = start[1].lower()
        rest = plain[start.end() :].strip(" ,:")
        if (verb == "open" and _ONE_TICKET.match(rest)) or _TICKET_OPENED.match(plain):
            return Clause(plain, verb, "create", rest)
        return Clause(plain, verb, ACTIONS.get(verb), plain[start.end() :].strip(" ,:"))
    if _NEW_THING.match(plain):
        return Clause(plain, "create", "create", plain)
    gerund = re.match(r"^(\w+?)ing\b", plain)
    for stem in (gerund[1].lower(), f"{gerund[1].lower()}e", gerund[1].lower()[:-1]) if gerund else ():
        if stem in ACTIONS or stem in UNSUPPORTED:
            return Clause(plain, stem, ACTIONS.get(stem), plain[gerund.end() :].strip() if gerund else "")
    return Clause(
        plain, "", None, plain, question=bool(_QUESTION.match(plain)) or text.rstrip().endswith("?")
    )


def quoted(text: str) -> list[str]:
    """List the texts in quotation marks."""
    return [match[0][1:-1].strip() for match in QUOTED.finditer(text)]


def strip(text: str) -> str:
    """Drop politeness before a text, and punctuation around it."""
    plain = _POLITE.sub("", text.strip(" ,.;:!?-–—")).strip(" ,;:!?-–—").removesuffix(".")
    return _TRAILING.sub("", plain)


def _active(piece: str) -> str:
    """Turn `the tickets should be saved to a.txt` into `save the tickets to a.txt`."""
    wished = _WISH.search(piece[:24])
    body = piece[wished.end() :] if wished else piece
    passive = _PASSIVE.match(body.strip(" ,.?!"))
    if passive and (passive["be"] or wished) and not _STARTS.match(strip(body)):
        verb = PARTICIPLES[passive["verb"].lower()]
        return f"{verb} {strip(passive['what'])}{passive['rest']}"
    return piece


def _split_hard(text: str) -> list[tuple[str, bool]]:
    """Split at full stops and words of sequence; say of each piece whether it follows the one before it."""
    pieces, start, then = [], 0, False
    for match in _HARD_BREAK.finditer(text):
        pieces.append((text[start : match.start()], then))
        start, then = match.end(), bool(_THEN.search(match[0]))
    pieces.append((text[start:], then))
    return [
        (piece, bool(number) and (then or bool(_THEN.match(_AND.sub("", piece)))))
        for number, (piece, then) in enumerate(pieces)
    ]


def _split_softly(piece: str) -> list[str]:
    """Split at a comma, colon or `and` only where an action or a new question follows."""
    parts: list[str] = []
    start = 0
    for match in _SOFT_BREAK.finditer(piece):
        following = strip(piece[match.end() :])
        verb = _STARTS.match(following)
        begins = bool(verb) and not _is_noun(piece[start : match.start()], match[0], following)
        asks = "and" in match[0] and bool(_NEW_QUESTION.match(following))
        if (begins or asks) and strip(piece[start : match.start()]):
            parts.append(piece[start : match.start()])
            start = match.end()
    return [*parts, piece[start:]]


def _adjective(verb: str, rest: str) -> bool:
    """Say whether a word is no verb here: `open tickets`, `open or closed`, `email address`."""
    after = rest.strip().lower()
    if verb.lower() in ("open", "closed", "close"):
        return bool(re.match(r"(or|and|tickets|ones|issues|items)\b", after)) or not after
    if verb.lower() in ("email", "e-mail", "mail", "mails", "emails", "phone"):
        return bool(re.match(r"(address|number|from|about|by|with|regarding|in)\b", after)) or not after
    return verb.lower() in ("note", "notes", "file", "order", "report", "log") and bool(
        re.match(r"(from|about)\b", after)
    )


def _is_noun(before: str, mark: str, following: str) -> bool:
    """Say whether a word that could be a verb is one of a list of nouns, or part of a message."""
    verb = _STARTS.match(following)
    if verb is None:
        return True
    rest = following[verb.end() :].strip(" ,.")
    if _adjective(verb[1], rest):
        return True
    if mark.strip() == ":":
        return not re.search(r"\b(it|them|this|that|these|those)\b", following)
    if re.search(r"\btickets? (?:opened )?to\b", strip(before)) and verb[1].lower() in UNSUPPORTED:
        return True
    says = re.search(r"\b(?:remember|say|saying|tell|that|know|note|mind)\b", strip(before), re.IGNORECASE)
    if says and verb[1].lower() in UNSUPPORTED and mark.strip() in ("and", "&"):
        return not re.search(r"\b(?:the team|it)$", strip(before))
    if not rest:
        return verb[1].lower() in BARE_VERBS
    plain = NOUNS_TOO
    return bool(re.match(r"(in|of|from|for|on|is|are|that)\b", rest)) and verb[1].lower() in plain


def _correct(text: str) -> str:
    """Mend a slip in a word that matters: `tiket`, `summerize`, `emial`."""

    def mend(match: re.Match[str]) -> str:
        word = match[0].lower()
        known_word = {word, word.removesuffix("s")} & (CORRECTABLE | ACTIONS.keys() | UNSUPPORTED)
        if known_word:
            return match[0]
        from rapidfuzz import fuzz  # here: only a word that nobody knows needs it

        best = max(CORRECTABLE, key=lambda known: fuzz.ratio(word, known))
        close = fuzz.ratio(word, best) >= 85 or (sorted(word) == sorted(best))
        return best if close and word[0] == best[0] and not match[0][0].isupper() else match[0]

    return re.sub(r"(?<![\w./@-])[a-z]{4,}(?![\w/@.-]*[\w/@])", mend, text)


def _hide_quotes(text: str) -> tuple[str, list[str]]:
    return QUOTED.sub("\x00", text), [match[0] for match in QUOTED.finditer(text)]


def _show_quotes(piece: str, quotes: list[str]) -> str:
    return re.sub("\x00(\\d+)\x00", lambda match: quotes[int(match[1])], piece)
