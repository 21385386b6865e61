"""The embedded planner looks: time, memory, mail, tickets, files, and values in them."""

from __future__ import annotations

import re

from planwright.extras.offline import slots
from planwright.extras.offline.clauses import Clause, quoted
from planwright.extras.offline.draft import (
    CannotPlan,
    Draft,
    StepSource,
    extracted,
    list_tickets,
    search_mail,
    source_of,
    summarized,
)
from planwright.extras.offline.phrases import (
    asks_for_summary,
    domain,
    is_reference,
    kind,
    mentions_mail,
    refers_back,
)

ASKS_TIME = re.compile(
    r"\b((?:what|the|current|local|exact) time\b(?! (?:of|for|i|we)\b)|time is it|time it is|time in\b|time (?:right )?now|how late is it"
    r"|what(?:['’]s| is)? (?:day|date)|(?:what )?day (?:is it|it is|of the week)|today['’]?s date|current date|date today"
    r"|the date(?: today)?$|weekday|date and time|time and date|day (?:is )?today|what is the date|date is it|the day today)",
    re.IGNORECASE,
)
_MEMORY = re.compile(
    r"\b(memory|memories|(?:do|did|can) you (?:still )?(?:remember|know|recall)|you remember|you(?:['’]ve| have)? remembered"
    r"|(?:did )?(?:i|we) (?:ever )?(?:told|asked|tell|ask) you|you know about"
    r"|i(?:['’]ve| have)? (?:asked you to (?:remember|keep)|told you)|(?:i|we) (?:made|had) you remember|have you (?:noted|stored))\b",
    re.IGNORECASE,
)
_MENTION = re.compile(
    r"\b(?:mention(?:s|ing|ed)?|contain(?:s|ing)?|that say|says?|talk(?:s|ing)? about|refer(?:s|ring)? to|occurrences? of"
    r"|with the (?:word|phrase|text)|for the (?:word|phrase|text)|about|for|where|include(?:s)?|discuss(?:es)?)\s+(.+)$",
    re.IGNORECASE,
)
_MAIL_QUESTION = re.compile(
    r"\bwhat (?!did |do |does |i |you |we )\w+ (?:wrote|sent|mailed|emailed)\b|\b(?:(?:sent?|written?|mailed|emailed|wrote) (?:me|us)|(?:send|write|mail|email) (?:me|us)|in my inbox)\b",
    re.IGNORECASE,
)
_LITERAL = re.compile(r"\b(?:this|following(?: text)?|text)\s*:\s*(.+)$", re.IGNORECASE | re.DOTALL)
_PLACE = r"\s+\b(?:in|inside|within|across|through|under|from|throughout)\b\s+(?:the |my |our |all |any |your )*[\w./-]*.*$"


def look(draft: Draft, clause: Clause) -> None:
    """Find, list, show or read something, by what the clause is about."""
    text = clause.rest
    if ASKS_TIME.search(clause.text) and not (slots.file_path(text) or mentions_mail(text)):
        look_at_clock(draft, clause)
    elif _MEMORY.search(clause.text):
        recall(draft, clause)
    elif asks_for_summary(text) and (source := source_of(draft, text)):
        summarized(draft, text, source)
    elif _extract_asked(draft, clause):
        return
    elif _about_files(clause):
        look_in_files(draft, clause)
    elif re.search(r"\btickets?\b", text, re.IGNORECASE):
        list_tickets(draft, text)
    elif mentions_mail(text) or _MAIL_QUESTION.search(text):
        search_mail(draft, text)
    elif not (draft.focus and (is_reference(text) or refers_back(text))):
        raise CannotPlan(f"I do not know where to look for {text!r}")


def look_at_clock(draft: Draft, clause: Clause) -> None:
    """Tell the time; a date and a time of day are different things to refer to."""
    step = draft.add("datetime.now", "Tell the time", timezone=slots.zone(clause.text))
    wants_day = re.search(r"\b(date|day|weekday)\b", clause.text) and not re.search(r"\btime\b", clause.text)
    draft.set_topic(step, "date" if wants_day else "iso", "time")


def recall(draft: Draft, clause: Clause) -> None:
    """Search what was remembered."""
    match = re.search(r"\b(?:about|regarding|on|for|concerning)\s+(.+)$", clause.text, re.IGNORECASE)
    text = match[1] if match else _MEMORY.sub(" ", clause.rest)
    gone = "remember remembered memory memories know told tell asked ask i've recall still stored noted made again while ago"
    words = slots.search_words(text, drop=tuple(gone.split()))
    step = draft.add("memory.search", f"Search the memory for {words or 'everything'}", query=words)
    draft.set_topic(step, "matches.0.text", "memory")


