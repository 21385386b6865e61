"""The rooms of the house, from the top down, and what every file and folder of them has to keep to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
ROOMS = (
    "extras",
    "cli",
    "graph",
    "nodes",
    "execution",
    "approvals",
    "planning",
    "critic",
    "capabilities",
    "models",
    "upkeep",
    "records",
    "prompts",
    "checkpoints",
    "state",
    "store",
    "telemetry",
    "security",
    "settings",
    "sandbox",
    "presentation",
    "language",
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


def _imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("planwright"):
            package = node.module.removeprefix("planwright").removeprefix(".")
            for alias in node.names:
                name = f"{package}.{alias.name}".removeprefix(".")
                yield name if name in SOURCES else package


def upward_imports() -> list[str]:
    """List imports that point up; a module imports only from its own room and from those below."""
    floor = {room: number for number, room in enumerate(ROOMS)}
    upward = {
        f"{module} imports {name}"
        for module, path in SOURCES.items()
        for name in imports(path)
        if floor[name.partition(".")[0]] < floor[module.partition(".")[0]]
    }
    return sorted(upward)


def circles() -> list[str]:
    """List modules that import each other in a circle, for typing or within functions, too: the first."""
    graph: Mapping[str, set[str]] = {
        module: {name for name in imports(path) if name in SOURCES and name != module}
        for module, path in SOURCES.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [" → ".join(error.args[1])]
    return []


def too_long() -> list[str]:
    """List files and functions that cannot be read in one sitting."""
    names = []
    for module, path in SOURCES.items():
        text = path.read_text("utf-8")
        names += [module] if text.count("\n") > MOST_LINES else []
        names += [
            f"{module}.{node.name}"
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and (node.end_lineno or 0) - node.lineno >= MOST_LINES_OF_A_FUNCTION
        ]
    return names


def folders_without_sentence() -> list[str]:
    """List folders that hold too many modules, or whose sentence docs/architecture.md does not say."""
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    problems = []
    for init in (path for path in SOURCES.values() if path.name == "__init__.py"):
        folder = init.parent
        sentence = (ast.get_docstring(ast.parse(init.read_text("utf-8"))) or "").partition("\n")[0]
        if not sentence.endswith(".") or sentence not in page:
            problems.append(f"{folder.relative_to(ROOT)}: {sentence!r} is not in docs/architecture.md")
        if (modules := len([*folder.glob("*.py")]) - 1) > MOST_MODULES:
            problems.append(f"{folder.relative_to(ROOT)} holds {modules} modules")
    return problems


def nodes_without_file() -> list[str]:
    """List nodes that have no file of their own in `nodes/`, and files there that are no node."""
    wired = "".join(path.read_text("utf-8") for name, path in SOURCES.items() if name.startswith("graph."))
    nodes = set(re.findall(r'(?:add_node|stage|at_once|subgraph)\((?:graph, )?"(\w+)"', wired))
    files = {
        path.stem for name, path in SOURCES.items() if name.startswith("nodes.") and path.stem != "__init__"
    }
    return sorted(files ^ nodes)


def absent_documents() -> list[str]:
    """List modules that refer to a document that is not in the repository."""
    absent = re.compile(r"\b(?:SPEC|DESIGN|S[0-4])\b")
    return [name for name, path in SOURCES.items() if absent.search(path.read_text("utf-8"))]


def readers_of_the_environment() -> list[str]:
    """List modules that read environment variables."""
    reads = re.compile(r"os\.environ|os\.getenv|getenv\(")
    return [module for module, path in SOURCES.items() if reads.search(path.read_text("utf-8"))]


def readers_of_the_clock() -> list[str]:
    """List modules that read the clock of the machine, or hand it on."""
    reads = re.compile(r"\butc_now\b|datetime\.now\(|\btime\.time\(|date\.today\(")
    return [module for module, path in SOURCES.items() if reads.search(path.read_text("utf-8"))]
