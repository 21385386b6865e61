"""What each action does to the draft: one function a family of verbs."""

from __future__ import annotations

import re

from planwright.models.offline import slots
from planwright.models.offline.clauses import Clause, quoted
from planwright.models.offline.draft import (
    CannotPlan,
    Draft,
    NeedsAnswer,
    asks_for_summary,
    content,
    domain,
    extracted,
    list_tickets,
    mentions_mail,
    refers_back,
    search_mail,
    source_of,
    summarized,
)

_TIME = re.compile(
    r"\b(time is it|time it is|current time|the time|time in|what time|local time|what day|current date|what date|day is it|day it is"
    r"|today'?s date|date today|the date today|the current date|date and time|time and date|weekday|the day today|time right now|time now|todays date)\b",
    re.IGNORECASE,
)
_MEMORY = re.compile(
    r"\b(memory|memories|(?:do|did) you (?:remember|know|recall)|you remember|you(?:'ve| have)? remembered"
    r"|(?:i|we) (?:told|asked) you|you know about|i(?:'ve| have)? (?:asked you to remember|told you))\b",
    re.IGNORECASE,
)
_MENTION = re.compile(
    r"\b(?:mention(?:s|ing|ed)?|contain(?:s|ing)?|that say|says?|talk(?:s|ing)? about|refer(?:s|ring)? to"
    r"|with the (?:word|phrase|text)|for the (?:word|phrase|text)|about|for)\s+(.+)$",
    re.IGNORECASE,
)
_TO_TEAM = re.compile(
    r"\s*\b(?:to|in|into|on|with|at|for|via)\s+(?:the\s+|our\s+|my\s+)?(?:#?team(?:'s)?(?:\s+\w*\s?channel)?|(?:team\s+)?channel"
    r"|slack(?:\s+channel)?|everyone|colleagues|team chat|#team)\b(?:\s+(?:channel|chat))?",
    re.IGNORECASE,
)
_TEAM_FIRST = re.compile(
    r"^(?:(?:to|in|on)\s+)?(?:the\s+|our\s+|my\s+)?(?:#?team(?:\s+channel)?|channel|slack|everyone|colleagues)\b\s*"
    r"(?:know\b)?[\s,:]*(?:that\b|about\b|:)?\s*",
    re.IGNORECASE,
)


def look(draft: Draft, clause: Clause) -> None:
    """Find, list, show or read something."""
    text = clause.rest
    if _TIME.search(clause.text):
        draft.add("datetime.now", "Tell the time", timezone=slots.zone(text))
    elif _MEMORY.search(clause.text):
        recall(draft, clause)
    elif asks_for_summary(text) and clause.action == "show":
        summarize(draft, clause)
    elif (kind := _asked_kind(text)) and (source := source_of(draft, text)):
        extracted(draft, kind, source)
    elif _about_files(clause):
        _look_in_files(draft, clause)
    elif re.search(r"\btickets?\b", text, re.IGNORECASE):
        list_tickets(draft, text)
    elif mentions_mail(text):
        search_mail(draft, text)
    elif draft.topic and (refers_back(text) or asks_for_summary(text)):
        if asks_for_summary(text):
            summarized(draft, text, draft.topic)
    else:
        raise CannotPlan(f"I do not know where to look for {text!r}")


def create(draft: Draft, clause: Clause) -> None:
    """Create a ticket, a file, a summary or a memory."""
    text = clause.rest
    if re.match(r"(?:\w+\s+){0,3}?tickets?\b", text, re.IGNORECASE) and not re.match(r".*\btickets\b", text):
        _create_ticket(draft, text)
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
    if re.search(r"\bmemory\b", text, re.IGNORECASE):
        return remember(draft, clause)
    target = re.search(
        rf"\b(?:to|into|in|as|under|at|called|named)\s+(?:a\s+|the\s+|new\s+|text\s+|markdown\s+|file\s+)*(?:called\s+|named\s+)?"
        rf"[`\"']?({slots.FILE_NAME}|\.{{0,2}}/[\w./-]+)",
        text,
    )
    path = target[1] if target else slots.file_path(text)
    if _TO_TEAM.search(text) and not path:
        return send(draft, clause)
    if path is None:
        raise NeedsAnswer("Into which file should I write it?")
    what = text[: target.start()] + text[target.end() :] if target else text.replace(path, "")
    what = re.sub(r"\b(?:a |the |new |text |markdown )*(?:file|note)\b\s*(?:called|named)?", " ", what)
    spelled = re.search(
        r"(?:\bwith (?:the (?:text|content|line|words?))|\bsaying|\bcontaining|\bthat says|:)\s*(.+)$", what
    )
    body = content(
        draft, clause, (spelled[1] if spelled else what).strip(" ,.:`\"'") if not quoted(what) else what
    )
    draft.add("files.write", f"Save to {path}", path=path, text=body)
    return None


