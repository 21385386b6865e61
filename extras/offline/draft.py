"""The plan being composed: steps so far, and what later clauses may refer back to."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from planwright.extras.offline import slots
from planwright.extras.offline.phrases import kind, mentions_mail
from planwright.extras.offline.sequence import Step
from planwright.language.lexicon import COUNTS
from planwright.language.nouns import RESULT_WORDS, TICKET_WORDS

_ALIASES = {"number": ("phone", "amount"), "url": ("email",), "email": ("url",)}


class CannotPlan(Exception):
    """The request, or a part of it, is beyond the capabilities at hand."""


class NeedsAnswer(Exception):
    """The request leaves open what only the user can say."""


ALL = re.compile(r"\b(?:all|every|each)\b", re.IGNORECASE)
_OURS = re.compile(
    r"\b(?:did|have|had|do) (?:i|we) (?:\w+ )?(?:send|sent|write|written|mail|mailed|email|emailed|reply|replied)\b"
    r"|\b(?:i|we) (?:sent|wrote|mailed|emailed|replied)\b|\b(?:my|our) (?:sent|outgoing)\b"
    r"|\b(?:addressed |sent )?to (?!me\b|us\b|my\b|our\b|the\b)[A-Z][\w@.-]*",
)
MOST_MAILS = 100
_NO_TEXT = re.compile(r"\{\{steps\.(\w+)\.output(?:\.(?:id|count))?\}\}")


@dataclass
class StepSource:
    """A text that other steps may use: the step it comes from, and where in its output it is."""

    step: str
    """Id of the step that the text comes from."""
    path: str
    """Where in the output of that step it is; "" for the whole."""
    label: str = ""
    """What it is, in words, to know it again when it is spoken of."""

    @property
    def reference(self) -> str:
        """Spell the reference."""
        return f"{{{{steps.{self.step}.output{'.' + self.path if self.path else ''}}}}}"


@dataclass
class Draft:
    """Steps so far; `topic` is the text spoken of, `focus` what `it` means."""

    capabilities: dict[str, Step]
    """What the planner may use, by name, as its prompt spells them."""
    databases: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    """Columns of the user's databases, by table and database."""
    steps: list[Step] = field(default_factory=list)
    """Steps so far, as a plan spells them."""
    topic: StepSource | None = None
    """Text that is spoken of; None before one."""
    focus: StepSource | None = None
    """What `it` means; None before anything was named."""
    last_created: StepSource | None = None
    """Last thing that was created; None before one."""
    summary: StepSource | None = None
    """Summary of the topic; None before one was made."""
    facts: dict[str, StepSource] = field(default_factory=dict)
    """Values extracted from the topic, by their kind."""
    several: list[StepSource] = field(default_factory=list)
    """Texts that `them` means; empty where only one is spoken of."""
    last_text: str = ""
    """Words that were written last, for a later clause that repeats them; "" for none."""
    last_of_clause: str | None = None
    """Id of the last step of the clause before, which a step with an effect follows; else None."""
    touched: dict[str, None] = field(default_factory=dict)
    """Ids of the steps that the clause at hand speaks of, in their order."""
    bound: list[str] = field(default_factory=list)
    """Phrases of the clause at hand that were read into a value of another spelling."""

    def begin(self) -> None:
        """Begin a clause: nothing of it is bound yet."""
        self.touched, self.bound = {}, []

    def add(self, capability: str, description: str, **params: Any) -> str:
        """Append a step and return its id. Raises CannotPlan when the capability is not at hand."""
        capability_card = self.capabilities.get(capability)
        if capability_card is None:
            raise CannotPlan(f"it needs {capability}, which is not available here")
        takes = capability_card["args"]["properties"]
        arguments = {
            name: self._in_words(value) if _takes_text(takes.get(name, {})) else value
            for name, value in params.items()
            if value is not None
        }
        same = next(
            (s for s in self.steps if s["capability"] == capability and s["params"] == arguments), None
        )
        if same and capability_card["mode"] == "read_only" and not self._changed_since(same):
            self.touched[str(same["id"])] = None
            return str(same["id"])
        step: Step = {
            "id": f"s{len(self.steps) + 1}",
            "capability": capability,
            "description": description,
            "params": arguments,
            "estimated_risk": capability_card["risk"],
        }
        refers = any("{{" in str(value) for value in arguments.values())
        if capability_card["mode"] != "read_only" and not refers and self.last_of_clause:
            step["depends_on"] = [self.last_of_clause]
        self.steps.append(step)
        self.touched[str(step["id"])] = None
        return str(step["id"])

    def _in_words(self, value: Any) -> Any:
        """Put what is no text into one: a listing, or the number of something."""
        match = _NO_TEXT.fullmatch(value) if isinstance(value, str) else None
        step = next((planned for planned in self.steps if match and planned["id"] == match[1]), None)
        return f"{step['description']}: {value}" if step else value

    def _changed_since(self, step: Step) -> bool:
        later = self.steps[self.steps.index(step) + 1 :]
        return any(self.capabilities[later_step["capability"]]["mode"] != "read_only" for later_step in later)

    def set_topic(self, step: str, path: str, label: str = "") -> StepSource:
        """Make a text the thing that is spoken of from now on."""
        self.topic = self.focus = StepSource(step, path, label)
        self.summary = None
        self.facts = {}
        return self.topic

    def read_url(self, url: str) -> StepSource:
        """Add the reading of a page, and make its text what is spoken of."""
        return self.set_topic(self.add("http.request", f"Fetch {url}", url=url), "text", url)


def _takes_text(schema: Step) -> bool:
    return any(choice.get("type") == "string" for choice in (schema, *schema.get("anyOf", ())))


