"""The plan being composed: steps so far, and what later clauses may refer back to."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from planwright.models.offline import slots
from planwright.models.offline.clauses import Clause, quoted
from planwright.models.offline.lexicon import DOMAINS

MAIL_NOUNS = frozenset(
    "invoice invoices receipt receipts reminder newsletter newsletters confirmation bounce offer quote credit".split()
)
_REFERS_BACK = re.compile(
    r"\b(it|them|that|this|these|those|the (?:result|results|list|output|findings|content|contents|text|answer|details"
    r"|file|files|email|emails|mail|message|messages|note|notes|matches|lines|tickets|outcome|information|info))\b",
    re.IGNORECASE,
)
_SUMMARY = re.compile(
    r"\b(?:(?:a|the|its|their|this|that|short|brief)\s+)+(?:\w+[\s-]){0,2}?(summary|gist|recap)\b",
    re.IGNORECASE,
)


class CannotPlan(Exception):
    """The request, or a part of it, is beyond the capabilities at hand."""


class NeedsAnswer(Exception):
    """The request leaves open what only the user can say."""


@dataclass
class Source:
    """A text that other steps may use: the step it comes from, and where in its output it is."""

    step: str
    path: str
    label: str = ""

    @property
    def reference(self) -> str:
        """Spell the reference."""
        return f"{{{{steps.{self.step}.output{'.' + self.path if self.path else ''}}}}}"


@dataclass
class Draft:
    """Steps, the current topic, and values already extracted from it."""

    capabilities: dict[str, dict[str, Any]]
    steps: list[dict[str, Any]] = field(default_factory=list)
    topic: Source | None = None
    summary: Source | None = None
    facts: dict[str, Source] = field(default_factory=dict)
    last_of_clause: str | None = None

    def add(self, capability: str, description: str, **params: Any) -> str:
        """Append a step and return its id. Raises CannotPlan when the capability is not at hand."""
        found = self.capabilities.get(capability)
        if found is None:
            raise CannotPlan(f"it needs {capability}, which is not available here")
        given = {name: value for name, value in params.items() if value is not None}
        same = next((s for s in self.steps if s["capability"] == capability and s["params"] == given), None)
        if same and found["mode"] == "read_only":
            return str(same["id"])
        step: dict[str, Any] = {
            "id": f"s{len(self.steps) + 1}",
            "capability": capability,
            "description": description,
            "params": given,
            "estimated_risk": found["risk"],
        }
        refers = any("{{" in str(value) for value in given.values())
        if found["mode"] != "read_only" and not refers and self.last_of_clause:
            step["depends_on"] = [self.last_of_clause]
        self.steps.append(step)
        return str(step["id"])

    def set_topic(self, step: str, path: str, label: str = "") -> Source:
        """Make a text the thing that `it` means from now on."""
        self.topic = Source(step, path, label)
        self.summary = None
        self.facts = {}
        return self.topic


def domain(text: str) -> str | None:
    """Find which kind of thing a clause is about, by the first noun that says so."""
    for word in re.findall(r"#?[\w-]+", text.lower()):
        if word in DOMAINS:
            return DOMAINS[word]
    return None


def refers_back(text: str) -> bool:
    """Say whether a clause speaks of something mentioned before."""
    return bool(_REFERS_BACK.search(text))


def asks_for_summary(text: str) -> bool:
    """Say whether a clause speaks of a summary."""
    return bool(_SUMMARY.search(text))


def mentions_mail(text: str) -> bool:
    """Say whether a clause is about mail, by name or by what usually comes as mail."""
    found = set(re.findall(r"[\w-]+", text.lower()))
    return bool(found & MAIL_NOUNS) or any(DOMAINS.get(word) == "mail" for word in found)


def search_mail(draft: Draft, text: str) -> Source:
    """Add a mail search for what a clause describes."""
    who = slots.sender(text)
    about = slots.search_words(text, drop=(who or "",)) or None
    if not who and not about:
        step = draft.add("mail.search", "Look through the mailbox", limit=slots.count(text, "e?-?mails?"))
        return draft.set_topic(step, "messages.0.text", "mail")
    phrase = " ".join(filter(None, (about, f"from {who}" if who else None)))
    limit = slots.count(text, "(?:e-?mails?|messages|mails)")
    step = draft.add("mail.search", f"Search the mail for {phrase}", query=about, sender=who, limit=limit)
    return draft.set_topic(step, "messages.0.text", phrase)


def source_of(draft: Draft, text: str, *, fallback: bool = True) -> Source | None:
    """Find or make the step whose text a clause speaks of: a file, a mail, tickets, or `it`."""
    if path := slots.file_path(text):
        written = next(
            (s for s in draft.steps if s["capability"] == "files.write" and s["params"]["path"] == path), None
        )
        if written is None:
            return draft.set_topic(draft.add("files.read", f"Read {path}", path=path), "text", path)
    described = slots.sender(text) or slots.search_words(
        text, drop=("summary", "amount", "total", "due", "date")
    )
    if mentions_mail(text) and described and not (draft.topic and _same_thing(draft.topic.label, text)):
        return search_mail(draft, text)
    if re.search(r"\btickets\b", text, re.IGNORECASE) and not (
        draft.topic and draft.topic.label == "tickets"
    ):
        return list_tickets(draft, text)
    return draft.topic if fallback else None


def list_tickets(draft: Draft, text: str) -> Source:
    """Add a listing of tickets by status and words."""
    low = text.lower()
    status = next((s for s in ("closed", "open", "all") if re.search(rf"\b{s}\b", low)), None)
    status = "closed" if re.search(r"\b(done|finished|resolved)\b", low) else status
    status = "all" if re.search(r"\b(every|open and closed|closed and open)\b", low) else status
    about = re.search(
        r"\b(?:about|mention\w*|for|regarding|concerning|on|with|contain\w*|called|named)\s+(.+)$", text
    )
    query = (
        slots.search_words(about[1], drop=("ticket", "tickets", "title", "open", "closed")) if about else ""
    )
    step = draft.add(
        "tickets.list", f"List {status or 'open'} tickets", status=status or "open", query=query or None
    )
    return draft.set_topic(step, "", "tickets")


def extracted(draft: Draft, kind: str, source: Source) -> Source:
    """Add the extraction of one typed value from a text, once."""
    if kind not in draft.facts:
        step = draft.add("text.extract", f"Extract the {kind}", text=source.reference, kind=kind)
        draft.facts[kind] = Source(step, "value", kind)
    return draft.facts[kind]


def summarized(draft: Draft, text: str, source: Source) -> Source:
    """Add a summary of a text, once."""
    if draft.summary is None:
        sentences = slots.count(text, "(?:sentences?|lines?)")
        what = f"Summarize {source.label or 'the text'}"
        step = draft.add("text.summarize", what, text=source.reference, sentences=sentences)
        draft.summary = Source(step, "summary", "summary")
    return draft.summary


def content(draft: Draft, clause: Clause, text: str) -> str:
    """Decide what text a clause wants written, posted or kept: quoted, referred to, or spelled out.

    Raises NeedsAnswer when it is about something nobody has mentioned.
    """
    if found := quoted(text):
        return found[-1]
    values = [name for name in _kinds_in(text) if draft.topic]
    parts = [extracted(draft, kind, draft.topic).reference for kind in values if draft.topic]
    if asks_for_summary(text):
        source = source_of(draft, text)
        if source is None:
            raise NeedsAnswer("What should be summarized?")
        parts.append(summarized(draft, text, source).reference)
    if parts:
        return " ".join(parts)
    if slots.FILE.search(text) or mentions_mail(text) or re.search(r"\btickets\b", text, re.IGNORECASE):
        source = source_of(draft, text, fallback=False)
        if source is not None:
            return source.reference
    if refers_back(text) and draft.topic:
        return (draft.summary or draft.topic).reference
    if draft.topic and (not text or re.match(r"(the|my|its|their|that|this)\b", text, re.IGNORECASE)):
        return (draft.summary or draft.topic).reference
    if not text or re.fullmatch(_REFERS_BACK, text) or re.match(r"(the|my)\b", text, re.IGNORECASE):
        raise NeedsAnswer(f"What should I {clause.verb}?")
    return text


def _kinds_in(text: str) -> list[str]:
    definite = re.findall(r"\b(?:the|its|their|with|that)\s+([\w -]+)", text.lower())
    found = [kind for phrase in definite for part in phrase.split(" and ") if (kind := slots.kind(part))]
    return list(dict.fromkeys(found))


def _same_thing(label: str, text: str) -> bool:
    """Say whether a clause describes the current topic again rather than something new."""
    described = slots.search_words(
        text, drop=("summary", "amount", "total", "due", "date", "short", "brief")
    ).lower()
    return all(word in label.lower() for word in described.split())
