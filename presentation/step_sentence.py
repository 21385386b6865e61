"""One step of a plan as a plain sentence: what is done, with which values, taken from where.

The words are those of the capability, never those of whoever made the plan. References stand in words;
a text that could be taken for such words, or for the next argument, stands in quotes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from planwright.domain.references import format_references, whole_reference
from planwright.language.nouns import ORDINALS
from planwright.presentation.printable import one_line
from planwright.presentation.rows import Card

TITLES = ("title", "name", "subject", "query", "path", "url")
TELLING = (*TITLES, "to", "channel", "text")
SHORT = 60
_PLAIN = re.compile(r"[^\W_](?:[\w@./+ -]*[\w@./+-])?")
_NUMBERED = re.compile(r"s([1-9]\d*)")


@dataclass(frozen=True)
class Sentence:
    """What a step does, and what its sentence has no room for."""

    text: str
    """The sentence, on one line, with nothing in it that could act on a terminal."""
    rest: Mapping[str, object]
    """Arguments that do not stand in it as a whole, by name."""
    known: frozenset[str] = frozenset()
    """Names of arguments that are values and not references, whatever they look like."""


def step_sentence(step: Card) -> Sentence:
    """Say what a step does with which values; arguments that are long are left for rows of their own."""
    only_if = f"; only if {step['only_if']}" if "only_if" in step else ""
    if step["capability"] == "agent":
        task = {"task": step["description"], **step["params"]}
        return Sentence(f"Leave a task to a model with tools{only_if}", task)
    known: Mapping[str, object] = step.get("values", {})
    params = shown_arguments({**step["params"], **known}, step)
    subject, does = _subject(step, params)
    spelled = {
        name: described_argument(name, value, step) or _inline(name, value, known=name in known)
        for name, value in params.items()
        if name != subject
    }
    short = {name: text for name, text in spelled.items() if text}
    title = next((name for name in TITLES if name in short and isinstance(params[name], str)), None)
    literal = title is not None and (title in known or whole_reference(str(params[title])) is None)
    first = [literal_text(params[title])] if title is not None and literal else []
    others = [text for name, text in short.items() if not (literal and name == title)]
    values = ", ".join([*first, *others])
    rest = {name: value for name, value in params.items() if name not in (*short, subject)}
    return Sentence((f"{does}: {values}" if values else does) + only_if, rest, frozenset(known))


def shown_arguments(args: Mapping[str, object], card: Card) -> dict[str, object]:
    """Leave out the arguments that say nothing, as the card of the call lists them."""
    idle = card.get("idle", ())
    return {name: value for name, value in args.items() if name not in idle}


def described_value(name: str, value: object, card: Card) -> str:
    """Spell a value with what it stands for behind it; "" where the card of its call does not say.

    The words of others stand in quotes.
    """
    if not (entry := card.get("described", {}).get(name)):
        return ""
    number = isinstance(value, int) and not isinstance(value, bool)
    spelled = f"#{value}" if number else literal_text(value) if value else ""
    if entry.get("missing"):
        return f"{spelled}: {one_line(entry['text'])}".removeprefix(": ")
    words = _quoted(entry["text"]) if entry.get("untrusted") else one_line(entry["text"])
    return f"{spelled}, {words}".removeprefix(", ")


def described_argument(name: str, value: object, card: Card) -> str:
    """Spell an argument with its name and what it stands for; "" where the card does not say."""
    text = described_value(name, value, card)
    return f"{one_line(name)} {text}" if text else ""


def _subject(step: Card, params: Mapping[str, object]) -> tuple[str, str]:
    """Name the argument that says to what a deed is done, and the deed with it: `Close ticket #4, "Pump"`."""
    does, deed = one_line(step.get("does") or step["capability"]), step.get("deed") or {}
    for name in step.get("described", {}) if deed else ():
        if name in params and (name == "id" or name.endswith("_id")):
            verb, noun = one_line(deed["verb"]).capitalize(), one_line(deed["noun"])
            return name, f"{verb} {noun} {described_value(name, params[name], step)}"
    return "", does


def effect_phrase(capability: str, args: Mapping[str, object], result: object) -> str:
    """Name what was done by its telling values: `tickets.create #7 "Invoice from Acme"`."""
    number = result.get("id") if isinstance(result, Mapping) else None
    names = [name for name in TELLING if isinstance(args.get(name), str) and args[name]][:2]
    values = [f'"{one_line(_cut(str(args[name])))}"' for name in names]
    marked = [f"#{number}"] if isinstance(number, int) else []
    return " ".join([one_line(capability), *marked, ", ".join(values)]).rstrip()


def _cut(text: str) -> str:
    return text if len(text) <= SHORT else f"{text[:SHORT]}…"


def argument_text(value: object) -> str:
    """Spell a value with its references in words, between ‹ and ›; nothing else holds those marks."""
    return format_references(value_text(value), lambda path: f"‹{reference_text(path)}›")


def value_text(value: object) -> str:
    """Spell a value that refers to nothing, without the marks of references."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.replace("‹", "\\u2039").replace("›", "\\u203a")


