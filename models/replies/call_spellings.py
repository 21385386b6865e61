"""How models spell a call in text: each function reads one way, all of a text or nothing of it.

They take what stands between the marks of a format, and raise ValueError for what is not exactly of their
way: nothing is repaired, and no argument is guessed.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from planwright.models.replies.plan_wrappers import once

LONGEST_PYTHON = 20_000  # characters; Python's own parser takes them in a few milliseconds
_NAMES = ("name", "tool_name", "tool", "function", "action", "recipient_name")
_ARGUMENTS = ("arguments", "parameters", "args", "action_input", "tool_input", "input", "kwargs")
_BESIDE = frozenset(("id", "type", "index", "tool_call_id", "call_id", "thought"))
_WRAPPERS = ("tool_calls", "tool_call", "function_call", "function")
_JSON = json.JSONDecoder(object_pairs_hook=once, strict=False)
_BETWEEN = re.compile(r"[\s;,]*")
_FENCE = re.compile(r"\A\s*```[\w-]*[ \t]*\n(?P<inside>.*?)\n?[ \t]*```\s*\Z", re.DOTALL)
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None}
_PREFIX = r"(?:[a-z]+:|｜DSML｜)?"
_INVOKED = re.compile(
    rf"<{_PREFIX}(?:function|invoke)(?:=|\s+name=)[\"']?(?P<name>[\w./-]+)[\"']?\s*>"
    rf"(?P<inside>.*?)</{_PREFIX}(?:function|invoke)>",
    re.DOTALL,
)
_PARAMETER = re.compile(
    rf"<{_PREFIX}(?:parameter|param)(?:=|\s+name=)[\"']?(?P<name>[^\"'<>\s]+)[\"']?"
    rf"(?:\s+string=\"(?P<text>true|false)\")?\s*>(?P<value>.*?)</{_PREFIX}(?:parameter|param)>",
    re.DOTALL,
)
_PAIR = re.compile(r"<arg_key>(?P<name>.*?)</arg_key>\s*<arg_value>(?P<value>.*?)</arg_value>", re.DOTALL)
_NAMED = re.compile(
    r"\A\s*(?:function\s*<｜tool▁sep｜>\s*)?(?P<name>[\w./-]+?)(?::\d+)?"
    r"(?:\s|<｜tool▁sep｜>|<\|tool_call_argument_begin\|>|<\|channel\|>|<\|constrain\|>|<\|message\|>|<\|content\|>"
    r"|\[CALL_ID\]\w+|\[ARGS\]|\bcommentary\b|\bjson\b|```)*(?P<arguments>\{.*\})\s*(?:```)?\s*\Z",
    re.DOTALL,
)
_ACTION = re.compile(
    r"\A\s*(?P<name>[\w./-]+)\s*\n\s*Action[ _]Input\s*:\s*(?P<arguments>\{.*\})\s*(?:\nObservation:.*)?\Z",
    re.DOTALL,
)
_KEY = re.compile(r"(?P<before>[{,]\s*)(?P<key>[A-Za-z_]\w*)(?=\s*:)")


@dataclass(frozen=True)
class SpelledCall:
    """One call that is spelled in text."""

    name: str
    """Name of the tool, as it is spelled."""
    arguments: Mapping[str, object]
    """Arguments, as they are spelled."""
    texts: frozenset[str] = frozenset()
    """Which of them are spelled without saying their type: the schema of the tool decides."""


Spelling = Callable[[str], list[SpelledCall]]


def in_json(text: str) -> list[SpelledCall]:
    """Read objects with a name and arguments, in a list or one behind the other, also within a fence."""
    text, at, values = _unfenced(text), 0, list[object]()
    while at < len(text):
        value, at = _JSON.raw_decode(text, _skipped(text, at))
        values += value if isinstance(value, list) else [value]
        at = _skipped(text, at)
    return [call for value in values for call in _of_object(value)]


def in_keys(text: str) -> list[SpelledCall]:
    """Read objects whose only key is the name of a tool: `[{"look": {"at": "a"}}]`."""
    value = _JSON.decode(text.strip())
    objects = value if isinstance(value, list) else [value]
    return [SpelledCall(*_only(entry)) for entry in objects]


def in_python(text: str) -> list[SpelledCall]:
    """Read calls of Python with literals by name: `[look(at="a"), end()]`, or one in each line."""
    text = _unfenced(text).strip()
    if len(text) > LONGEST_PYTHON:
        raise ValueError("too long")
    try:
        parsed = ast.parse(text).body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError("no Python") from error
    calls: list[SpelledCall] = []
    for line in parsed:
        value = line.value if isinstance(line, ast.Expr) else None
        calls += map(_of_python, value.elts if isinstance(value, ast.List) else [value])
    return calls


def in_tags(text: str) -> list[SpelledCall]:
    """Read `<function=look><parameter=at>a</parameter></function>`, also with `invoke` and `name="look"`."""
    return [_of_tags(match["name"], match["inside"]) for match in _each(_INVOKED, text)]


def in_pairs(text: str) -> list[SpelledCall]:
    """Read a name with `<arg_key>at</arg_key><arg_value>a</arg_value>` behind it."""
    name, opening, _ = text.partition("<arg_key>")
    pairs = _each(_PAIR, text[len(name) :]) if opening else []
    arguments = {pair["name"].strip(): pair["value"] for pair in pairs}
    if not re.fullmatch(r"\s*[\w./-]+\s*", name) or len(arguments) < len(pairs):
        raise ValueError("no name, or an argument twice")
    return [SpelledCall(name.strip(), arguments, frozenset(arguments))]


def in_named_json(text: str) -> list[SpelledCall]:
    """Read a name, marks that say nothing more, and an object: `functions.look:0 {"at": "a"}`."""
    return [_of_match(_NAMED.match(text))]


def as_action(text: str) -> list[SpelledCall]:
    """Read what stands behind `Action:`, a name, and `Action Input:` with an object."""
    return [_of_match(_ACTION.match(text))]


def in_braces(text: str) -> list[SpelledCall]:
    """Read `call:look{at:<escape>a<escape>}`, whose keys and texts have no quotes."""
    name, brace, rest = text.strip().removeprefix("call:").partition("{")
    if not brace:
        raise ValueError("no arguments")
    parts = re.split(r'<escape>|<\|"\|>', brace + rest)
    if len(parts) % 2 == 0:
        raise ValueError("a text has no end")
    keyed = [_KEY.sub(r'\g<before>"\g<key>"', part) for part in parts[::2]]
    spelled = [*zip(keyed, map(json.dumps, parts[1::2]), strict=False)]
    arguments = "".join(before + quoted for before, quoted in spelled) + keyed[-1]
    return [SpelledCall(name.strip(), _object(_JSON.decode(arguments)))]


def _unfenced(text: str) -> str:
    match = _FENCE.match(text)
    return match["inside"] if match else text


def _skipped(text: str, at: int) -> int:
    between = _BETWEEN.match(text, at)
    return between.end() if between else at


def _object(value: object) -> dict[str, object]:
    if isinstance(value, str):
        value = _JSON.decode(value.strip())
    if not isinstance(value, dict):
        raise ValueError("the arguments are no object")
    return value


def _only(entry: object) -> tuple[str, dict[str, object]]:
    if not isinstance(entry, dict) or len(entry) != 1:
        raise ValueError("not one key")
    ((name, arguments),) = entry.items()
    return name, _object(arguments)


def _of_object(value: object) -> list[SpelledCall]:
    """Read an object that is a call, or that holds the calls under a key that says so."""
    if not isinstance(value, dict):
        raise ValueError("no object")
    telling = value.keys() - _BESIDE
    for wrapper in _WRAPPERS:
        inside = value.get(wrapper)
        if telling == {wrapper} and isinstance(inside, dict | list):
            return [
                call
                for each in (inside if isinstance(inside, list) else [inside])
                for call in _of_object(each)
            ]
    names, arguments = telling.intersection(_NAMES), telling.intersection(_ARGUMENTS)
    if len(names) != 1 or len(arguments) != 1 or telling != names | arguments:
        raise ValueError("no name with arguments, or more than that")
    name = value[names.pop()]
    if not isinstance(name, str):
        raise ValueError("the name is no text")
    return [SpelledCall(name, _object(value[arguments.pop()]))]


def _of_python(value: ast.expr | None) -> SpelledCall:
    if not isinstance(value, ast.Call) or value.args:
        raise ValueError("no call whose arguments have names")
    name = ast.unparse(value.func).removesuffix(".call")
    if not re.fullmatch(r"[\w.]+", name):
        raise ValueError("no name")
    arguments = {keyword.arg: _literal(keyword.value) for keyword in value.keywords if keyword.arg}
    if len(arguments) < len(value.keywords):
        raise ValueError("an argument without a name, or twice")
    return SpelledCall(name, arguments)


def _literal(value: ast.expr) -> object:
    """Read a literal, of Python or of JSON. Raises ValueError for what is none."""
    if isinstance(value, ast.Name) and value.id in _WORDS:
        return _WORDS[value.id]
    if isinstance(value, ast.List | ast.Tuple):
        return [_literal(entry) for entry in value.elts]
    if isinstance(value, ast.Dict):
        return {_key(key): _literal(held) for key, held in zip(value.keys, value.values, strict=True)}
    read = ast.literal_eval(value)
    if not isinstance(read, str | int | float | bool | None):
        raise ValueError("no value of JSON")
    return read


def _key(key: ast.expr | None) -> str:
    read = ast.literal_eval(key) if key else None
    if not isinstance(read, str):
        raise ValueError("a key that is no text")
    return read


def _each(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """Find what a text is a row of. Raises ValueError where there is anything else in it."""
    matches, at = list[re.Match[str]](), _skipped(text, 0)
    while at < len(text):
        if (match := pattern.match(text, at)) is None:
            raise ValueError("words between the tags")
        matches.append(match)
        at = _skipped(text, match.end())
    return matches


def _of_tags(name: str, inside: str) -> SpelledCall:
    if inside.lstrip().startswith("{"):
        return SpelledCall(name, _object(inside))
    matches = _each(_PARAMETER, inside)
    values = {match["name"]: _unwrapped(match["value"]) for match in matches}
    if len(values) < len(matches):
        raise ValueError("an argument twice")
    kinds = {match["name"]: match["text"] for match in matches}
    values |= {key: json.loads(values[key]) for key, text in kinds.items() if text == "false"}
    return SpelledCall(name, values, frozenset(key for key, text in kinds.items() if text is None))


def _unwrapped(value: str) -> str:
    """Take off the line breaks that stand between a value and its tags."""
    return value.removeprefix("\n").removesuffix("\n")


def _of_match(match: re.Match[str] | None) -> SpelledCall:
    if match is None:
        raise ValueError("no name with an object")
    return SpelledCall(match["name"], _object(_JSON.decode(match["arguments"])))
