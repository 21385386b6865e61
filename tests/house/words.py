"""Count names that say how a value came instead of what it is, and public names that mean two things.

`python -m tests.house.words` prints the counts, then where each name stands.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.house.rooms import ROOMS

ROOT = Path(__file__).parent.parent.parent
BANNED = frozenset("about asked found given kept listed made one said shown told what whose".split())
BANNED_PARTS = frozenset(("found", "said", "told"))  # not in a longer name, either
# Names in checkpoint bytes, which a store would lose, in what an interrupt sends, or in a result models see.
STORED = (
    ("state/compaction.py", "kept"),
    ("state/loop_state.py", "made"),
    ("approvals/gate.py", "shown"),
    ("capabilities/builtin/mail/smtp.py", "said"),
    ("domain/verified_step.py", "kept"),
    ("domain/memory_proposal.py", "said"),  # a model spells it so in its reply
)
# A function there bears the name of its command or capability, which people type.
NAMED_BY_PEOPLE = (
    *("cli/main.py", "cli/commands/", "capabilities/builtin/", "extras/mcp/mcp_commands.py"),
    *("extras/audit/audit_commands.py", "extras/audit/evaluation_commands.py"),
)


@dataclass(frozen=True)
class Name:
    """A place where product code gives something a name."""

    path: Path
    """File, from the root of the repository."""
    line: int
    """Line of the file, counted from 1."""
    text: str
    """The name as it is written."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.text}"

    @property
    def banned(self) -> bool:
        """Whether the name is one of the words, or a longer one has one of the worst as a part."""
        if (str(self.path), self.text) in STORED:
            return False
        text = self.text.strip("_").lower()
        return text in BANNED or not BANNED_PARTS.isdisjoint(text.split("_"))


def names_of(path: Path) -> Iterator[Name]:
    """List every name that a file binds: classes, functions, parameters, variables, attributes."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.ClassDef(name=text) | ast.FunctionDef(name=text) | ast.AsyncFunctionDef(name=text):
                pass
            case (
                ast.arg(arg=text)
                | ast.Name(id=text, ctx=ast.Store())
                | ast.Attribute(attr=text, ctx=ast.Store())
            ):
                pass
            case _:
                continue
        yield Name(path.relative_to(ROOT), node.lineno, text)


def public_names(path: Path) -> Iterator[Name]:
    """List the classes of a file that have a public name, and its functions where code names them."""
    named_by_people = str(path.relative_to(ROOT)).startswith(NAMED_BY_PEOPLE)
    for node in ast.parse(path.read_text("utf-8")).body:
        match node:
            case ast.ClassDef(name=text) if not text.startswith("_"):
                yield Name(path.relative_to(ROOT), node.lineno, text)
            case ast.FunctionDef(name=text) | ast.AsyncFunctionDef(name=text):
                if not text.startswith("_") and not named_by_people and not _is_node(path, text):
                    yield Name(path.relative_to(ROOT), node.lineno, text)


def _is_node(path: Path, text: str) -> bool:
    """Tell whether a function makes a node, which bears the name of its file and of the node in the graph."""
    return path.is_relative_to(ROOT / "nodes") and path.stem == text


def product_files() -> list[Path]:
    """List the files of all rooms."""
    return sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def banned_names() -> list[Name]:
    """List the names of the product that are banned words."""
    return [name for path in product_files() for name in names_of(path) if name.banned]


def doubled_names() -> dict[str, list[Name]]:
    """List public names that several files give to things of their own."""
    places: dict[str, list[Name]] = defaultdict(list)
    for path in product_files():
        for name in public_names(path):
            places[name.text].append(name)
    return {text: names for text, names in sorted(places.items()) if len(names) > 1}


def main() -> None:
    """Print both counts, then the places."""
    banned, doubled = banned_names(), doubled_names()
    print(f"{len(banned)} banned names, {len(doubled)} public names for two things")
    for name in [*banned, *(name for names in doubled.values() for name in names)]:
        print(name)


if __name__ == "__main__":
    main()
