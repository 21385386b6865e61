"""CEL as the library has it, and its errors in words; only `expression.py` and the sandbox load it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import cel

from planwright.language.first_person import holds
from planwright.language.wishes.wishes import wishes

# Those of cel-rust 0.14, which cannot be asked: it says "undefined function" of wrong arguments, too.
FUNCTIONS = frozenset(
    "size contains startsWith endsWith matches int uint double string bytes timestamp duration type dyn"
    " getFullYear getMonth getDayOfMonth getDate getDayOfWeek getDayOfYear getHours getMinutes getSeconds"
    " getMilliseconds of none ofNonZeroValue hasValue value orValue or from_user".split()
)
_UNDEFINED = re.compile(r"Undefined variable or function: '(\w+)'")
_SYNTAX = re.compile(r"<input>:1:(\d+): Syntax error: (.*?)(?: expecting .*)?$")
_FAILURES = (ValueError, TypeError, LookupError, RuntimeError, ArithmeticError)


def program_of(source: str) -> cel.Program:
    """Compile an expression. Raises ValueError for what is not CEL."""
    try:
        return cel.compile(source)
    except ValueError as error:
        raise ValueError(f"is not CEL: {_flaw(error)}") from error


def context_of(values: Mapping[str, object], request: str = "") -> cel.Context:
    """Turn values into CEL's own. Raises ValueError for what it cannot hold, e.g. half a surrogate"""
    context = cel.Context(dict(values))
    context.add_function(
        "from_user", lambda value: any(holds(wish.sentence, str(value)) for wish in wishes(request))
    )
    return context


def evaluate(program: cel.Program, context: Callable[[], cel.Context]) -> tuple[bool | None, str]:
    """Say whether a program is true; None, and why, where it cannot be evaluated or is no boolean."""
    try:
        value = program.execute(context())
    except _FAILURES as error:
        return None, f"cannot be evaluated: {_failure(error)}"
    if value is True or value is False:
        return value, ""
    return None, f"is {value!r:.40}, neither true nor false"


def evaluate_text(source: str, values: Mapping[str, object], request: str = "") -> tuple[bool | None, str]:
    """Evaluate an expression in the sandbox."""
    return evaluate(program_of(source), lambda: context_of(values, request))


def first_line(error: Exception) -> str:
    """Read the first line of an error, and no more than fits on a screen."""
    return next(iter(str(error).splitlines()), type(error).__name__)[:200]


def _flaw(error: Exception) -> str:
    """Say what the parser stumbled over, and at which character; its own words where it says otherwise."""
    text = first_line(error)
    if (flaw := _SYNTAX.search(text)) is None:
        return text
    words = flaw[2].replace("'<EOF>'", "the end").replace("token recognition error at: ", "")
    return f"it breaks at character {flaw[1]}: {words.strip()}"


def _failure(error: Exception) -> str:
    """Put CEL's error into words: it calls a function undefined when a value has the wrong type."""
    if isinstance(error, LookupError):
        return f"there is no {error}"
    name = _UNDEFINED.match(str(error))
    if name and name[1] in FUNCTIONS:
        return f"`{name[1]}` does not take a value of that type"
    return first_line(error)
