"""The embedded planner reaches out: a page of a server, and a mail to an address."""

from __future__ import annotations

import re

from planwright.extras.offline import slots
from planwright.extras.offline.clauses import Clause, quoted
from planwright.extras.offline.draft import CannotPlan, Draft, NeedsAnswer
from planwright.extras.offline.making import content, refuse_schedule
from planwright.extras.offline.phrases import is_sentence

_ADDRESS = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_MAILED = re.compile(
    r"^(?:(?:send|write)\s+(?:an?\s+)?(?:short\s+|quick\s+)?(?:e-?mail|mail|message)|send|e-?mail|mail)\b\s*(?P<rest>.*)$",
    re.IGNORECASE,
)
_SAYS = re.compile(
    r"\b(?:saying(?: that)?|that says|which says|with the (?:text|message|body)|and (?:say|tell \w+|write)(?: that)?|to (?:say|tell \w+) that)\b[\s:]*(?P<words>.+)$"
    r"|\bthat\s+(?P<that>.+)$|:\s*(?P<after>.+)$",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"\b(?:with )?(?:the )?subject(?: line)?\s*:?\s*(?:\"(?P<quoted>[^\"]+)\"|“(?P<curly>[^”]+)”|(?P<bare>[\w][^,:]*?))(?=\s*(?:,|:|$|\band\b|\bsaying\b|\bwith\b))",
    re.IGNORECASE,
)
_ATTACHED = re.compile(
    rf"\b(?:,?\s*(?:and\s+)?attach(?:ing)?|with|the file)?\s*(?:the (?:file )?)?{slots.FILE_NAME}(?:\s+(?:attached|as (?:an )?attachment))?",
    re.IGNORECASE,
)


def fetch(draft: Draft, part: Clause) -> bool:
    """Plan a clause that reads the page of a URL; say whether it is one."""
    url = slots.url(part.text)
    if url is None or part.action in ("save", "remember", "create", "copy") or _ADDRESS.search(part.text):
        return False
    if part.action == "send" or re.search(
        r"\b(?:put|delete|patch|upload|submit)\b", part.text, re.IGNORECASE
    ):
        raise CannotPlan(f"I can read {url}, but I send nothing to it")
    rest = part.text.replace(url, " ")
    if re.search(r"\bevery (?:\w+ )?(?:minute|hour|day|week|month)", rest, re.IGNORECASE):
        raise CannotPlan("I cannot schedule anything")
    if part.action not in ("search", "get", "list", "show", "read", "extract", "summarize", None):
        return False
    if part.action in ("extract", "summarize"):
        return False
    draft.read_url(url)
    return True


def mail(draft: Draft, part: Clause) -> bool:
    """Plan a mail to addresses that the clause spells; say whether it is one."""
    match = _MAILED.match(part.text)
    unquoted = re.sub(r"\"[^\"]*\"|“[^”]*”", '""', part.text)
    to = list(dict.fromkeys(_ADDRESS.findall(unquoted)))
    if not match or not to or part.action == "save" or re.match(r"draft|compose", part.text, re.IGNORECASE):
        return False
    rest = match["rest"]
    refuse_schedule(rest)
    subject = _SUBJECT.search(rest)
    attachments = [file[1] for file in slots.FILE.finditer(rest)] if "attach" in rest.lower() else []
    if subject:
        rest = rest.replace(subject[0], " ")
    rest = _ATTACHED.sub(" ", rest) if attachments else rest
    says = _SAYS.search(_ADDRESS.sub(" ", rest))
    if says and says["that"] and not is_sentence(says["that"]):
        says = None
    quotes = [quote for quote in quoted(rest) if not _ADDRESS.fullmatch(quote)]
    left = re.sub(r"\b(?:to|and)\s*(?=,|$|\s{2,})", " ", _ADDRESS.sub(" ", rest)).strip(" ,")
    left = re.sub(r"^to\b\s*|\s*\bto$", "", left).strip(" ,")
    if quotes:
        text = quotes[-1]
    elif says:
        text = (says["words"] or says["that"] or says["after"]).strip()
    elif left:
        text = content(draft, Clause(left, part.verb, "send", left), left)
    else:
        raise NeedsAnswer("What should the mail say?")
    named = next(filter(None, subject.groups()), "") if subject else _first_words(draft, text)
    draft.add(
        "mail.send",
        f"Send a mail to {', '.join(to)}",
        to=to,
        subject=named.strip(' "“”'),
        text=text,
        attachments=attachments or None,
    )
    draft.last_text = text
    return True


def _first_words(draft: Draft, text: str) -> str:
    if "{{" in text:
        source = draft.focus or draft.topic
        label = source.label if source else ""
        return label[:1].upper() + label[1:]
    return text.split("\n")[0][:60]
