"""Read typed values out of a clause: paths, patterns, numbers, money, zones, words to look for."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from zoneinfo import available_timezones

from planwright.extras.offline.clauses import quoted
from planwright.language.lexicon import COUNTS, DOMAINS, PATTERNS, STOP_WORDS, ZONES

FILE_NAME = r"(?:[\w~.-]*/)*[\w-][\w.-]*\.(?:md|txt|csv|json|html?|ya?ml|toml|py|log|ini|rst|tsv)\b"
FILE = re.compile(rf"(?<![\w@/.])({FILE_NAME})")
_ANY_PATH = re.compile(r"(?<![\w@:/])((?:\.{1,2}/|/|~/)[\w./-]+)")
_FOLDER = re.compile(
    r"\b(?:in|inside|under|within|from|of|through)\s+(?:the\s+|my\s+|our\s+)?([\w./-]+?)/?(?:\s+(?:folder|directory|dir))?"
    r"(?=$|[\s,?])"
)
_NAMED_FOLDER = re.compile(r"\b(?:the\s+|my\s+)?([\w./-]+?)/?\s+(?:folder|directory)\b")
_MONEY = re.compile(
    r"(?:EUR|USD|GBP|CHF|€|\$|£)\s?\d[\d.,']*\d|(?:EUR|USD|GBP|CHF|€|\$|£)\s?\d"
    r"|\d[\d.,']*\s?(?:euros?|dollars?|pounds?|francs?|EUR|USD|GBP|CHF|€|\$|£)",
    re.IGNORECASE,
)
_SENDER = re.compile(
    r"\b(?:from|by|sent by|of)\s+(?:the\s+|our\s+|my\s+)?"
    r"([A-Z][\w&.-]*(?:\s+[A-Z][\w&.-]*){0,2}|[\w.+-]+@[\w.-]+\w|[a-z]\w*(?=$|\s*[,?]|\s+(?:about|regarding|with|in|that|and)\b))"
)
_NO_FOLDER = frozenset(
    "the my our this that it a workspace files file any all every there them which what".split()
)
_SENT_US = re.compile(
    r"\bwhat\s+(?!did\b|do\b|does\b|has\b|have\b|was\b|were\b|is\b|i\b|you\b|we\b)(?P<wrote>\w+)\s+(?:wrote|sent|mailed|emailed)\b"
    r"|\b(?:did|has|have|had)\s+(?P<did>[A-Z][\w&.-]*(?:\s+[A-Z][\w&.-]*)*)\s+(?:ever |already |also )?"
    r"(?:send|sent|write|written|mail|mailed|email|emailed|get back|reply|replied|charge|charged|bill|billed|ask|asked)"
    r"|(?P<mailed>[A-Z][\w&.-]*(?:\s+[A-Z][\w&.-]*)*)\s+(?:sent|mailed|emailed|wrote|charged|billed)\b"
    r"|\b(?P<whose>[A-Z][\w&.-]*(?:\s+[A-Z][\w&.-]*)*)['’]s\s+(?:\w+\s+){0,2}?(?:e-?mails?|mails?|messages?|newsletters?|invoices?|reminders?)"
)
_NOT_SENDERS = frozenset(
    "january february march april may june july august september october november december monday tuesday wednesday"
    " thursday friday saturday sunday yesterday today it them that this memory mail email inbox mailbox emails mails"
    " last slack notes me us".split()
)


@dataclass
class UntakenWords:
    """What is left to understand of a clause."""

    left: str
    """Words that nobody has taken yet; a bar stands where others did."""

    def find(self, pattern: str) -> re.Match[str] | None:
        """Find the first place that a pattern fits as whole words."""
        return re.search(rf"(?<!\w)(?:{pattern})(?!\w)", self.left, re.IGNORECASE)

    def take(self, pattern: str) -> re.Match[str] | None:
        """Take the first place that a pattern fits out of what is left."""
        match = self.find(pattern)
        if match:
            self.left = f"{self.left[: match.start()]} | {self.left[match.end() :]}"
        return match

    def idle(self, words: Collection[str]) -> bool:
        """Say whether nothing but some words is left."""
        return all(word in words for word in re.findall(r"[\w'’.-]+", self.left.lower()))


def file_path(text: str) -> str | None:
    """Find a file's path or name; a quoted one may hold spaces."""
    for spelled in quoted(text):
        if re.fullmatch(r"[\w ./-]+\.\w{1,5}", spelled):
            return spelled
    match = FILE.search(text) or _ANY_PATH.search(text)
    return match[1] if match else None


