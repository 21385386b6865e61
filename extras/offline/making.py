"""The embedded planner makes: summaries, tickets, files, messages, memories."""

from __future__ import annotations

import re

from planwright.extras.offline import slots
from planwright.extras.offline.clauses import Clause, quoted
from planwright.extras.offline.draft import (
    CannotPlan,
    Draft,
    NeedsAnswer,
    StepSource,
    extracted,
    source_of,
    summarized,
)
from planwright.extras.offline.looking import ASKS_TIME, look_at_clock
from planwright.extras.offline.phrases import (
    asks_for_summary,
    domain,
    is_reference,
    is_sentence,
    kinds,
    mentions_mail,
)
from planwright.extras.offline.ticketing import create_ticket
from planwright.language.lexicon import OUT_OF_REACH

_TEAM = r"(?:#?team(?:['’]s)?(?:\s+slack)?(?:\s+(?:channel|chat))?|(?:team\s+)?channel|slack(?:\s+channel)?|everyone|colleagues)"
_TO_TEAM = re.compile(
    rf"\s*\b(?:to|in|into|on|onto|with|at|for|via)\s+(?:the\s+|our\s+|my\s+)?{_TEAM}\b(?:\s+(?:channel|chat))?",
    re.IGNORECASE,
)
_TEAM_FIRST = re.compile(
    rf"^(?:(?:to|in|on)\s+)?(?:the\s+|our\s+|my\s+)?{_TEAM}(?![\w'’-])(?:\s+(?:in|on)\s+(?:the\s+)?(?:#?team|channel|slack|company)(?![\w-]))?\s*(?:know\b|an? (?:quick |short )?(?:message|note|heads-up|update)\b)?[\s,:]*"
    r"(?P<that>that\b|about\b|saying\b|:)?\s*",
    re.IGNORECASE,
)
_WRAPPING = re.compile(
    r"^\s*(?:(?:(?:a|an|the|this)\s+)?(?:quick |short |brief )?(?:message|note|update|heads-up|word|line|reminder)\b)?\s*"
    r"(?:saying|that says|which says|that reads|reading|that|with the text|with|about|:)?\s*",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    rf"\b(?:in|into|on|onto|to|via|by|from)\s+(?:my |the |our |a |an |his |her )?(?:{OUT_OF_REACH})\b",
    re.IGNORECASE,
)
_LATER = re.compile(
    r"\b(?:every (?:day|week|month|morning|evening|hour|weekday|(?:mon|tues|wednes|thurs|fri|satur|sun)day)|(?:daily|weekly|hourly)(?!\.\w| (?:report|summary|digest|update|review|overview|status|list))"
    r"|(?:at|by) \d{1,2}(?::\d\d)?\s*(?:am|pm|o['’]clock)?$|tomorrow(?:,? (?:at )?\w+)*$|tonight$|in (?:\d+|an?|ten|five) (?:minutes?|hours?|days?)$"
    r"|next (?:week|month|monday|tuesday|wednesday|thursday|friday)$)",
    re.IGNORECASE,
)
_PRIVATE = re.compile(r"\b(?:dm|direct message|private(?:ly)?|in person)\b", re.IGNORECASE)


_REPORT = re.compile(
    r"(?:a |an |the |my |our )?(?:\w+ )?(?:report|digest|overview|list|listing)\s+(?:of|about|on|from|over)\s+(?:the |all |my |our )*(?P<subject>.+)$",
    re.IGNORECASE,
)
_SEVERAL_MAILS = re.compile(r"\b(?:e-?mails|mails|messages)\b", re.IGNORECASE)
_DATA = re.compile(
    r"(?:with )?(?:the |a |an )?(?:names?|list|numbers?|count|overview|table|details|titles?|addresses|dates?|amounts?)\b.*\b(?:of|for)\b",
    re.IGNORECASE,
)