def look_in_files(draft: Draft, clause: Clause) -> None:
    """List, search or read files."""
    text = clause.text
    path, pattern = slots.file_path(text), slots.pattern(text)
    folder = slots.folder(text.replace(path, " ") if path else text)
    query = _query(clause, path)
    if query:
        place = path or folder or _notes(text)
        step = draft.add("files.search", f"Search the files for {query}", query=query, path=place)
        draft.set_topic(step, "", query)
    elif path and "*" not in path:
        paths = [path] if " " in path else [match[1] for match in slots.FILE.finditer(text)] or [path]
        several = [
            StepSource(draft.add("files.read", f"Read {file}", path=file), "text", file) for file in paths
        ]
        draft.set_topic(several[-1].step, "text", several[-1].label)
        draft.several = several if len(several) > 1 else []
    elif clause.action == "search" and not pattern and not re.search(r"\bfiles?\b", text):
        raise CannotPlan(f"I do not know what to look for in {text!r}")
    else:
        place = folder or _notes(text)
        step = draft.add(
            "files.list", f"List the files in {place or 'the workspace'}", path=place, pattern=pattern
        )
        draft.set_topic(step, "", "files")


def extract(draft: Draft, clause: Clause) -> None:
    """Extract typed values from a file, a mail, a quotation, or what came before."""
    if not _extract_asked(draft, clause, explicit=True):
        look(draft, clause)


def _extract_asked(draft: Draft, clause: Clause, *, explicit: bool = False) -> bool:
    """Extract what a clause asks for, if it asks for a typed value at all."""
    text = clause.rest if clause.verb else clause.text
    wanted = _asked_kinds(text, explicit)
    if not wanted:
        return False
    literal = _LITERAL.search(clause.text)
    spelled = (
        literal[1] if literal else next((q for q in quoted(text) if not slots.file_path(f'"{q}"')), None)
    )
    if spelled:
        for name in wanted:
            step = draft.add("text.extract", f"Extract the {name}", text=spelled, kind=name)
            draft.set_topic(step, "value", name)
        return True
    source = source_of(draft, text)
    if source is None:
        return False
    for name in wanted:
        extracted(draft, name, source)
    return True


def _asked_kinds(text: str, explicit: bool) -> list[str]:
    """List the values a clause asks for; words that only describe a mail do not count."""
    if re.search(r"\bhow much\b", text, re.IGNORECASE):
        return ["amount"]
    if re.match(r"when\b", text, re.IGNORECASE):
        return ["date"]
    head = re.sub(r"^(?:what|which)(?:['’]s| is| are| was)?\s+", "", text, flags=re.IGNORECASE)
    head = re.split(
        r"\b(?:of|from|in|on|out of|off|for|that['’]?s|given)\b", head, maxsplit=1, flags=re.IGNORECASE
    )[0]
    parts = re.split(r"\band\b|,", head)
    kinds_named = [name for part in parts if (name := kind(part)) and (explicit or _is_bare(part))]
    return list(dict.fromkeys(kinds_named))


def _is_bare(phrase: str) -> bool:
    """Say whether a phrase is only the name of a value: `the due date`, not `the amount invoice`."""
    plain = re.sub(
        r"^(?:me|the|its|all|any|every|a|an|their|our|my|total|invoice|exact)\s+", "", phrase.strip()
    )
    return not mentions_mail(re.sub(r"\binvoice (?=amount|number|date|total)", "", plain))


def _about_files(clause: Clause) -> bool:
    text = clause.text
    if slots.file_path(text) or clause.verb.startswith("grep"):
        return True
    subject = domain(text)
    if subject in ("mail", "tickets"):
        return False
    named = slots.pattern(text) is not None or bool(re.search(r"\b(?:folder|directory)\b", text))
    return (
        subject == "files"
        or named
        or (clause.action == "list" and slots.folder(text) is not None and subject is None)
    )


def _query(clause: Clause, path: str | None) -> str | None:
    """Read what to search files for; None when the clause wants a listing or a whole file."""
    text = clause.text
    if quotes := [q for q in quoted(text) if not slots.file_path(f'"{q}"')]:
        return quotes[0]
    if clause.verb.startswith("grep"):
        return slots.search_words(re.sub(_PLACE, "", clause.rest.removeprefix("for ")))
    searching = clause.action in ("search", "get") or clause.question
    if not searching and not re.search(r"\bmention|\bcontain|\bsay", text):
        return None
    mention = _MENTION.search(clause.rest)
    where = re.match(
        r"where (?:is|are|do we|did we|does)\s+(.+?)\s+(?:mention\w*|appear\w*|discuss\w*|come up)", text
    )
    if where:
        return slots.search_words(where[1])
    if not mention or (path and path in mention[1] and not re.search(r"\b(?:for|about)\b.+\bin\b", text)):
        return None
    words = re.sub(_PLACE, "", " " + mention[1])
    return slots.search_words(words, drop=("word", "phrase", "term")) or None


def _notes(text: str) -> str | None:
    """`my notes` means the folder `notes`, as it stands in every demo and most workspaces."""
    return (
        "notes"
        if re.search(r"\b(?:my|the|our|all|which|in|any|these) notes\b", text, re.IGNORECASE)
        else None
    )
