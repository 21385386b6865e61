"""What a task asks for: an effect, a look at something, and whether only under a condition.

A task is a few words of a planner or a model. Each of its clauses counts by the verb it begins with; what
a verb may mean in words alone ("write a summary") counts only with a thing that a tool at hand makes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from planwright.domain.chain import CREATE_CHAIN
from planwright.domain.envelope import Offer
from planwright.domain.plan import CLOSING, DELEGATE, WHOLE
from planwright.language.verbs import EFFECTS_IN_A_TASK, LEADS, LOOKS_IN_A_TASK, MAKING

_NEUTRAL = frozenset((*CLOSING, DELEGATE, WHOLE, CREATE_CHAIN))
# What people call the thing that a capability of a domain makes, by a part of its name before the last.
_THINGS: Mapping[str, str] = {
    "files": "file",
    "documents": "document report page",
    "tickets": "ticket issue",
    "memory": "memory note fact",
    "channel": "message post announcement",
    "mail": "mail email message reply draft",
    "calendar": "event meeting appointment entry",
    "sql": "row table record entry",
}
_CLAUSE = re.compile(
    r"(?:[,;:\n]|\.(?=\s|$))\s*(?:and\s+|then\s+)*|\band\b(?:\s+then\b)?|\bthen\b", re.IGNORECASE
)
_WORD = re.compile(r"[\w.'-]+")
_FILE = re.compile(r"(?<![\w-])[\w-]+\.(?:md|txt|csv|json|html?|yaml|pdf|docx?|xlsx?)\b", re.IGNORECASE)
_OWN_DATA = re.compile(r"\b(?:following|below|above|this text|these|given)\b|\n", re.IGNORECASE)
_CONDITION = re.compile(
    r"\b(?:if|unless|when|whenever|where|any|each|every|all|needed|necessary|in case|only|those|otherwise)\b",
    re.IGNORECASE,
)


def acting(offered: Mapping[str, Offer]) -> dict[str, Offer]:
    """Pick the tools that can have an effect of their own."""
    return {name: effect for name, effect in offered.items() if effect != "pure" and name not in _NEUTRAL}


def expects_effect(task: str, offered: Mapping[str, Offer]) -> bool:
    """Say whether a task is done only by an effect, with the tools that are offered for it."""
    acts = acting(offered)
    if not acts:
        return False
    may_look = any(effect in ("pure", "varies") and name not in _NEUTRAL for name, effect in offered.items())
    return not may_look or any(_acts(words, acts) for words in _clauses(task))


def expects_look(task: str, offered: Mapping[str, Offer]) -> bool:
    """Say whether a task begins with looking something up, with a tool that can, and holds no data itself."""
    can_look = any(effect in ("pure", "varies") and name not in _NEUTRAL for name, effect in offered.items())
    first = next(_clauses(task), [])
    return can_look and bool(first) and first[0] in LOOKS_IN_A_TASK and not _OWN_DATA.search(task)


def conditional(task: str) -> bool:
    """Say whether a task may turn out to be nothing: "if …", "for every …"."""
    return _CONDITION.search(task) is not None


def _acts(words: list[str], acts: Mapping[str, Offer]) -> bool:
    """Say whether a clause asks for an effect of one of the tools."""
    if words[0] in EFFECTS_IN_A_TASK:
        return words[:2] not in (["update", "me"], ["update", "us"], ["send", "me"], ["send", "us"])
    if words[0] not in MAKING:
        return False
    verb, names = words[0], [name.split(".") for name in acts]
    if any(verb in re.split("[_-]", action) and not _THINGS.keys() & within for *within, action in names):
        return True
    near = {word.rstrip(".").removesuffix("s") for word in words[1:4]}
    domains = {domain for *within, _ in names for domain in within}
    named = {thing for domain in domains for thing in _THINGS.get(domain, domain.removesuffix("s")).split()}
    return bool(near & named) or bool(_FILE.search(" ".join(words)) and domains & {"files", "documents"})


def _clauses(task: str) -> Iterator[list[str]]:
    """Walk the clauses of a task as lower-case words, without what only leads to the verb."""
    for clause in _CLAUSE.split(task):
        words = [word.lower() for word in _WORD.findall(clause)]
        while words and words[0] in LEADS:
            words = words[1:]
        if words:
            yield words