def content(draft: Draft, clause: Clause, text: str) -> str:
    """Decide what text a clause wants written, posted or kept: quoted, referred to, or spelled out.

    Raises NeedsAnswer when it is about something nobody has mentioned.
    """
    text = text.strip(" ,.:")
    if quotes := [q for q in quoted(text) if not slots.file_path(f'"{q}"')]:
        return quotes[-1]
    if draft.several and re.search(r"\b(?:both|them|all|these|those)\b", text):
        return "\n\n".join(source.reference for source in draft.several)
    if draft.last_text and re.match(
        r"(?:the )?same (?:text|message|thing|words?|line|sentence)\b|the same$", text
    ):
        return draft.last_text
    if draft.focus and (not text or is_reference(text)):
        return draft.focus.reference
    if report := _REPORT.match(text):
        text = f"the {report['subject']}"
    named = re.match(r"(?:the|all|my|our|any|every)\b.*\b(?:tickets|in [\w/.-]+\.\w+)", text)
    if (named or not is_sentence(text)) and (parts := _parts(draft, text)):
        return " ".join(parts)
    if re.match(r"an?\b", text, re.IGNORECASE) and not is_sentence(text):
        raise CannotPlan(f"I write no texts of my own: put in quotation marks what {text!r} is")
    if not text or is_reference(text):
        raise NeedsAnswer(f"What should I {clause.verb or 'do'}?")
    if _DATA.match(text) and not is_sentence(text):
        raise CannotPlan(f"I do not know where {text!r} stands")
    if re.match(r"(?:the|my|our|its|their)\b", text, re.IGNORECASE) and not is_sentence(text):
        raise NeedsAnswer(f"What do you mean by {text!r}?")
    return text


def _parts(draft: Draft, text: str) -> list[str]:
    """List references to everything a noun phrase names: a made thing's id, values, a summary, a source."""
    if draft.last_created and (
        field := re.search(
            r"\b(?:its|the|ticket)\s+(?:new\s+)?(?:ticket(?:['’]s)?\s+)?(id|title|number)\b", text
        )
    ):
        return [f"{{{{steps.{draft.last_created.step}.output.{'title' if field[1] == 'title' else 'id'}}}}}"]
    if ASKS_TIME.search(text):
        before = len(draft.steps)
        look_at_clock(draft, Clause(text, "", None, text))
        return [draft.focus.reference] if draft.focus and len(draft.steps) > before else []
    if asks_for_summary(text):
        source = source_of(draft, text)
        if source is None:
            raise NeedsAnswer("What should be summarized?")
        return [summarized(draft, text, source).reference]
    wanted = kinds(text)
    if wanted and (source := source_of(draft, text)):
        return [extracted(draft, name, source).reference for name in wanted]
    if slots.FILE.search(text) or mentions_mail(text) or re.search(r"\btickets\b", text, re.IGNORECASE):
        text_source = source_of(draft, text)
        if text_source and text_source.path == "messages.0.text" and _SEVERAL_MAILS.search(text):
            text_source = StepSource(text_source.step, "messages", text_source.label)
        return [text_source.reference] if text_source else []
    if draft.focus and re.match(r"(?:the|its|their|that|this|those)\b", text, re.IGNORECASE):
        return [draft.focus.reference]
    return []


def summarize(draft: Draft, clause: Clause) -> None:
    """Summarize a file, a mail, tickets, a quotation, or what came before."""
    text = clause.rest
    if quotes := [q for q in quoted(text) if not slots.file_path(f'"{q}"')]:
        count = slots.count(text, "(?:sentences?|lines?)")
        step = draft.add("text.summarize", "Summarize the text", text=quotes[0], sentences=count)
        draft.summary = draft.set_topic(step, "summary", "summary")
        return
    source = source_of(draft, text)
    if source is None:
        raise NeedsAnswer("What should I summarize? Name a file, or what to look for in the mail.")
    summarized(draft, text, source)


