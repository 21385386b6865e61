"""What a person is asked of effects in doubt: one line an effect, why nobody knows, and how to find out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from pydantic import JsonValue

from planwright.domain.doubt import SHOWN_KEY, Doubt
from planwright.domain.hashing import canonical_json

MOST_VALUES = 4
LONGEST_VALUE = 40
"""Letters of a value on a line; all of it is on the card."""
NOTHING: tuple[JsonValue, ...] = (None, "", [], {})
BEFORE_THE_DIFFERENCE = 8
"""Letters that long values have in common and that are shown all the same."""


def question_lines(doubts: Sequence[Doubt]) -> list[str]:
    """Name each effect on one line: what was called, the values that tell it apart, when, and its key."""
    when = [f"begun {_time(doubt)} UTC, key {doubt.key[:SHOWN_KEY]}" for doubt in doubts]
    return [f"{call}; {begun}" for call, begun in zip(call_lines(doubts), when, strict=True)]


def call_lines(doubts: Sequence[Doubt]) -> list[str]:
    """Name what each effect is: what was called, of which step, with the values that tell it apart."""
    return [_call(doubt, doubts) for doubt in doubts]


def not_whole(doubt: Doubt, doubts: Sequence[Doubt]) -> list[str]:
    """Name the arguments of an effect that its line leaves out, or cuts."""
    in_line = _names(doubt, doubts)[:MOST_VALUES]
    names = [name for name, value in doubt.args.items() if value not in NOTHING]
    return [name for name in names if name not in in_line or len(_text(doubt.args, name)) > LONGEST_VALUE]


def reason_lines(doubts: Sequence[Doubt]) -> list[str]:
    """Say why nobody knows, each reason once, behind the numbers of the effects that it is about."""
    return _once([doubt.why for doubt in doubts])


def finding_out_lines(doubts: Sequence[Doubt]) -> list[str]:
    """Say how to find out whether they happened, each way once, behind the numbers of its effects."""
    return _once([doubt.find_out for doubt in doubts])


def asked_lines(doubts: Sequence[Doubt]) -> list[str]:
    """Ask of effects whether they happened, in lines of text; nothing where none is in doubt."""
    if not doubts:
        return []
    numbers = [f"{number}  " for number in range(1, len(doubts) + 1)] if len(doubts) > 1 else [""]
    questions = [f"{number}{line}" for number, line in zip(numbers, question_lines(doubts), strict=True)]
    why = [f"why nobody knows: {line}" for line in reason_lines(doubts)]
    return [*questions, *why, *(f"how to find out: {line}" for line in finding_out_lines(doubts))]


def _call(doubt: Doubt, doubts: Sequence[Doubt]) -> str:
    step = f" ({doubt.step_id})" if doubt.step_id else ""
    like, names = _like(doubt, doubts), _names(doubt, doubts)
    values = [f"{name} {_short(doubt, name, like)}" for name in names[:MOST_VALUES]]
    more = [f"{left} more"] if (left := len(names) - MOST_VALUES) > 0 else []
    return f"{doubt.capability}{step}" + (f": {', '.join([*values, *more])}" if values else "")


def _like(doubt: Doubt, doubts: Sequence[Doubt]) -> list[Doubt]:
    return [other for other in doubts if other.capability == doubt.capability]


def _names(doubt: Doubt, doubts: Sequence[Doubt]) -> list[str]:
    """Name the arguments that tell a call apart from others of its capability; all where none does."""
    like = _like(doubt, doubts)
    spelled = {name: {canonical_json(other.args.get(name)) for other in like} for name in doubt.args}
    differing = [name for name in spelled if len(spelled[name]) > 1]
    return differing or [name for name, value in doubt.args.items() if value not in NOTHING]


def _short(doubt: Doubt, name: str, like: Sequence[Doubt]) -> str:
    """Spell a value in few letters; where long ones begin alike, from a little before they differ."""
    text, others = _text(doubt.args, name), [_text(other.args, name) for other in like]
    if len(text) <= LONGEST_VALUE:
        return text
    alike = [len(set(letters)) == 1 for letters in zip(*others, strict=False)]
    common = alike.index(False) if False in alike else 0
    begin = common - BEFORE_THE_DIFFERENCE if common > LONGEST_VALUE - BEFORE_THE_DIFFERENCE else 0
    part = text[begin : begin + LONGEST_VALUE]
    return f"{'…' * bool(begin)}{part}{'…' * (begin + LONGEST_VALUE < len(text))}"


def _text(args: Mapping[str, JsonValue], name: str) -> str:
    value = args.get(name)
    return " ".join(value.split()) if isinstance(value, str) else canonical_json(value)


def _time(doubt: Doubt) -> str:
    return doubt.sent_at[:19].replace("T", " ")


def _once(texts: Sequence[str]) -> list[str]:
    """List each text once; where there are several, behind the numbers of those that it holds for."""
    if len(set(texts)) == 1:
        return [texts[0]]
    numbers = {text: [n for n, other in enumerate(texts, 1) if other == text] for text in texts}
    return [f"{_ranges(places)}: {text}" for text, places in numbers.items()]


def _ranges(numbers: Sequence[int]) -> str:
    """Spell rising numbers, neighbours as a range: 1-3, 5."""
    runs = [[n for _, n in run] for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
