"""Every word of a clause is bound by a step, or the request is one that cannot be planned.

A planner that drops a word answers another question: the unread mails of Mara are not the mails of Mara.
A word counts as bound when it is an argument of a step, when it belongs to what the capability does
anyway, or when it carries nothing to select by.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from planwright.domain.references import has_reference, step_references, strings
from planwright.extras.offline.clauses import QUOTED, Clause
from planwright.extras.offline.sequence import Step
from planwright.extras.offline.vocabulary import CARRY_NOTHING, NARROWING, VOCABULARY
from planwright.language.lexicon import COUNTS, KINDS, KNOWN, PATTERNS, ZONES

_WORD = re.compile(r"[\w@+#*][\w@.+#&'’/*:-]*[\w*]|[\w*]")
_COUNTED = re.compile(rf"\b({'|'.join(COUNTS)}|\d+)-(?=[a-z])")  # three-line
_PART = re.compile(r"[^\W_]+")
_REFERENCE = re.compile(r"\{\{.*?\}\}")
_CALLED = {"timezone": ZONES, "pattern": PATTERNS, "kind": KINDS}  # what a value is called in words
_AS_IT_STANDS = (
    "path",
    "sender",
    "database",
    "url",
    "start",
    "end",
)  # arguments that are spelled like the request


def unbound(
    clause: Clause,
    steps: Sequence[Step],
    touched: Iterable[str],
    bound: Iterable[str] = (),
    capabilities: Mapping[str, Step] = MappingProxyType({}),
) -> str:
    """Find the first word of a clause that none of its steps binds; "" where all are bound.

    `touched` are the ids of the steps the clause speaks of, and `bound` are phrases of it that were read
    into a value of another spelling. Of `capabilities` that the planner does not know itself, the words of
    their declaration belong to what they do.
    """
    own = _with_sources(steps, touched)
    arguments = [_plain(value) for step in own for value in _texts(step)]
    quotes = [_plain(match[0][1:-1]) for match in QUOTED.finditer(clause.text)]
    for quote in quotes:
        if not any(quote in argument or argument in quote for argument in arguments if argument):
            return quote
    text = _without(QUOTED.sub(" ", clause.text), [*_literals(own), *bound, *_format(own)])
    text = text.replace("most recent", "recent")
    allowed = _vocabulary(own, capabilities) | ({*clause.verb.split()} if clause.verb else set())
    carried = {word for argument in arguments for word in (*_words(argument), *_PART.findall(argument))}
    numbers = {value for step in own for value in step["params"].values() if isinstance(value, int)}
    for word in _words(text):
        if word in allowed or COUNTS.get(word) in numbers or (word.isdigit() and int(word) in numbers):
            continue
        if word in NARROWING or not (word in CARRY_NOTHING or _same(word, carried)):
            return word
    return ""


def _with_sources(steps: Sequence[Step], touched: Iterable[str]) -> list[Step]:
    """List the steps of some ids, and those whose results they use."""
    by_id, own = {step["id"]: step for step in steps}, dict.fromkeys(touched)
    for name in (waiting := list(own)):
        for source in step_references(by_id[name]["params"]):
            if source not in own:
                own[source] = None
                waiting.append(source)
    return [by_id[name] for name in own]


def _texts(step: Step) -> Iterator[str]:
    yield from (str(value) for value in step["params"].values() if isinstance(value, int | float))
    yield from strings(step["params"])


def _literals(steps: Sequence[Step]) -> list[str]:
    """List the texts that steps with an effect take over as they stand in the request."""
    texts: list[str] = []
    for step in steps:
        if step["estimated_risk"] != "None":
            params = step["params"]
            made_up = {"subject"} if has_reference(params) else set()  # from what the text is about
            own = {name: value for name, value in params.items() if name not in made_up}
            texts += [piece for text in strings(own) for piece in _REFERENCE.split(text)]
    return texts


def _format(steps: Sequence[Step]) -> Iterator[str]:
    """Walk arguments that are names, and what others are called in words: a city for its zone, text for `*.txt`."""
    for step in steps:
        yield from (str(step["params"][name]) for name in _AS_IT_STANDS if name in step["params"])
        for name, phrases in _CALLED.items():
            value = step["params"].get(name)
            spelled = [phrase for phrase, meaning in phrases.items() if meaning == value]
            yield from (*spelled, *(f"{phrase}s" for phrase in spelled))


def _without(text: str, phrases: Iterable[str]) -> str:
    plain = _plain(text)
    for phrase in sorted({_plain(phrase) for phrase in phrases}, key=len, reverse=True):
        if phrase:
            plain = re.sub(rf"(?<!\w){re.escape(phrase)}(?!\w)", " ", plain)
    return plain


def _vocabulary(steps: Sequence[Step], capabilities: Mapping[str, Step]) -> set[str]:
    names = {step["capability"] for step in steps}
    known = {word for name in names for word in VOCABULARY.get(name, ())}
    declared = (capabilities[name] for name in names - KNOWN if name in capabilities)
    return known.union(*(_declared(card) for card in declared))


def _declared(card: Step) -> set[str]:
    """List the words of a declaration: of its name, arguments, tags and description."""
    texts = (card["name"], *card["args"]["properties"], *card.get("tags", ()), card["description"])
    words = {word for text in texts for word in _PART.findall(str(text).lower())}
    return {str(card["name"]).lower()} | words | {f"{word}s" for word in words}


def _plain(text: str) -> str:
    return " ".join(text.lower().replace("’", "'").split()).strip(" .,;:!?")


def _words(text: str) -> list[str]:
    return [word.removesuffix("'s").removesuffix("'") for word in _WORD.findall(_COUNTED.sub(r"\1 ", text))]


def _same(word: str, carried: set[str]) -> bool:
    """Say whether a word is among the arguments, in the singular or the plural."""
    return bool({word, word.removesuffix("s"), word.removesuffix("es"), f"{word}s"} & carried)
