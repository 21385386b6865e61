"""The embedded planner arranges: what is in the calendar, a draft, a document, and what is to be forgotten.

Only requests that say so plainly; everything else is left to the other rules.
"""

from __future__ import annotations

import re

from planwright.extras.offline import slots
from planwright.extras.offline.clauses import Clause, quoted
from planwright.extras.offline.days import named_days
from planwright.extras.offline.draft import Draft, NeedsAnswer, list_tickets, search_mail
from planwright.extras.offline.phrases import mentions_mail
from planwright.extras.offline.querying import query

_CALENDAR = re.compile(r"\b(?:calendar|agenda|diary|meetings?|appointments?|events)\b", re.IGNORECASE)
_LOOKS = re.compile(
    r"^(?:whats?|which|show|list|do|have|is|are|any|check|get|give|when|how|look|see|tell|find"
    r"|(?:my |our |the |all )*(?:calendar|agenda|diary|meetings?|appointments?|events))\b",
    re.IGNORECASE,
)
_PLANS = re.compile(
    r"^(?:(?:do|have|did|will) (?:i|we) (?:have |got )?(?:anything|something|any plans|plans|an? (?:plan|date))\b"
    r"|what(?:['’]?s| is| do (?:i|we) have)? (?:on|planned|scheduled|up|going on|happening)\b|is there anything\b|anything (?:on|planned)\b)",
    re.IGNORECASE,
)
_SUBJECT_OF_EVENT = re.compile(
    r"\b(?:about|with|called|named|titled|regarding|concerning|mention\w*)\s+(?P<words>.+)$", re.IGNORECASE
)
_ADDRESS = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
_DRAFT = re.compile(
    r"^(?:draft|compose|write|prepare|create|make)\s+(?:an?|the)?\s*(?:\w+\s+)?(?:e-?mail|mail|reply|draft)\b\s*(?P<rest>.*)$",
    re.IGNORECASE,
)
_SAYS = re.compile(
    r"\b(?:saying(?: that)?|that says|which says|with the text)\b[\s:]*(?P<words>.+)$", re.IGNORECASE
)
_SUBJECT = re.compile(
    r"\b(?:about|regarding|with the subject|subject)\b\s*:?\s*(?P<words>.+)$", re.IGNORECASE
)
_QUOTED_SUBJECT = re.compile(r"\bsubject\b\s*:?\s*[\"“'](?P<words>[^\"”']+)[\"”']", re.IGNORECASE)
_FORGET = re.compile(
    r"^(?:please )?forget\s+(?:that|about|what (?:i|we) (?:told|said to|asked) you (?:about|on)|the fact that)\s+(?P<what>.+)$",
    re.IGNORECASE,
)
_DOCUMENT = re.compile(
    r"^(?:an?|the|new)?\s*(?:new )?(?P<form>csv|spreadsheet|html(?: page)?|markdown (?:table|document))\b(?: file)?"
    r".*?\b(?:of|with|from|listing|for)\b\s+(?P<what>.+)$",
    re.IGNORECASE,
)
_ENDINGS = {"csv": "csv", "spreadsheet": "csv", "html": "html", "html page": "html"}


def arrange(draft: Draft, part: Clause) -> bool:
    """Plan a clause about one of these; say whether it is about one."""
    if match := _FORGET.match(part.text):
        return _forget(draft, match["what"])
    if match := _DRAFT.match(part.text):
        return _draft_mail(draft, match["rest"])
    if part.action in ("create", None) and (match := _DOCUMENT.match(part.rest)):
        return _document(draft, match["form"].lower(), match["what"], slots.file_path(part.rest))
    if _PLANS.match(part.text) and named_days(part.text) and not slots.file_path(part.text):
        return _calendar(draft, part.text)
    if _CALENDAR.search(part.text) and _LOOKS.match(part.text) and not slots.file_path(part.text):
        return _calendar(draft, part.text)
    return False


def _calendar(draft: Draft, text: str) -> bool:
    if mentions_mail(text) or re.search(r"\b(?:notes?|files?|tickets?)\b", text, re.IGNORECASE):
        return False
    days = named_days(text)
    for named in days:
        draft.bound.append(named.phrase)
        text = text.replace(named.phrase, " ")
    subject = _SUBJECT_OF_EVENT.search(text)
    query = slots.search_words(subject["words"]) if subject else None
    start, end = ("today", "next month") if query else ("this week", None)
    if days:
        start, end = days[0].start, days[-1].end or (days[-1].start if len(days) > 1 else None)
    title = f"Look into the calendar: {' to '.join(filter(None, (start, end)))}" + (
        f", {query}" if query else ""
    )
    step = draft.add("calendar.list", title, start=start, end=end, query=query, timezone=slots.zone(text))
    draft.set_topic(step, "", "calendar")
    return True


def _draft_mail(draft: Draft, rest: str) -> bool:
    body_match, subject_match = _SAYS.search(rest), _SUBJECT.search(rest)
    quotes = [quote for quote in quoted(rest) if not re.fullmatch(_ADDRESS, quote)]
    words = quotes[-1] if quotes else body_match["words"].strip() if body_match else None
    head = rest[: body_match.start()] if body_match else rest
    to = list(dict.fromkeys(re.findall(_ADDRESS, head)))
    if words is None and subject_match is None:
        return False
    if not to:
        raise NeedsAnswer("To which address is the mail?")
    if words is None:
        raise NeedsAnswer("What should the mail say?")
    subject = _QUOTED_SUBJECT.search(head) or _SUBJECT.search(head)
    title = subject["words"].strip(" ,:.") if subject else words.split("\n")[0][:60]
    draft.add("mail.draft", f"Draft a mail to {', '.join(to)}", to=to, subject=title.strip('"“”'), text=words)
    return True


def _document(draft: Draft, form: str, content: str, path: str | None) -> bool:
    plain = re.sub(r"\s*\b(?:as|to|in|into|called|named)\s+\S+$", "", content) if path else content
    if re.search(r"\btickets\b", plain, re.IGNORECASE):
        step, rows, name = list_tickets(draft, plain).step, "tickets", "tickets"
    elif mentions_mail(plain):
        step, rows, name = search_mail(draft, plain).step, "messages", "mail"
    elif _CALENDAR.search(plain) and _calendar(draft, plain):
        step, rows, name = draft.steps[-1]["id"], "events", "calendar"
    elif query(draft, Clause(plain, "", None, plain)):
        step, rows, name = draft.steps[-1]["id"], "rows", "table"
    else:
        return False
    path = path or f"{name}.{_ENDINGS.get(form, 'md')}"
    title = None if path.endswith(".csv") else name.capitalize()
    reference = f"{{{{steps.{step}.output.{rows}}}}}"
    draft.add("documents.create", f"Create {path}", path=path, rows=reference, title=title)
    return True


def _forget(draft: Draft, text: str) -> bool:
    words = slots.search_words(text.strip(" .!"))
    if not words:
        raise NeedsAnswer("What should I forget?")
    draft.add("memory.forget", f"Forget {words}", query=words)
    return True