def folder(text: str) -> str | None:
    """Find the folder a clause speaks of; None when it names none."""
    for pattern in (_NAMED_FOLDER, _FOLDER):
        for match in pattern.finditer(text):
            name = match[1].strip("/")
            plain = name.lower()
            if plain in _NO_FOLDER:
                continue
            if plain in DOMAINS and plain != "notes" and plain not in ("docs", "documents"):
                continue
            if pattern is _FOLDER and (FILE.search(name) or not _folder_like(match, text)):
                continue
            return name
    return None


def pattern(text: str) -> str | None:
    """Read a file pattern: `*.md`, or the name of a file type."""
    literal = re.search(r"(\*\.\w+|\w*\*\w*\.\w+)", text)
    if literal:
        return literal[1]
    for match in re.finditer(r"\.?\b([A-Za-z]+)(?:\s+(?:files?|notes|documents|docs)|s)\b", text):
        word = match[1].lower()
        plain_plural = " " not in match[0] and word in ("text", "log")
        if word in PATTERNS and not plain_plural:
            return PATTERNS[word]
    return None


def url(text: str) -> str | None:
    """Find a web address."""
    match = re.search(r"https?://[^\s<>\"'“”)\]]*[^\s<>\"'“”)\].,;:!?]", text)
    return match[0] if match else None


def money(text: str) -> str | None:
    """Find a sum of money, with a currency or after the word amount."""
    match = _MONEY.search(text)
    if match:
        return match[0].strip(" .,")
    plain = re.search(r"\bamount\s*(?:of|is|:|=)?\s*(\d[\d.,']*)", text, re.IGNORECASE)
    return plain[1].strip(".,") if plain else None


def zone(text: str) -> str | None:
    """Find a time zone, by its name or by a city."""
    iana = re.search(r"\b([A-Z]\w+/[A-Z]\w+)\b", text)
    if iana:
        return iana[1]
    low = text.lower()
    known = next((name for city, name in ZONES.items() if re.search(rf"\b{city}\b", low)), None)
    return known or next(
        (_cities()[word] for word in re.findall(r"[A-Z]\w+", text) if word in _cities()), None
    )


@cache
def _cities() -> dict[str, str]:
    """Name the zones of the time-zone database by the city that each is called after."""
    return {name.rpartition("/")[2]: name for name in available_timezones() if name.count("/") == 1}


def count(text: str, noun: str) -> int | None:
    """Find how many of a thing are wanted: `three sentences`, `5 emails`, `top 5`."""
    number = r"(\d{1,3}|" + "|".join(COUNTS) + r")"
    match = re.search(rf"\b{number}[\s-]+(?:\w+\s+){{0,2}}{noun}", text, re.IGNORECASE) or re.search(
        rf"\b(?:last|latest|top|first|newest)\s+{number}\b", text, re.IGNORECASE
    )
    if not match:
        return None
    return int(match[1]) if match[1].isdigit() else COUNTS[match[1].lower()]


def sender(text: str) -> str | None:
    """Find who sent a message: `from Acme`, `did Acme write`, `Acme's last mail`."""
    for match in _SENT_US.finditer(text):
        name: str = next(filter(None, match.groups()))
        if name.split()[0].lower() not in _NOT_SENDERS | STOP_WORDS:
            return name
    for match in _SENDER.finditer(text):
        if match[1].split()[0].lower() not in _NOT_SENDERS | STOP_WORDS:
            return match[1].rstrip(".")
    return None


def search_words(text: str, *, drop: tuple[str, ...] = ()) -> str:
    """Keep the words worth searching for, in their order and spelling; a quotation stands alone."""
    if quotes := quoted(text):
        return " ".join(quotes)
    gone = {word.lower() for phrase in drop for word in phrase.split()}
    words = [
        word
        for word in re.findall(r"[\w@.+#&'’-]*\w", text.replace("’", "'"))
        if word.lower().removesuffix("'s") not in STOP_WORDS | gone and word.lower() not in DOMAINS
    ]
    return " ".join(word.removesuffix("'s") for word in words)


def _folder_like(match: re.Match[str], text: str) -> bool:
    """A bare word after `in` is a folder when it is said to be, has a slash, or ends the clause in lower case."""
    name = match[1]
    named = text[match.end(1) :].lstrip("/").lstrip().startswith(("folder", "directory", "dir"))
    return named or "/" in text[match.start(1) : match.end(1) + 1] or (name.islower() and name.isidentifier())