def send(draft: Draft, clause: Clause) -> None:
    """Post to the team channel; nobody else can be reached."""
    text = clause.rest
    first, later = _TEAM_FIRST.match(text), list(_TO_TEAM.finditer(text))
    if first and first.end():
        what = text[first.end() :]
    elif later:
        what = text[: later[-1].start()] + " " + text[later[-1].end() :]
    else:
        raise CannotPlan(f"I can post to the team channel, but not {clause.verb} {text!r}")
    what = re.sub(
        r"^\s*(?:a message|a note|an update|a quick note|a heads-up|word)?\s*(?:saying|that says|that|with|about|:)?\s*",
        "",
        what,
    )
    body = content(draft, clause, what.strip(" ,.:") if not quoted(what) else what)
    draft.add("channel.post", "Post to the team channel", text=body)


def summarize(draft: Draft, clause: Clause) -> None:
    """Summarize a file, a mail, tickets, a quotation, or what came before."""
    text = clause.rest
    if found := quoted(text):
        step = draft.add("text.summarize", "Summarize the text", text=found[0], sentences=_sentences(text))
        draft.summary = draft.set_topic(step, "summary", "summary")
        return
    source = source_of(draft, text)
    if source is None:
        raise NeedsAnswer("What should I summarize? Name a file, or what to look for in the mail.")
    summarized(draft, text, source)


def extract(draft: Draft, clause: Clause) -> None:
    """Extract typed values from a file, a mail, a quotation, or what came before."""
    text = clause.rest
    kinds = [kind for part in re.split(r"\band\b|,", text) if (kind := slots.kind(part))]
    if not kinds:
        return look(draft, clause)
    if found := quoted(text):
        for kind in dict.fromkeys(kinds):
            draft.add("text.extract", f"Extract the {kind}", text=found[0], kind=kind)
        return None
    source = source_of(draft, text)
    if source is None:
        raise NeedsAnswer(f"From which text should I extract the {kinds[0]}?")
    for kind in dict.fromkeys(kinds):
        extracted(draft, kind, source)
    return None


def remember(draft: Draft, clause: Clause) -> None:
    """Keep a fact."""
    text = re.sub(r"\b(?:(?:in|to|into) (?:your |my |the )?memory)\b[\s:]*", " ", clause.rest).strip()
    text = re.sub(
        r"^(?:a note |of |down )?(?:that\b|:|for later\b|this\b\s*:|the fact that\b)?[\s:]*", "", text
    ).strip()
    fact = content(draft, clause, text)
    draft.add("memory.write", "Remember it", text=fact)


def recall(draft: Draft, clause: Clause) -> None:
    """Search what was remembered."""
    about = re.search(r"\b(?:about|regarding|on|for|concerning)\s+(.+)$", clause.text, re.IGNORECASE)
    text = about[1] if about else _MEMORY.sub(" ", clause.rest)
    words = slots.search_words(
        text,
        drop=(
            "remember",
            "remembered",
            "memory",
            "memories",
            "know",
            "told",
            "tell",
            "told",
            "asked",
            "i've",
            "recall",
        ),
    )
    step = draft.add("memory.search", f"Search the memory for {words or 'everything'}", query=words)
    draft.set_topic(step, "matches.0.text", "memory")


def ask(draft: Draft, clause: Clause) -> None:
    """Answer a question, or a request without a verb, by looking."""
    text = clause.text
    if _TIME.search(text) or _MEMORY.search(text):
        return look(draft, clause)
    mention = re.search(r"\b(?:mention\w*|contains?|say|says|talks?) ", text)
    named = slots.file_path(text)
    if named and not mention and not _asked_kind(text):
        source_of(draft, text)
        return None
    if named and re.match(r"what (?:does|do) .+ (?:say|contain)$", text, re.IGNORECASE):
        source_of(draft, text)
        return None
    return look(draft, clause)


def _create_ticket(draft: Draft, text: str) -> None:
    after = re.split(r"\btickets?\b", text, maxsplit=1, flags=re.IGNORECASE)[1].strip(" :,-")
    amount = slots.money(after)
    if amount is None and re.search(r"\b(amount|total|sum|price)\b", after, re.IGNORECASE):
        source = source_of(draft, after)
        if source is None:
            raise NeedsAnswer("Which amount should the ticket name?")
        amount = extracted(draft, "amount", source).reference
    body = None
    if asks_for_summary(after):
        source = source_of(draft, after)
        if source is not None:
            body = summarized(draft, after, source).reference
    elif (
        (kind := slots.kind(after))
        and kind != "amount"
        and draft.topic
        and re.search(r"\b(?:with|the|its)\b", after)
    ):
        body = extracted(draft, kind, draft.topic).reference
    elif draft.topic and refers_back(after):
        body = draft.topic.reference
    title = _title(after) or (_sentence_case(draft.topic.label) if draft.topic else "")
    if not title:
        raise NeedsAnswer("What should the ticket be about?")
    if draft.topic and body is None and draft.topic.path.startswith("messages"):
        body = "Mail: {{steps." + draft.topic.step + ".output.messages.0.subject}}"
    draft.add("tickets.create", f"Create the ticket: {title}", title=title, body=body, amount=amount)


