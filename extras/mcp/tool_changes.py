"""How the tools that a server lists differ from those that it had when a person trusted it.

A tool that may do more unasked, or says something else to a model, is not the one that was looked at. One
that claims to be graver, or that is gone, needs nobody.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff

from planwright.extras.mcp.tools import Tool

MOST_NAMED, LONGEST_NAME = 8, 60  # of changed tools on one line
CONTEXT = 2  # lines around what differs


@dataclass(frozen=True)
class ToolChange:
    """One tool that is not as it was trusted; at least one of `before` and `now` is there."""

    before: Tool | None
    """The tool as it was trusted; None for a new one."""
    now: Tool | None
    """The tool as its server lists it; None for one that is gone."""

    @property
    def name(self) -> str:
        """Name that its server calls the tool."""
        return tool.name if (tool := self.now or self.before) else ""

    @property
    def difference(self) -> str:
        """Say what is other, in a few words."""
        before, now = self.before, self.now
        if before is None or now is None:
            return "gone" if now is None else "new"
        looser, graver = now.hints.looser_than(before.hints), now.hints != before.hints
        kinds = {
            "description": now.description != before.description,
            "arguments": now.input_schema != before.input_schema,
            "result": now.output_schema != before.output_schema,
            "looser hints": looser,
            "tighter hints": graver and not looser,
        }
        return ", ".join(kind for kind, differs in kinds.items() if differs)

    @property
    def asks(self) -> bool:
        """Whether the tool is left out until a person trusts it as it is now."""
        return self.difference not in ("gone", "tighter hints")

    def diff(self) -> Iterator[str]:
        """Show what differs, line by line."""
        before, now = (_lines(tool) for tool in (self.before, self.now))
        for line in unified_diff(before, now, n=CONTEXT, lineterm=""):
            if not line.startswith(("---", "+++", "@@")):
                yield line


def changes_of(trusted: Mapping[str, Tool], current: Iterable[Tool]) -> tuple[ToolChange, ...]:
    """Compare what a server lists with what was trusted, by the names of its tools."""
    now = {tool.name: tool for tool in current}
    pairs = ((trusted.get(name), now.get(name)) for name in sorted({*trusted, *now}))
    return tuple(ToolChange(before, after) for before, after in pairs if before != after)


def change_summary(changes: Iterable[ToolChange]) -> str:
    """Say on one line which tools are left out, and which are gone; "" where neither is."""
    known = list(changes)
    left_out = [f"{_short(change.name)} ({change.difference})" for change in known if change.asks]
    gone = [_short(change.name) for change in known if change.now is None]
    parts = [f"{word} {_first(names)}" for word, names in (("left out:", left_out), ("gone:", gone)) if names]
    return f"its tools have changed since it was trusted; {'; '.join(parts)}" if parts else ""


def _first(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _short(name: str) -> str:
    return "".join(filter(str.isprintable, name))[:LONGEST_NAME]


def _lines(tool: Tool | None) -> list[str]:
    return json.dumps(tool.fields(), indent=1, ensure_ascii=False).splitlines() if tool else []
