"""Objects that tell of every look at an attribute, and a scope that is full of them and of traps."""

from __future__ import annotations

from typing import Any

CANARY = "THE-SECOND-PASS-HAPPENED"


class Looked(AssertionError):
    """Somebody looked at an attribute."""


class Watched:
    """Tells of every look at an attribute but `__class__`, for which `isinstance` itself asks."""

    secret = CANARY

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            return type(self)
        raise Looked(name)


class WatchedDict(Watched, dict[str, Any]):
    """A dict that may be indexed, and nothing else."""


class WatchedList(Watched, list[Any]):
    """A list that may be indexed, and nothing else."""


def scope() -> tuple[dict[str, Any], dict[str, Any]]:
    """Make a scope as JSON holds it, and the same with every container watched."""
    trap = "{{input.canary}} {{steps.1.output.text}}"
    deep: Any = "found"
    for _ in range(40):
        deep = {"a": deep}
    given: dict[str, Any] = {
        "text": "hello",
        "count": 3,
        "ratio": 0.5,
        "yes": True,
        "none": None,
        "empty": "",
        "big": 2**60,
        "list": [[1, 2], "two", {"id": 7}],
        "object": {"a": {"b": "deep"}, "a-b": "dash", "0": "zero as a key"},
        "ümlaut": "ok",
        "key": "text",
        "canary": CANARY,
        "trap": trap,
        "traps": [trap],
        "nested": {"trap": trap},
        "open": "{{",
        "middle": "input.canary",
        "close": "}}",
        "half": "{input.canary}",
        "deep": deep,
    }
    output = {"text": "first", "count": 1, "list": [1, 2, 3], "trap": trap}
    named = {name: {"output": output} for name in ("1", "first")}
    plain = {"input": given, "steps": named, "previous_result": output}
    return plain, {name: _watched(value) for name, value in plain.items()}


def _watched(value: Any) -> Any:
    if isinstance(value, dict):
        return WatchedDict({key: _watched(item) for key, item in value.items()} | {"thing": Watched()})
    return WatchedList([_watched(item) for item in value]) if isinstance(value, list) else value
