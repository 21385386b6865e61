"""What can be added from outside: packages bring it as entry points, and `extras/` comes in by the same way.

https://packaging.python.org/specifications/entry-points/: the group is `planwright.` and a hook. Nothing of a
plugin is imported before it is used.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any, Literal

from planwright.domain.errors import SetupError

Hook = Literal["commands", "models", "stores", "tool_servers"]
"""`commands`: functions or groups of Typer, by their names at the command line. Of the others one name each
is asked for: of `models` the chat model `embedded`, of `stores` `postgresql`, an `OpenStoreServer`, and of
`tool_servers` `mcp`, a `ToolServerPlugin`.
"""
OURS = "planwright.extras"


@cache
def plugins(hook: Hook) -> dict[str, EntryPoint]:
    """Find what is installed for a hook, by name; of two by one name ours is taken."""
    points = sorted(entry_points(group=f"planwright.{hook}"), key=_is_ours)
    left_out = find_spec(OURS) is None  # a distribution may leave the extras out
    return {point.name: point for point in points if not (left_out and _is_ours(point))}


def plugin(hook: Hook, name: str) -> Any:
    """Load a plugin. Raises SetupError where no installed package brings it, or it cannot be imported."""
    if (point := plugins(hook).get(name)) is None:
        known = ", ".join(plugins(hook)) or "none"
        cause = f"nothing that is installed brings {name!r} for planwright.{hook} (there is: {known})"
        raise SetupError(cause, "install Planwright anew, or the package that brings it")
    try:
        return point.load()
    except (ImportError, AttributeError, SyntaxError) as error:
        cause = f"{name!r} of planwright.{hook} cannot be imported from {point.value}: {error}"
        raise SetupError(cause, "mend that package, or remove it") from error


def how_to_install(extra: str) -> str:
    """Spell the next step where an extra of Planwright is missing."""
    return f"install the extra, in the folder of Planwright: pip install '.[{extra}]'"


def _is_ours(point: EntryPoint) -> bool:
    return point.value.startswith(f"{OURS}.")
