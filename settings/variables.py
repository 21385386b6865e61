"""`${VAR}` and `${VAR:-default}` in a file that is read: values of the environment in their place."""

from __future__ import annotations

import re
from collections.abc import Mapping

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


class VariableError(Exception):
    """A variable that is not set, or no variable: where in the file, what is wrong, what to write."""

    def __init__(self, path: tuple[str | int, ...], cause: str, next_step: str) -> None:
        super().__init__(cause)
        self.path = path
        self.cause = cause
        self.next_step = next_step


def filled(value: object, environment: Mapping[str, str], *path: str | int) -> object:
    """Fill in every text of a JSON value; an empty variable takes the default. Raises VariableError."""
    if isinstance(value, dict):
        return {key: filled(item, environment, *path, key) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, environment, *path, n) for n, item in enumerate(value)]
    if not isinstance(value, str) or "${" not in value:
        return value

    def read(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        if name not in environment and default is None:
            cause = f"needs the variable {name}, which is not set"
            raise VariableError(path, cause, f"set {name}, give a default (${{{name}:-…}})")
        return environment.get(name, "") or default or ""

    if "${" in _VARIABLE.sub("", value):
        raise VariableError(path, "holds a `${` that begins no variable", "write ${NAME}")
    return _VARIABLE.sub(read, value)
