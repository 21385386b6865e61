"""Text without a model: extractive summaries and typed values, the same every time."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Annotated, Literal

from pydantic import BaseModel, Field, JsonValue

from planwright.capabilities.contract import Guide
from planwright.capabilities.declaration import capability
from planwright.domain.errors import CapabilityRejected
from planwright.domain.references import NothingFound

Kind = Literal["amount", "date", "email", "url", "number", "phone"]

LONGEST = 300_000  # characters; a pattern holds the interpreter until it is through a line
# Each begins where no character before could have begun it, and has an end: in linear time.
_NUMBER = r"(?<!\d)(?:\d{1,3}(?:[.,' ]\d{3}){1,6}(?:[.,]\d{1,2})?|\d{1,40}(?!\d)(?:[.,]\d{1,2})?)"
_CURRENCY = r"EUR|USD|GBP|CHF|JPY|SEK|NOK|DKK|PLN|CAD|AUD|€|\$|£|¥"
_PATTERNS: dict[Kind, str] = {
    "amount": rf"(?:{_CURRENCY})\s?-?(?:{_NUMBER})|(?:(?<!\d)-)?(?:{_NUMBER})\s?(?:{_CURRENCY})(?!\w)",
    "date": r"\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b"
    r"|\b\d{1,2}\.? (?:January|February|March|April|May|June|July|August|September|October|November"
    r"|December)(?: \d{4})?\b|\b(?:January|February|March|April|May|June|July|August|September|October"
    r"|November|December) \d{1,2}(?:, \d{4})?\b",
    "email": r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+",
    "url": r"https?://[^\s<>\"')\]]+(?<![.,;:!?])",
    "number": rf"(?:(?<!\d)-)?(?:{_NUMBER})",
    "phone": r"\+\d[\d ()/-]{6,}\d",
}
_TOTAL = re.compile(
    r"\b(total due|amount due|balance due|grand total|total amount|total|balance)\b", re.IGNORECASE
)
_COMMON = frozenset(
    "the a an and or of to in on for with is are was were be been it its this that these those as at by from"
    " we you i our your they he she will would can could should has have had not but if so do does did".split()
)


_NAMES, _BODIES = ("path", "subject", "title", "name"), ("text", "body", "content")


class Extracted(BaseModel):
    """The value most likely meant, and all that were found, in order."""

    value: str
    """The value most likely meant."""
    values: list[str]
    """All values found, in the order of the text."""
    kind: Kind
    """What was looked for."""


class Summary(BaseModel):
    """Sentences of the text itself."""

    summary: str
    """The chosen sentences in their order, with spaces between."""


@capability(
    "text.extract",
    mode="read_only",
    tags=("extract", "amount", "date", "address", "url", "link", "phone"),
    guide=Guide(
        "Finds an amount of money, date, e-mail address, URL, number or phone number in a text. "
        "For an invoice, `amount` is the total due; quoted mail is ignored.",
        ("What is the amount of the invoice?", "Extract the due date from the email"),
        70,
    ),
    trusted_result=True,
    reads=(),
)
def extract(
    text: Annotated[str, Field(description="the text to look in", max_length=LONGEST)],
    kind: Annotated[Kind, Field(description="what to look for")] = "amount",
) -> Extracted:
    """Extract one typed value from a text."""
    rows = [row for row in text.splitlines() if not row.lstrip().startswith(">")]
    pattern = re.compile(_PATTERNS[kind])
    values = [match[0].strip() for row in rows for match in pattern.finditer(row)]
    if not values:
        raise NothingFound(f"the text holds no {kind}", "look at the text itself")
    return Extracted(value=_meant(kind, rows, pattern) or values[0], values=values, kind=kind)


@capability(
    "text.summarize",
    mode="read_only",
    tags=("summarize", "summary", "summarise", "shorten", "gist"),
    guide=Guide("Picks the most telling sentences of a text.", ("Summarize roadmap.md",), 70),
    trusted_result=True,
    reads=(),
)
def summarize(
    text: Annotated[
        Annotated[str, Field(max_length=LONGEST)] | list[JsonValue],
        Field(description="the text to shorten; or a list of texts, files or messages, each shortened"),
    ],
    sentences: Annotated[int, Field(ge=1, le=20, description="how many sentences to keep of a text")] = 3,
) -> Summary:
    """Summarize a text by its most telling sentences, in their order."""
    if isinstance(text, str):
        if not (summary := _telling_part(text, sentences)):
            raise CapabilityRejected("there is no text to summarize")
        return Summary(summary=summary)
    labelled = [_labelled(item) for item in text]
    if sum(len(body) for _, body in labelled) > LONGEST:
        raise CapabilityRejected(
            f"the texts have more than {LONGEST:,} characters together", "take fewer at once"
        )
    parts = [(label, _telling_part(body, sentences)) for label, body in labelled]
    if not any(part for _, part in parts):
        raise CapabilityRejected("there is no text to summarize")
    lines = (f"{label}: {part or '(no text)'}" if label else part for label, part in parts)
    return Summary(summary="\n".join(line for line in lines if line))


def _labelled(item: JsonValue) -> tuple[str, str]:
    """Take the text out of an entry of a list, with what it is called."""
    if not isinstance(item, dict):
        return "", item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
    label = next((str(item[name]) for name in _NAMES if item.get(name)), "")
    body = next((item[name] for name in _BODIES if isinstance(item.get(name), str)), None)
    return label, str(body) if body is not None else json.dumps(item, ensure_ascii=False)


def _telling_part(text: str, sentences: int) -> str:
    """Pick the most telling sentences of a text; "" where it has none."""
    candidates = _sentences(text)
    frequency = Counter(word for sentence in candidates for word in _telling(sentence))
    weights = {
        position: sum(frequency[word] for word in set(_telling(sentence))) / (4 + len(sentence.split()))
        + (0.6 if position == 0 else 0)
        + (3.0 if _TOTAL.search(sentence) and re.search(_PATTERNS["amount"], sentence) else 0)
        for position, sentence in enumerate(candidates)
    }
    best = sorted(sorted(weights, key=lambda position: (-weights[position], position))[:sentences])
    return " ".join(candidates[position] for position in best)


def _meant(kind: Kind, rows: list[str], pattern: re.Pattern[str]) -> str | None:
    """For money, prefer the line that says total due; the last one of the strongest wording."""
    if kind == "date":
        due = (
            pattern.search(row)
            for row in rows
            if re.search(r"\bdue\b|\bdeadline\b|\bby\b", row, re.IGNORECASE)
        )
        return next((match[0] for match in due if match), None)
    if kind != "amount":
        return None
    ranked: list[tuple[int, int, str]] = []
    for number, row in enumerate(rows):
        label, amounts = _TOTAL.search(row), pattern.findall(row)
        if label and amounts and "subtotal" not in row.lower():
            ranked.append(
                (2 if "due" in label[1].lower() or "grand" in label[1].lower() else 1, number, amounts[-1])
            )
    return max(ranked)[2].strip() if ranked else None


def _sentences(text: str) -> list[str]:
    """Split prose into sentences; headings and table rules are left out, list items stand alone."""
    blocks: list[list[str]] = []  # each of rows
    for row in text.splitlines():
        row = row.strip()
        if not row or row.startswith((">", "#")) or not re.search(r"\w{2}", row):
            blocks.append([])
        elif re.match(r"[-*•]|\d+\.|\w[\w ]{0,24}:", row) or not blocks or not blocks[-1]:
            blocks.append([re.sub(r"^[-*•]\s*(\[.\]\s*)?", "", row)])
        else:
            blocks[-1].append(row)
    texts = map(" ".join, blocks)
    parts = (part for block in texts for part in re.split(r"(?<=[.!?])\s+(?=[A-ZÄÖÜ0-9])", block))
    return [part if part.endswith((".", "!", "?", ":")) else part + "." for part in parts if len(part) > 12]


def _telling(sentence: str) -> list[str]:
    return [word for word in re.findall(r"\w{3,}", sentence.lower()) if word not in _COMMON]