def search_mail(draft: Draft, text: str) -> StepSource:
    """Add a mail search for what a clause describes."""
    if _OURS.search(text):
        raise CannotPlan("I search the mail that came in, not what was sent")
    who = slots.sender(text)
    if who and re.search(rf"{re.escape(who)}\s+(?:and|or)\s+(?:from\s+)?[A-Z]", text):
        raise CannotPlan(f"I search for the mails of one sender, and {text!r} names several")
    limit = slots.count(text, "(?:e-?mails?|messages|mails)")
    counted = [name for name, number in COUNTS.items() if number == limit] + [str(limit)]
    words = (
        slots.search_words(text, drop=(who or "", "message messages", *(counted if limit else ()))) or None
    )
    every = limit is None and ALL.search(text) is not None
    phrase = " ".join(filter(None, (words, f"from {who}" if who else None)))
    sought = " ".join(filter(None, (f"for {words}" if words else None, f"from {who}" if who else None)))
    title = f"Search the mail {sought}" if sought else "Look through the mailbox"
    step = draft.add("mail.search", title, query=words, sender=who, limit=MOST_MAILS if every else limit)
    several = every or (limit or 1) > 1
    return draft.set_topic(step, "messages" if several else "messages.0.text", phrase or "mail")


def list_tickets(draft: Draft, text: str) -> StepSource:
    """Add a listing of tickets by status and words."""
    low = text.lower()
    status = "closed" if re.search(r"\b(closed|done|finished|resolved)\b", low) else None
    if re.search(r"\b(all|every|open and closed|closed and open|open or closed|closed or open)\b", low):
        status = "all" if not re.search(r"\ball (?:the |our |my )?(?:open|closed)\b", low) else status
    match = re.search(
        r"\b(?:about|mention\w*|for|regarding|concerning|on|with|contain\w*|called|named|related to|that say)\s+(.+)$",
        text,
    )
    query = slots.search_words(match[1], drop=TICKET_WORDS) if match else ""
    step = draft.add(
        "tickets.list", f"List {status or 'open'} tickets", status=status or "open", query=query or None
    )
    return draft.set_topic(step, "", "tickets")


def source_of(draft: Draft, text: str, *, fallback: bool = True) -> StepSource | None:
    """Find or make the step whose text a clause speaks of: a file, a mail, tickets, or `it`."""
    if url := slots.url(text):
        return draft.read_url(url)
    if (every := ALL.search(text)) and (folder := _folder_of_all(text)) and not slots.FILE.search(text):
        step = draft.add(
            "files.read_all", f"Read {every[0]} file in {folder}", path=folder, pattern=slots.pattern(text)
        )
        return draft.set_topic(step, "files", folder)
    if path := slots.file_path(text):
        written = (s for s in draft.steps if s["capability"] == "files.write" and s["params"]["path"] == path)
        if next(written, None) is None:
            return draft.set_topic(draft.add("files.read", f"Read {path}", path=path), "text", path)
    described = slots.sender(text) or slots.search_words(text, drop=RESULT_WORDS)
    known = draft.topic is not None and _same_thing(draft.topic.label, text)
    if mentions_mail(text) and described and not known:
        return search_mail(draft, text)
    if re.search(r"\btickets\b", text, re.IGNORECASE) and not (
        draft.topic and draft.topic.label == "tickets"
    ):
        return list_tickets(draft, text)
    return draft.topic if fallback else None


def _folder_of_all(text: str) -> str | None:
    """Name the folder whose files are spoken of as all of them; `all notes` are those in `notes`."""
    if re.search(r"\bnotes\b", text, re.IGNORECASE):
        return slots.folder(text) or "notes"
    return slots.folder(text) if re.search(r"\b(?:files|documents|docs)\b", text, re.IGNORECASE) else None


def extracted(draft: Draft, kind_: str, source: StepSource) -> StepSource:
    """Add the extraction of one typed value from a text, once. Raises CannotPlan for rows of a database."""
    if any(step["id"] == source.step and step["capability"] == "sql.query" for step in draft.steps):
        raise CannotPlan(f"say which {kind_} of which table you mean")
    if kind_ == "number" and not source.path:
        draft.focus = StepSource(source.step, "count", "number")  # of a listing, the number is how many
        return draft.focus
    for other in _ALIASES.get(kind_, ()):
        if kind_ not in draft.facts and draft.focus and draft.focus.label == other:
            return draft.focus
    if kind_ not in draft.facts:
        step = draft.add("text.extract", f"Extract the {kind_}", text=source.reference, kind=kind_)
        draft.facts[kind_] = StepSource(step, "value", kind_)
    draft.focus = draft.facts[kind_]
    return draft.facts[kind_]


def summarized(draft: Draft, text: str, source: StepSource) -> StepSource:
    """Add a summary of a text, once."""
    if draft.summary is None:
        searched = any(
            step["id"] == source.step and step["capability"] == "files.search" for step in draft.steps
        )
        source = StepSource(source.step, "matches", source.label) if searched and not source.path else source
        sentences = slots.count(text, "(?:sentences?|lines?)")
        title = f"Summarize {source.label or 'the text'}"
        step = draft.add("text.summarize", title, text=source.reference, sentences=sentences)
        draft.summary = StepSource(step, "summary", "summary")
    draft.focus = draft.summary
    return draft.summary


def _same_thing(label: str, text: str) -> bool:
    """Say whether a clause describes the current topic again rather than something new."""
    described = slots.search_words(text, drop=RESULT_WORDS).lower()
    return all(word in label.lower() or kind(word) for word in described.split())
