"""Compose a plan from a request: clauses to actions, actions to steps."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

from planwright.extras.offline import looking, making, slots
from planwright.extras.offline.arranging import arrange
from planwright.extras.offline.clauses import QUOTED, Clause, clause, quoted, reverses, split, strip
from planwright.extras.offline.coverage import unbound
from planwright.extras.offline.draft import CannotPlan, Draft, NeedsAnswer
from planwright.extras.offline.querying import query
from planwright.extras.offline.reaching import fetch, mail
from planwright.extras.offline.sequence import Step, order_groups
from planwright.extras.offline.talking import reply_to, suggestions
from planwright.language.lexicon import KNOWN, NAME_VERBS, SELECTS, UNSUPPORTED, VAGUE

_BY_ACTION: dict[str, Callable[[Draft, Clause], None]] = {
    **dict.fromkeys(("search", "get", "list", "show", "read"), looking.look),
    "extract": looking.extract,
    "recall": looking.recall,
    "create": making.create,
    "save": making.save,
    "copy": making.copy,
    "send": making.send,
    "summarize": making.summarize,
    "remember": making.remember,
}
_FRAGMENT = re.compile(
    r"^(?:the|a|an|any|all|my|our|your|open|closed|latest|newest|last|recent|current|today|today's|time|date|unread|list|new|every"
    r"|emails?|e-?mails?|mails?|tickets?|files?|notes?|markdown|messages?|amount|total|due|summary|invoices?|#?\w*['’]s|[\w./-]+\.\w{2,4}"
    r"|what|anything|contents?)\b",
    re.IGNORECASE,
)
_ABOUT_ONESELF = re.compile(
    r"^(?:i(?:['’]m| am| was| have| had| just|['’]ve| got| came| feel| hope| think| guess| don['’]t)|we(?:['’]re| are| have|['’]ve| had)"
    r"|it(?:['’]s| is| was)|today (?:is|was)|my (?:\w+ ){1,3}(?:is|are|was|were|has|got|went|came|had))\b",
    re.IGNORECASE,
)
_WHAT_HAPPENED = re.compile(r"^(?:i|we) (?:asked|told) you to (?:remember|keep)", re.IGNORECASE)
_LOOK_IT_UP = re.compile(
    r"^(?:look|find|check|search)\s+(?:it|that)\s+(?:up\s+)?in\s+(?:my|the)\s+(\w+)", re.IGNORECASE
)

MOST_READ = 2_000
"""Characters of a request that is read: patterns look at each part of it many times."""
_MAKING = ("create", "send")
_THING = r"\S+\s+(?:(?:me|us|an?|the|one|new|another)\s+)*{verb}s?\b"
_NUMBER = r"-?\d+(?:\.\d+)?"
_LINKS = frozenset("to for with and in into onto on at by from as the a an my our of is are".split())


def compose(
    task: str,
    capabilities: list[Step],
    databases: dict[str, dict[str, list[str]]] | None = None,
) -> Step:
    """Plan a task over some capabilities and the columns of databases, as a planner is given them.

    Returns a plan, `{"clarify": [question]}`, or `{"cannot": reason, "instead": [request]}`; a request of
    which a part cannot be done is not begun.
    """
    draft = Draft({str(item["name"]): item for item in capabilities}, databases or {})
    if len(task) > MOST_READ:
        return {"cannot": f"I read requests of up to {MOST_READ:,} characters; a model reads longer ones"}
    if reply_to(task) is not None:
        return _finished(task, [])
    words = re.findall(r"[a-z']+", task.lower())
    if all(word in VAGUE for word in words):
        return {"clarify": ["What exactly should I do, and with what?"]}
    groups: list[list[Step]] = [[]]
    try:
        for part in _without_remarks(_merged(split(task))):
            before = len(draft.steps)
            draft.begin()
            _add(draft, part)
            _demand_all_bound(draft, part)
            if len(draft.steps) > before:
                draft.last_of_clause = draft.steps[-1]["id"]
            groups += [[]] if part.then else []
            groups[-1] += draft.steps[before:]
    except NeedsAnswer as question:
        return {"clarify": [str(question)]}
    except CannotPlan as reason:
        return _cannot(str(reason), task, draft)
    if not draft.steps:
        return _cannot("I found nothing in it that I can do", task, draft)
    order_groups(groups)
    return _finished(task, draft.steps)


def _cannot(reason: str, task: str, draft: Draft) -> Step:
    return {"cannot": reason, "instead": suggestions(task, draft.capabilities)}


def _demand_all_bound(draft: Draft, part: Clause) -> None:
    """Refuse a clause of which a word would be dropped."""
    topic = draft.focus or draft.topic
    touched = draft.touched or ({topic.step: None} if topic else {})
    if word := unbound(part, draft.steps, touched, draft.bound, draft.capabilities):
        raise CannotPlan(f"I do not know what to do with {word!r} in {part.text!r}")


def _finished(task: str, steps: list[Step]) -> Step:
    if reverses(task):
        changing = [
            step for step in steps if step["capability"] in ("files.write", "channel.post", "tickets.create")
        ]
        for later, sooner in itertools.pairwise(changing):
            later["depends_on"] = [*later.get("depends_on", ()), sooner["id"]]
    _demand_what_is_used(steps)
    closing: Step = {
        "id": f"s{len(steps) + 1}",
        "capability": "respond",
        "params": {},
        "estimated_risk": "None",
    }
    closing |= {"description": "Answer the user", "depends_on": [step["id"] for step in steps]}
    return {"goal": task, "steps": [*steps, closing]}


def _merged(clauses: list[Clause]) -> list[Clause]:
    """Join a question with the clause that only says where its answer is."""
    merged: list[Clause] = []
    for part in clauses:
        before = merged[-1] if merged else None
        where = _LOOK_IT_UP.match(part.text)
        if before and before.question and (where or _WHAT_HAPPENED.match(part.text)):
            place = f"in my {where[1]}" if where else "did I tell you"
            text = f"{before.text} {place}"
            merged[-1] = Clause(text, "", None, text, question=True, then=before.then)
        else:
            merged.append(part)
    return merged


def _without_remarks(clauses: list[Clause]) -> list[Clause]:
    """Leave out greetings, and what a person says of themselves beside a request."""
    requests = [
        part for part in clauses if part.text and reply_to(part.text) is None and not _is_remark(part)
    ]
    return requests or clauses


def _is_remark(part: Clause) -> bool:
    words = set(re.findall(r"[a-z']+", part.text.lower()))
    return not (part.action or part.question or words & SELECTS) and bool(_ABOUT_ONESELF.match(part.text))


def _add(draft: Draft, part: Clause) -> None:
    if _add_declared(draft, part) or mail(draft, part) or arrange(draft, part):
        return
    if fetch(draft, part) or query(draft, part):
        return
    if part.action:
        _BY_ACTION[part.action](draft, part)
    elif part.verb in UNSUPPORTED:
        raise CannotPlan(f"I cannot {part.verb} anything")
    elif match := re.search(
        r"\s*[-–—,]\s*(?:please\s+)?(?:keep|remember|note) (?:that|this|it)\b.*$", part.text
    ):
        making.remember(draft, clause(f"remember {strip(part.text[: match.start()])}"))
    elif part.question or _FRAGMENT.match(part.text):
        looking.look(draft, part)
    else:
        raise CannotPlan(f"I do not understand {part.text!r}")


def _add_declared(draft: Draft, part: Clause) -> bool:
    """Match a clause to a capability the user has declared, by its verb and its domain or tags.

    Quotations and names of files say nothing of it. A clause whose own verb is another one that is known here
    is about it only where it makes or sends such a thing: `create a refund`.
    """
    unquoted = QUOTED.sub(" ", part.text).lower()
    bare = slots.FILE.sub(" ", unquoted)
    words = set(re.findall(r"[a-z0-9]+", bare))
    stems = words | {word.removesuffix("s") for word in words}
    fitting: dict[str, int] = {}
    for name, declared in draft.capabilities.items():
        if name in KNOWN or "." not in name:
            continue
        domain, verb = name.rpartition(".")[0], name.rpartition(".")[2]
        nouns = {*domain.split("."), domain.removesuffix("s"), *declared.get("tags", ())}
        own = part.verb in (verb, verb.replace("_", " "))
        alike = verb in NAME_VERBS.get(part.action or "", ()) and bool(nouns & stems)
        named = part.action in _MAKING and bool(re.match(_THING.format(verb=re.escape(verb)), bare))
        if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.]*\w)", unquoted):
            fitting[name] = 3
        elif own or alike or named or (part.action is None and verb in stems):
            fitting[name] = 1 + bool(nouns & stems)
    if not fitting:
        return False
    best = [name for name, fits in fitting.items() if fits == max(fitting.values())]
    if len(best) > 1:
        raise NeedsAnswer(f"Which one do you mean: {', '.join(best[:-1])} or {best[-1]}?")
    draft.set_topic(
        draft.add(best[0], part.text, **_bind(draft.capabilities[best[0]], part.text)), "", best[0]
    )
    return True


def _bind(capability: dict[str, Any], text: str) -> Step:
    """Read the arguments of a declared capability: values that follow the name of an argument, or its only kind.

    What could be for one argument as well as for another is asked for.
    """
    properties: dict[str, Step] = capability["args"].get("properties", {})
    required = capability["args"].get("required", ())
    quotes, numbers = quoted(text), re.findall(_NUMBER, text)
    bound: Step = {}
    for name, declared in properties.items():
        if (spelled := _named(name, declared, text, quotes)) is not None:
            bound[name] = _of_kind(declared, spelled)
            for left in (quotes, numbers):
                if spelled in left:
                    left.remove(spelled)
        elif option := next((e for e in declared.get("enum", ()) if str(e).lower() in text.lower()), None):
            bound[name] = option
    for kinds, left in ((("string",), quotes), (("integer", "number"), numbers)):
        open_ = [name for name in properties if name not in bound and properties[name].get("type") in kinds]
        open_ = [name for name in open_ if name in required] or open_
        if len(open_) == len(left) == 1:
            bound[open_[0]] = _of_kind(properties[open_[0]], left[0])
    for name in required:
        if name not in bound:
            raise NeedsAnswer(f"Which {name.replace('_', ' ')} do you mean?")
    return bound


def _named(name: str, declared: Step, text: str, quotes: list[str]) -> str | None:
    """Find what follows the name of an argument: a text in quotation marks, a word or a number."""
    kind = declared.get("type")
    for word in (name, name.replace("_", " "), *name.split("_")):
        behind = rf"\b{re.escape(word)}\s*(?:=|:|of|is)?\s*"
        if kind == "string":
            for spelled in quotes:
                if re.search(rf"{behind}[\"“”„«'‘`]{re.escape(spelled)}", text, re.IGNORECASE):
                    return spelled
            match = re.search(rf"{behind}([\w.@/+-]*\w)", text, re.IGNORECASE)
            if match and match[1].lower() not in _LINKS:
                return match[1]
        elif kind in ("integer", "number") and (match := re.search(rf"{behind}({_NUMBER})", text)):
            return match[1]
    return None


def _of_kind(declared: Step, spelled: str) -> str | float:
    """Read a value as the schema wants it."""
    if declared.get("type") == "integer":
        return int(float(spelled))
    return float(spelled) if declared.get("type") == "number" else spelled


def _demand_what_is_used(steps: list[Step]) -> None:
    """A search whose result another step needs has to find something."""
    used = " ".join(str(step["params"]) for step in steps)
    for step in steps:
        if f"steps.{step['id']}.output.m" in used and step["capability"].endswith(".search"):
            step["success_criteria"] = {"cel": "output.count > 0"}