def arguments_line(args: Mapping[str, object], known: Container[str] = ()) -> str:
    """Spell arguments on one line, whole, with nothing in them that could act on a terminal.

    Those that are `known`, by name, are values; in others references stand in words.
    """
    spelt = (
        (name, value_text(value) if name in known else argument_text(value)) for name, value in args.items()
    )
    return ", ".join(f"{one_line(name)}: {one_line(value)}" for name, value in spelt)


def reference_text(path: Sequence[str]) -> str:
    """Say in words what a reference brings: `the text of the first message of step 1`."""
    if path[0] != "steps" or len(path) < 3:
        return " of ".join(
            ["the " + one_line(".".join(path[1:])), "the input"] if path[1:] else ["the input"]
        )
    step, parts = step_name(path[1]), list(path[3:])
    if not parts:
        return f"all that {step} brings"
    words: list[str] = []
    while parts:
        part = parts.pop()
        if part.isascii() and part.isdigit():
            of = parts.pop() if parts and not parts[-1].isdigit() else ""
            words.append(f"the {_ordinal(int(part))} {_one_of(of)}".rstrip())
        else:
            words.append(f"the {part}")
    return " of ".join([*words, step])


def step_name(id_: str) -> str:
    """Name a step in a sentence: `step 2` for the id s2, any other id in quotes."""
    match = _NUMBERED.fullmatch(id_)
    return f"step {match[1]}" if match else f'step "{one_line(id_)}"'


def _inline(name: str, value: object, *, known: bool = False) -> str:
    """Spell an argument for the sentence; empty where it needs a row of its own. A `known` one is a value."""
    if not known and isinstance(value, str) and (path := whole_reference(value)):
        same = path[0] == "steps" and path[-1] == name and len(path) > 3
        if same and len(path) == 4:
            return f"{one_line(name)} from {step_name(path[1])}"
        return f"{one_line(name)} from {reference_text(path[:-1] if same else path)}"
    if isinstance(value, str) and "{{" in value:
        return ""
    if isinstance(value, dict) or (isinstance(value, list) and not all(isinstance(v, str) for v in value)):
        return ""
    items = value if isinstance(value, list) else [value]
    text = ", ".join(literal_text(item) if known else _item(item) for item in items)
    several = isinstance(value, list) and len(value) != 1
    return f"{one_line(name)} {f'[{text}]' if several else text}" if 0 < len(text) <= SHORT else ""


def _item(value: object) -> str:
    """Spell an item of a list: a reference in words, any other value as it is."""
    refers = isinstance(value, str) and "{{" in value
    return one_line(argument_text(value)) if refers else literal_text(value)


def literal_text(value: object) -> str:
    """Spell a literal value: bare where it cannot be misread, else in quotes."""
    if not isinstance(value, str):
        return json.dumps(value)
    bare = _PLAIN.fullmatch(value) and "  " not in value and not re.search(r"\b(?:step|input)", value, re.I)
    if bare and one_line(value) == value:
        return value
    return _quoted(value)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{one_line(escaped)}"'


def _one_of(name: str) -> str:
    if not name:
        return "item"
    return name[:-1] if name.endswith("s") and len(name) > 2 else f"of {name}"


def _ordinal(index: int) -> str:
    return ORDINALS[index] if index < len(ORDINALS) else f"{index + 1}th"
