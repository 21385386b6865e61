"""The embedded planner opens tickets: title, amount and body from what a request says."""

from __future__ import annotations

import re

from planwright.extras.offline import slots
from planwright.extras.offline.clauses import quoted
from planwright.extras.offline.draft import (
    CannotPlan,
    Draft,
    NeedsAnswer,
    StepSource,
    extracted,
    source_of,
    summarized,
)
from planwright.extras.offline.phrases import (
    asks_for_summary,
    is_reference,
    kinds,
    mentions_mail,
    refers_back,
)

_NO_FIELD = re.compile(
    r"\b(?:assigned to|assign (?:it )?to|due (?:on|by|next|this|in|tomorrow|today|\w+day|\d)|(?:high|low|top|medium|urgent) priority"
    r"|priority (?:high|low|urgent|medium|\d)|with (?:a )?(?:deadline|label|tag|due date)\b|tagged|labell?ed)\b",
    re.IGNORECASE,
)


_TAIL = re.compile(
    r"\s*,?\s*\b(?:with|including|containing|and include|using|from)\s+(?:the|its|a|that|an|it|them|this)\b.*$",
    re.IGNORECASE,
)


def create_ticket(draft: Draft, text: str) -> None:
    """Add the creation of one ticket. Raises NeedsAnswer when nothing says what it is about."""
    after = re.split(r"\btickets?\b", text, maxsplit=1, flags=re.IGNORECASE)[1].strip(" :,-")
    focus_is_amount = bool(draft.focus and draft.focus.label == "amount")
    spoken = re.sub(r"\"[^\"]*\"|“[^”]*”", '""', after)
    amount = slots.money(spoken)
    if amount is None and re.search(r"\b(amount|total|sum|price|figure)\b", spoken, re.IGNORECASE):
        source = source_of(draft, _TAIL.sub("", after) if mentions_mail(_TAIL.sub("", after)) else after)
        if source is None:
            raise NeedsAnswer("Which amount should the ticket name?")
        amount = extracted(draft, "amount", source).reference
    elif (
        amount is None
        and focus_is_amount
        and draft.focus
        and refers_back(re.sub(r"\b(?:that|this) \w", "", after))
    ):
        amount = draft.focus.reference
    if match := _NO_FIELD.search(spoken):
        raise CannotPlan(f"a ticket has a title, an amount and a body, and nothing for {match[0]!r}")
    title = _title(after) or (_sentence_case(draft.topic.label) if draft.topic else "")
    if not title:
        raise NeedsAnswer("What should the ticket be about?")
    body = _ticket_body(draft, after, amount)
    step = draft.add("tickets.create", f"Create the ticket: {title}", title=title, body=body, amount=amount)
    draft.last_created = StepSource(step, "id", "ticket")


def _ticket_body(draft: Draft, after: str, amount: str | None) -> str | None:
    spelled = re.search(r"\b(?:body|description|details?|text)\b\s*:?\s*(\"[^\"]*\"|“[^”]*”|'[^']*')", after)
    if spelled:
        return spelled[1][1:-1]
    as_body = re.search(r"\bwith (?:the|that|its) \w+ as (?:the|its) (?:body|description)\b", after)
    if draft.focus and as_body and (not asks_for_summary(after) or draft.focus.label == "summary"):
        return draft.focus.reference
    if asks_for_summary(after):
        source = source_of(draft, after)
        return summarized(draft, after, source).reference if source else None
    wanted = [name for name in kinds(after) if name != "amount"]
    if wanted and draft.topic:
        return " ".join(extracted(draft, name, draft.topic).reference for name in wanted)
    if draft.topic and draft.topic.path.startswith("messages"):
        return "Mail: {{steps." + draft.topic.step + ".output.messages.0.subject}}"
    if draft.focus and amount is None and refers_back(after):
        return draft.focus.reference
    return None


def _title(after: str) -> str:
    if quotes := quoted(after):
        return quotes[0]
    text = re.sub(
        r"\b(?:titled|called|named|entitled|with the title|with title|saying|that says|subject)\b\s*:?",
        "",
        after,
    )
    money = slots.money(text)
    if money:
        before = r"\s*,?\s*(?:\b(?:with|for|over|of|at)\s+)?(?:an? |the )?(?:amount\s*(?:of|is|:)?\s*)?"
        text = re.sub(rf"{before}{re.escape(money)}", "", text)
    text = _TAIL.sub("", text)
    text = re.sub(
        r"^(?:to|for|about|on|that|regarding|concerning|over|:)\s+",
        "",
        text.strip(" ,:-"),
        flags=re.IGNORECASE,
    )
    text = re.sub(r"\s+(?:for|about|on|to) (?:it|this|that)$", "", text.strip(" ,:-"))
    if (
        not text
        or is_reference(text)
        or re.fullmatch(r"(?:for|about|to|on)?\s*(?:it|them|me|us|this|that)?", text)
    ):
        return ""
    return _sentence_case(re.sub(r"^(?:the|a|an)\s+", "", text.strip(" ,.:-"), flags=re.IGNORECASE))


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]
