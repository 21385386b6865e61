"""Imports point down only: the house has floors (DESIGN §2)."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("graph", "nodes", "capabilities", "prompts", "models", "checkpoints", "sandbox", "cli", "demo")
# From the top floor down; a module may import from its own floor and from those below.
FLOORS = (
    ("cli",),
    ("demo",),
    ("graph.server", "graph.server_auth", "graph.server_middleware"),
    ("graph.agent", "graph.building"),
    (
        "graph.door",
        "graph.entry",
        "graph.answers",
        "graph.answering",
        "graph.background",
        "graph.control",
        "graph.fork",
        "graph.kept",
        "graph.on_hand",
        "graph.one_step",
        "graph.same_store",
        "graph.undo",
        "graph.world",
    ),
    ("graph.pipeline", "graph.lane", "graph.loop", "graph.chain_run", "graph.wiring"),
    ("nodes",),
    ("nodes.critic",),
    ("capabilities",),
    ("models",),
    ("prompts",),
    ("checkpoints",),
    ("sandbox",),
    ("graph",),
)


def floor(module: str) -> int:
    """Find the floor a module lives on, 0 being the top."""
    homes = [
        (len(name), n)
        for n, names in enumerate(FLOORS)
        for name in names
        if f"{module}.".startswith(f"{name}.")
    ]
    return max(homes)[1]


def imports(path: Path) -> list[str]:
    """List the modules of ours that a file imports, whatever it is for."""
    tree = ast.parse(path.read_text("utf-8"))
    lazily_typed = {id(n) for top in ast.walk(tree) if _is_type_checking(top) for n in ast.walk(top)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and id(node) not in lazily_typed:
            found += (
                [node.module]
                if node.module.count(".") > 1
                else [f"{node.module}.{a.name}" for a in node.names]
            )
    return [name.removeprefix("planwright.") for name in found if name.startswith("planwright.")]


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    upward = [name for name in imports(path) if floor(name) < floor(module)]
    assert not upward, f"{module} imports from a floor above its own: {upward}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_can_be_read_in_one_sitting(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.count("\n") <= 300
    long = [
        node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= 50
    ]
    assert not long, f"functions over 50 lines: {long}"


def test_only_settings_reads_the_environment() -> None:
    readers = [
        p.relative_to(ROOT)
        for p in SOURCES
        if re.search(r"os\.environ|os\.getenv|getenv\(", p.read_text("utf-8"))
    ]
    assert readers == [Path("graph/settings.py")]


def test_every_folder_is_packaged_linked_and_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packages = set(project["tool"]["setuptools"]["packages"])
    on_disk = {
        "planwright." + ".".join(init.parent.relative_to(ROOT).parts)
        for folder in FOLDERS
        for init in (ROOT / folder).rglob("__init__.py")
    }
    links = {link.name for link in (ROOT / ".typing" / "planwright").iterdir() if link.is_symlink()}
    assert packages == on_disk
    assert links == set(FOLDERS)
    assert all((ROOT / ".typing" / "planwright" / link).resolve() == ROOT / link for link in links)
