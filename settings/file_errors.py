"""Where in `planwright.toml` a mistake stands, and what was meant."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_settings import BaseSettings

from planwright.presentation.nearest import nearest
from planwright.settings.variables import VariableError

_IN_TOML = {"a valid tuple": "a list", "a valid dictionary": "a table", "a valid decimal": "a number"}


def explain(error: ValidationError, path: Path, text: str, settings: type[BaseModel]) -> tuple[str, str]:
    """Put a settings error into words: file and line, what is wrong, and what to write instead."""
    first = error.errors()[0]
    loc = [str(part) for part in first["loc"]]
    misnamed = loc.pop() if loc[-1:] == ["[key]"] else ""
    name = ".".join(loc)
    line = _line_of(loc, text) or (_line_of(loc[:-1], text) if first["type"] == "missing" else None)
    where = f"{path}:{line}" if line else f"{path} or the environment"
    if first["type"] == "extra_forbidden":
        near = nearest(name, sorted(_names(settings, loc)))
        hint = f"did you mean `{near[0]}`?" if near else "remove it"
        return f"{where}: there is no setting `{name}`", hint
    if misnamed:
        return f"{where}: `{name}`: that is no name", "use up to 64 letters, digits, - and _"
    message = first["msg"].removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    for pydantics, ours in _IN_TOML.items():
        message = message.replace(pydantics, ours)
    return f"{where}: `{name}`: {message}", f"mend `{name}` and try again"


def unfilled(error: VariableError, path: Path, text: str) -> tuple[str, str]:
    """Put a variable that could not be filled in into words: file and line, what is wrong, what to do."""
    loc = [str(part) for part in error.path]
    line = _line_of(loc, text)
    return (
        f"{path}:{line}: `{'.'.join(loc)}` {error.cause}" if line else f"{path}: {error.cause}",
        error.next_step,
    )


def misnamed_variable(variables: Iterable[str], settings: type[BaseSettings]) -> tuple[str, str] | None:
    """Put a variable of the environment into words whose section is no setting. None for none."""
    prefix, delimiter = settings.model_config["env_prefix"], settings.model_config["env_nested_delimiter"]
    for variable in variables:
        section, below, _ = variable.lower().removeprefix(prefix.lower()).partition(delimiter or "__")
        if variable.lower().startswith(prefix.lower()) and below and section not in settings.model_fields:
            near = nearest(section, sorted(settings.model_fields))
            hint = f"did you mean {prefix}{near[0].upper()}{below}…?" if near else "unset it"
            return f"{variable} in the environment: there is no setting `{section}`", hint
    return None


def endless(content: object, path: Path, text: str) -> tuple[str, str] | None:
    """Put a setting into words that is infinite, or no number: TOML has `inf` and `nan`. None for none."""
    for name, value in leaves(content):
        if isinstance(value, float) and not math.isfinite(value):
            line = _line_of(name.split("."), text)
            return f"{path}:{line or '?'}: `{name}`: {value} is no number to go by", "give a number"
    return None


def leaves(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """List the values of nested tables by their dotted names; an empty table is a value."""
    if isinstance(value, Mapping) and value:
        for key, part in value.items():
            yield from leaves(part, f"{name}.{key}" if name else str(key))
    elif name:
        yield name, value


def _line_of(loc: list[str], text: str) -> int | None:
    """Find the line of a setting: its key below its own section, or the header that names it."""
    section: list[str] = []
    for number, row in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\s*([^\]]+?)\s*\]", row):
            section = [part.strip("\"' ") for part in header[1].split(".")]
            if section == loc:
                return number
        elif key := re.match(r"\s*([\w.\"'-]+)\s*=", row):
            path = section + [part.strip("\"'") for part in key[1].split(".")]
            if path == loc or (len(path) < len(loc) and loc[: len(path)] == path):
                return number
    return None


def _names(model: type[BaseModel], loc: list[str], prefix: str = "") -> set[str]:
    """List the settings there are; below a table of named ones, those of the one that `loc` leads to."""
    names = set()
    for key, field in model.model_fields.items():
        names.add(prefix + key)
        below = loc[1:] if loc[:1] == [key] else []
        if get_origin(field.annotation) is dict and below:
            entry = get_args(field.annotation)[1]
            names |= _names(entry, below[1:], f"{prefix}{key}.{below[0]}.")
        elif isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            names |= _names(field.annotation, below, f"{prefix}{key}.")
    return names
