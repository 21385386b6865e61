"""The rooms of the house, from the top down: a module imports only from its own room and from those below."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROOMS = (
    "cli",
    "demo",
    "graph",
    "nodes",
    "execution",
    "approvals",
    "planning",
    "critic",
    "capabilities",
    "models",
    "prompts",
    "checkpoints",
    "state",
    "security",
    "settings",
    "sandbox",
    "domain",
)
MOST_LINES, MOST_LINES_OF_A_FUNCTION, MOST_MODULES = 300, 50, 24
SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path
    for room in ROOMS
    for path in sorted((ROOT / room).rglob("*.py"))
}


def imports(path: Path) -> Iterator[str]:
    """List the modules of ours that a file imports, wherever in it and whatever for."""
    yield from _imported(ast.walk(ast.parse(path.read_text("utf-8"))))


def _loaded(path: Path) -> Iterator[str]:
    """List the modules of ours that a file loads when it is loaded itself."""
    yield from _imported(ast.parse(path.read_text("utf-8")).body)


def _imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("planwright"):
            package = node.module.removeprefix("planwright").removeprefix(".")
            for alias in node.names:
                name = f"{package}.{alias.name}".removeprefix(".")
                yield name if name in SOURCES else package


def test_imports_point_down() -> None:
    floor = {room: number for number, room in enumerate(ROOMS)}
    upward = [
        f"{module} imports {name}"
        for module, path in SOURCES.items()
        for name in imports(path)
        if floor[name.partition(".")[0]] < floor[module.partition(".")[0]]
    ]
    assert upward == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph: Mapping[str, set[str]] = {
        module: {name for name in _loaded(path) if name in SOURCES and name != module}
        for module, path in SOURCES.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" → ".join(error.args[1])) from None


def test_a_file_and_a_function_can_be_read_in_one_sitting() -> None:
    too_long = []
    for module, path in SOURCES.items():
        text = path.read_text("utf-8")
        too_long += [module] if text.count("\n") > MOST_LINES else []
        too_long += [
            f"{module}.{node.name}"
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and (node.end_lineno or 0) - node.lineno >= MOST_LINES_OF_A_FUNCTION
        ]
    assert too_long == []


def test_a_folder_says_what_it_is_and_holds_no_more_than_can_be_looked_over() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    problems = []
    for init in (path for path in SOURCES.values() if path.name == "__init__.py"):
        folder = init.parent
        sentence = (ast.get_docstring(ast.parse(init.read_text("utf-8"))) or "").partition("\n")[0]
        if not sentence.endswith(".") or sentence not in page:
            problems.append(f"{folder.relative_to(ROOT)}: {sentence!r} is not in docs/architecture.md")
        if (modules := len([*folder.glob("*.py")]) - 1) > MOST_MODULES:
            problems.append(f"{folder.relative_to(ROOT)} holds {modules} modules")
    assert problems == []


def test_every_file_of_nodes_is_a_node_and_every_node_has_its_file() -> None:
    wired = "".join(path.read_text("utf-8") for name, path in SOURCES.items() if name.startswith("graph."))
    nodes = set(re.findall(r'add_node\((?:graph, )?"(\w+)"', wired))
    files = {
        path.stem for name, path in SOURCES.items() if name.startswith("nodes.") and path.stem != "__init__"
    }
    assert files == nodes


def test_no_text_refers_to_a_document_that_is_not_here() -> None:
    absent = re.compile(r"\b(?:SPEC|DESIGN|S[0-4])\b")
    assert [name for name, path in SOURCES.items() if absent.search(path.read_text("utf-8"))] == []


def test_only_settings_reads_the_environment() -> None:
    readers = [
        module
        for module, path in SOURCES.items()
        if re.search(r"os\.environ|os\.getenv|getenv\(", path.read_text("utf-8"))
    ]
    assert readers == ["settings.settings"]


def test_every_folder_is_packaged_linked_and_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packages = set(project["tool"]["setuptools"]["packages"])
    on_disk = {f"planwright.{name.removesuffix('.__init__')}" for name in SOURCES if "__init__" in name}
    links = {link.name for link in (ROOT / ".typing" / "planwright").iterdir() if link.is_symlink()}
    assert packages == on_disk
    assert links == set(ROOMS)
    assert all((ROOT / ".typing" / "planwright" / link).resolve() == ROOT / link for link in links)
