"""What a noun phrase refers to: something mentioned before, a typed value, or nothing but itself."""

from __future__ import annotations

import re

from planwright.language.lexicon import DOMAINS, KINDS, MAIL_NOUNS

_NOUNS = (
    "results?|list|output|findings|contents?|text|answer|details|files?|e-?mails?|mails?|messages?|notes?|matches|lines"
    "|tickets?|outcome|information|info|figure|values?|time|date|first one|latest one|one|whole thing|rest|same|lot"
)
_ARTICLE = r"(?:the|its|their|that|this|those|these|all|full|whole|found|extracted|resulting|same|of)"
_PRONOUN = (
    r"(?:it|them|that|this|these|those|all of (?:it|them)|both|everything|the lot"
    r"|what(?:ever)? (?:you|we|i) (?:find|found|get|got|come up with|learn)|what(?:ever)? (?:comes|turns) up|what it says)"
)
_TAIL = r"(?:\s+(?:of|from|in|for|on|you (?:found|find|get|got)|that you (?:found|find))(?:\s+(?:it|them|that|this|those))?)?"
_REFERENCE = re.compile(
    rf"(?:{_PRONOUN}|(?:{_ARTICLE}\s+)+(?:{_NOUNS}|contents? of (?:both|them|it|all))){_TAIL}", re.IGNORECASE
)
_INSIDE = re.compile(rf"\b(?:{_PRONOUN}|(?:the|its|their)\s+(?:{_NOUNS}))\b", re.IGNORECASE)
_SUMMARY = re.compile(
    r"\b(?:(?:a|an|the|its|their|this|that|your)\s+)*(?:[\w-]+\s+){0,2}?(summary|gist|recap)\b", re.IGNORECASE
)
_SENTENCE = re.compile(
    r"\b(is|are|was|were|will|has|have|had|can|should|must|starts?|closes?|opens|open (?=at|on|in|until|from|again)|moved?|needs?|works?|goes|went|comes"
    r"|prefers?|ends?|takes?|likes?|lives?|runs?|wants?|does|do|gets?|sits?|owns?|uses?|expires?|begins?|(?:it|that|there|he|she|who)['’]s|['’]re"
    r"|meets?|arrives?|leaves?|changed|won|lost|signed|shipped|passed|finished|joined)\b",
    re.IGNORECASE,
)


def is_reference(text: str) -> bool:
    """Say whether a whole phrase only points back: `it`, `the results`, `all of them`."""
    return bool(_REFERENCE.fullmatch(text.strip(" ,.:!?")))


def refers_back(text: str) -> bool:
    """Say whether a phrase points back somewhere in it."""
    return bool(_INSIDE.search(text))


def is_sentence(text: str) -> bool:
    """Say whether a phrase is a statement, to be taken as it stands, rather than the name of a thing."""
    return bool(_SENTENCE.search(text)) or len(text.split()) > 9


def asks_for_summary(text: str) -> bool:
    """Say whether a phrase speaks of a summary."""
    return bool(_SUMMARY.search(text))


def kind(text: str) -> str | None:
    """Find which typed value a phrase names, by its longest name."""
    low = text.lower()
    for name in sorted(KINDS, key=lambda name: -len(name)):
        if re.search(rf"\b{name}\b", low):
            return KINDS[name]
    return None


def kinds(text: str) -> list[str]:
    """List the typed values a phrase names with a definite word: `the amount and the due date`."""
    named = re.findall(
        r"\b(?:the|its|their|that|any|all|every|with|whose|and|an|a)\s+([\w -]+)", text.lower()
    )
    matches = [
        value for phrase in named for part in re.split(r"\band\b", phrase) if (value := kind(_head(part)))
    ]
    return list(dict.fromkeys(matches))


def domain(text: str) -> str | None:
    """Find which kind of thing a clause is about, by the first noun that says so."""
    plain = re.sub(r"\be-?mail address(es)?\b", " ", text.lower())
    domains = (DOMAINS[word] for word in re.findall(r"#?[\w-]+", plain) if word in DOMAINS)
    return next(domains, None)


def mentions_mail(text: str) -> bool:
    """Say whether a phrase is about mail, by name or by what usually comes as mail."""
    plain = re.sub(r"\be-?mail address(es)?\b", " ", text.lower())
    words = set(re.findall(r"[\w-]+", plain))
    return bool(words & MAIL_NOUNS) or any(DOMAINS.get(word) == "mail" for word in words)


def _head(phrase: str) -> str:
    """Keep a noun phrase up to the first preposition: `amount of the invoice` is about the amount."""
    return re.split(r"\b(?:of|from|in|on|to|for|at|into|that|due from|with|by)\b", phrase, maxsplit=1)[0]