def create(draft: Draft, clause: Clause) -> None:
    """Create a ticket, a file, a summary or a memory."""
    text = re.sub(r"^(?:me|us)\s+", "", clause.rest)
    head = re.match(r"(?:[\w-]+\s+){0,3}?tickets?\b", text, re.IGNORECASE)
    if head and not head[0].lower().endswith("tickets"):
        create_ticket(draft, text)
    elif domain(text) == "memory" or re.search(r"\bto (?:your |my )?memory\b", text):
        remember(draft, clause)
    elif slots.file_path(text) and re.match(
        r"(?:a |the |new |text |markdown )*(file|note)\b", text, re.IGNORECASE
    ):
        save(draft, clause)
    elif asks_for_summary(text) and (slots.file_path(text) or draft.topic or mentions_mail(text)):
        summarize(draft, clause)
    else:
        raise CannotPlan(f"I cannot create {text!r}")


def save(draft: Draft, clause: Clause) -> None:
    """Write a text into a file."""
    text = clause.rest
    _refuse_elsewhere(text)
    refuse_schedule(text)
    target = re.search(
        rf"\b(?:to|into|in|as|under|at|called|named)\s+(?:a\s+|the\s+|new\s+|text\s+|markdown\s+|file\s+)*"
        rf"(?:called\s+|named\s+)?[`\"']?({slots.FILE_NAME}|\.{{0,2}}/[\w./-]+)[`\"']?",
        text,
    )
    path = target[1] if target else slots.file_path(text)
    if path is None:
        return _save_without_file(draft, clause)
    named = rf"[`\"'“”]?{re.escape(path)}[`\"'“”]?"  # its quotation marks hold no text to write
    rest = f"{text[: target.start()]} {text[target.end() :]}" if target else re.sub(named, " ", text)
    rest = re.sub(r"\b(?:a |the |new |text |markdown )*(?:file|note)\b\s*(?:called|named)?", " ", rest)
    spelled = re.search(
        r"(?:\bwith (?:the (?:text|contents?|lines?|words?)|it saying)|\bsaying|\bcontaining(?: the (?:text|words?|line))?|\bthat says|:)\s*(.+)$",
        rest,
    )
    body = content(draft, clause, spelled[1] if spelled and not quoted(rest) else rest)
    step = draft.add("files.write", f"Save to {path}", path=path, text=body)
    draft.last_text = body
    draft.last_created = StepSource(step, "path", path)
    return None


def _save_without_file(draft: Draft, clause: Clause) -> None:
    text = clause.rest
    if re.search(r"\bmemory\b", text, re.IGNORECASE) or clause.verb in ("keep", "record"):
        return remember(draft, clause)
    if _TO_TEAM.search(text):
        return send(draft, clause)
    if draft.focus and (not text or is_reference(text) or asks_for_summary(text)):
        raise NeedsAnswer("Into which file should I write it?")
    if is_reference(re.sub(r"\s*\bsomewhere\b", "", text)):
        raise NeedsAnswer("What should I write, and into which file?")
    raise CannotPlan(f"I cannot {clause.verb} {text!r} without a file to write to")


def copy(draft: Draft, clause: Clause) -> None:
    """Copy one file into another."""
    paths = [match[1] for match in slots.FILE.finditer(clause.rest)]
    if len(paths) != 2:
        raise CannotPlan(f"I cannot copy {clause.rest!r}")
    source = draft.set_topic(draft.add("files.read", f"Read {paths[0]}", path=paths[0]), "text", paths[0])
    draft.add("files.write", f"Save to {paths[1]}", path=paths[1], text=source.reference)