def _title(after: str) -> str:
    if found := quoted(after):
        return found[0]
    text = re.sub(
        r"\b(?:titled|called|named|entitled|with the title|with title|saying|that says)\b\s*:?", "", after
    )
    tail = r"\s*\b(?:with|including|containing|and include|using)\s+(?:the|its|a|that|an)\b.*$|\s*\b(?:for|over|of|amount)?\s*(?:an? )?(?:amount (?:of )?)?$"
    text = re.sub(tail, "", text, flags=re.IGNORECASE)
    money = slots.money(text)
    if money:
        text = re.sub(
            rf"\s*,?\s*(?:\b(?:with|for|over|of)\s+)?(?:an? |the )?(?:amount\s*(?:of|:)?\s*)?{re.escape(money)}",
            "",
            text,
        )
    text = re.sub(
        r"^(?:to|for|about|on|that|regarding|concerning|:)\s+", "", text.strip(" ,:-"), flags=re.IGNORECASE
    )
    plain = text.strip(" ,.:-").lower()
    if plain in (
        "it",
        "this",
        "that",
        "them",
        "me",
        "us",
        "",
        "the amount",
        "the total",
        "the result",
        "the results",
    ):
        return ""
    return _sentence_case(re.sub(r"^(?:the|a|an)\s+", "", text.strip(" ,.:-"), flags=re.IGNORECASE))


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]


def _sentences(text: str) -> int | None:
    return slots.count(text, "(?:sentences?|lines?)")


def _asked_kind(text: str) -> str | None:
    """Find the value a clause asks for; words that only describe a mail do not count."""
    if re.search(
        r"\b(how much|what(?:'s| is) the|the amount|the total|due date|get the|when is|when are)\b",
        text,
        re.IGNORECASE,
    ):
        if re.search(r"\bwhen\b", text, re.IGNORECASE):
            return "date"
        return slots.kind(text)
    wanted = re.match(
        r"(?:me\s+)?(?:the|its|all|any)?\s*(.+?)(?:\s+(?:of|from|in|on)\b|$)", text, re.IGNORECASE
    )
    return slots.kind(wanted[1]) if wanted and not mentions_mail(wanted[1]) else None


def _about_files(clause: Clause) -> bool:
    text = clause.text
    if slots.FILE.search(text) or slots.file_path(text):
        return True
    if mentions_mail(text) and domain(text) == "mail":
        return False
    if re.search(r"\btickets?\b", text, re.IGNORECASE) and domain(text) != "files":
        return False
    return domain(text) == "files" or slots.pattern(text) is not None or bool(re.search(r"\bfolder\b", text))


def _look_in_files(draft: Draft, clause: Clause) -> None:
    text = clause.text
    folder, pattern = slots.folder(text), slots.pattern(text)
    searching = clause.action == "search" or clause.question or clause.action == "get"
    mention = _MENTION.search(clause.rest) if searching or re.search(r"\bmention|\bcontain", text) else None
    path = slots.file_path(text)
    if mention and not (path and path in mention[1] and not quoted(mention[1])):
        words = re.split(
            r"\s+\b(?:in|inside|within|across|through|under)\b\s+(?:the |my |our |all |any )*[\w./]*",
            mention[1],
        )[0]
        query = slots.search_words(words) if not quoted(words) else quoted(words)[0]
        if query:
            place = path or (folder if folder else _folder_noun(text))
            step = draft.add("files.search", f"Search the files for {query}", query=query, path=place)
            draft.set_topic(step, "", query)
            return
    if path and "*" not in path:
        draft.set_topic(draft.add("files.read", f"Read {path}", path=path), "text", path)
        return
    if found := quoted(text):
        step = draft.add("files.search", f"Search the files for {found[0]}", query=found[0], path=folder)
        draft.set_topic(step, "", found[0])
        return
    if clause.action == "search" and not pattern and not re.search(r"\bfiles?\b", text):
        raise CannotPlan(f"I do not know what to look for in {text!r}")
    place = folder or _folder_noun(text)
    step = draft.add(
        "files.list", f"List the files in {place or 'the workspace'}", path=place, pattern=pattern
    )
    draft.set_topic(step, "", "files")


def _folder_noun(text: str) -> str | None:
    """`my notes` means the folder `notes`, as it stands in every demo and most workspaces."""
    return "notes" if re.search(r"\b(?:my|the|our|all|which|in) notes\b", text, re.IGNORECASE) else None