def send(draft: Draft, clause: Clause) -> None:
    """Post to the team channel; nobody else can be reached."""
    text = clause.rest
    _refuse_elsewhere(text)
    refuse_schedule(text)
    unquoted = re.sub(r"\"[^\"]*\"|“[^”]*”", '""', text)
    first, later = _TEAM_FIRST.match(text), list(_TO_TEAM.finditer(text))
    if re.match(r"an?\s+(?:\w+\s+)?(?:e-?mail|mail|sms|text message|letter|fax|invit\w+)\b", unquoted):
        raise CannotPlan("I cannot send mail or messages; I can post to the team channel")
    if _PRIVATE.search(unquoted) or re.search(r"\bto (?!Slack\b|Team\b)[A-Z][\w.]*|\bto [\w.+-]+@", unquoted):
        raise CannotPlan(f"I can post to the team channel, but I cannot reach anybody alone: {text!r}")
    if first and first.end():
        message = text[first.end() :]
        literal = bool(first["that"]) and not is_reference(message) and first["that"].lower() != "about"
    elif later:
        if re.match(r"[A-Z][a-z]+\s+(?!channel)[a-z]", text) and clause.verb in (
            "send",
            "tell",
            "message",
            "ping",
        ):
            raise CannotPlan(f"I can post to the team channel, but not to one person: {text!r}")
        message = f"{text[: later[-1].start()]} {text[later[-1].end() :]}".strip()
        wrapped = _WRAPPING.match(message)
        literal = bool(wrapped and re.search(r"saying|says|that|reads|:", wrapped[0]))
        message = message[wrapped.end() :] if wrapped else message
    elif draft.focus and is_reference(text) and clause.verb in ("post", "share", "announce", "publish"):
        message, literal = text, False  # there is only one place to post to
    elif clause.verb in ("post", "share", "announce", "publish") and re.match(r"the\b.*\btickets\b", text):
        message, literal = text, False
    elif is_reference(text) or not text:
        raise NeedsAnswer("What should I post, and is it for the team channel?")
    else:
        raise CannotPlan(f"I can post to the team channel, but not {clause.verb} {text!r}")
    if literal and not quoted(message) and message.strip():
        body = message.strip(" ,:")
    else:
        body = content(draft, clause, message)
    draft.last_text = body
    draft.last_created = StepSource(
        draft.add("channel.post", "Post to the team channel", text=body), "message_id", "message"
    )


def remember(draft: Draft, clause: Clause) -> None:
    """Keep a fact as it was said, or what came before."""
    text = re.sub(r"\b(?:(?:in|to|into) (?:your |my |the )?memory)\b[\s:]*", " ", clause.rest).strip()
    text = re.sub(
        r"^(?:a note |of |down )?(?:that\b|:|for later\b|this\b\s*:|the fact that\b|in mind\b)?[\s:]*(?:that\b)?\s*",
        "",
        text,
    )
    tags, text = _tags(clause.rest if is_reference(clause.rest) else text)
    literal = len(text.split()) > 2 and not is_reference(text) and not quoted(text)
    if (
        literal
        and (kinds(text) or asks_for_summary(text))
        and (slots.file_path(text) or not is_sentence(text))
    ):
        literal = False
        text = re.sub(r"\bthat(?:['’]s| is)\s+", "", text)
    fact = text.strip() if literal else content(draft, clause, text)
    draft.add("memory.write", "Remember it", text=fact, tags=tags or None)


def _tags(text: str) -> tuple[list[str], str]:
    """Read the tags a fact is to be kept under, and take them out of the text."""
    match = re.search(
        r",?\s*(?:and\s+)?(?:tag(?:ged)?(?:\s+(?:it|that|this))?(?:\s+(?:with|as))?|with the tags?)"
        r"\s+(?P<tags>\w+(?:(?:,\s*|\s+and\s+)\w+)*)\s*$",
        text,
    )
    if not match:
        return [], text
    return re.split(r",\s*|\s+and\s+", match["tags"]), text[: match.start()]


def refuse_schedule(text: str) -> None:
    """Raise CannotPlan for what is to happen at another time."""
    unquoted = re.sub(r"\"[^\"]*\"|“[^”]*”|'[^']*'", '""', text)
    if match := _LATER.search(unquoted):
        raise CannotPlan(f"I cannot schedule anything ({match[0].strip()!r})")


def _refuse_elsewhere(text: str) -> None:
    unquoted = re.sub(r"\"[^\"]*\"|“[^”]*”", '""', text)
    if match := _ELSEWHERE.search(unquoted):
        raise CannotPlan(f"I cannot reach {match[0].split()[-1]!r}")
