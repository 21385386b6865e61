"""Count what there is to be less of: SQL outside its rooms, makers of one thing, lines, doubled names."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.house import rooms
from tests.house.mirrored import named_tests
from tests.house.rooms import ROOT, SOURCES

ROOMS_OF_SQL = frozenset(("store", "records", "checkpoints", "upkeep"))
ROOMS_OF_WORDS = frozenset(("language", "prompts"))
FEWEST_LINES, FEWEST_WORDS = 30, 8
_TABLE = re.compile(r'CREATE TABLE (?:IF NOT EXISTS )?"?([a-z_]+)')
_NAMED = re.compile(r'\b(?:FROM|JOIN|INTO|UPDATE)\s+"?([a-z_]+)')
_STATEMENT = re.compile(r"\s*(?:SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH)\b")
_EMITTERS = re.compile(r"_*(?:tell_|say_|spell)")
_OLDER = re.compile(
    r"\b(?:older|former|earlier)\s+(?:program|version|release|store)s?\b"
    r"|\b(?:before|until) November\b|before tags",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z]{3,}(?:['’][a-z]+)?")


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def _room(module: str) -> str:
    return module.partition(".")[0]


def extras_imported() -> list[str]:
    """List imports of the extras by the core."""
    return [found for found in rooms.upward_imports() if " imports extras." in found]


def store_statements() -> list[str]:
    """List statements on tables of the store that stand outside the rooms of the store, once a statement."""
    tables = {"checkpoints", "writes"}
    for name, path in SOURCES.items():
        if "migrations" in name:
            tables |= set(_TABLE.findall(path.read_text("utf-8")))
    return [
        module
        for module, path in SOURCES.items()
        if _room(module) not in ROOMS_OF_SQL
        for text in _texts(_tree(path))
        if _STATEMENT.match(text) and tables.intersection(_NAMED.findall(text))
    ]


def _texts(tree: ast.AST) -> Iterator[str]:
    """Read the texts of a file; of one with parts that are filled in, what is constant of it."""
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in parts:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(p.value) if isinstance(p, ast.Constant) else "{}" for p in node.values)


def makers() -> Mapping[str, list[str]]:
    """List the modules that make verified steps, recorded plans, ids of runs, and that call `judge`."""
    places: dict[str, list[str]] = {"VerifiedStep": [], "RecordedPlan": [], "run's id": [], "judge": []}
    for module, path in SOURCES.items():
        tree = _tree(path)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func).rpartition(".")[2]
                if (
                    name in ("VerifiedStep", "RecordedPlan", "judge")
                    and module != "capabilities.policy.decide"
                ):
                    places[name].append(module)
            if isinstance(node, ast.JoinedStr) and ast.unparse(node)[2:].startswith("run_{uuid"):
                places["run's id"].append(module)
    return places


def doubled_names() -> list[str]:
    """List classes and aliases that several files give one public name."""
    places: dict[str, int] = defaultdict(int)
    for path in SOURCES.values():
        for node in _tree(path).body:
            for name in _capitals(node):
                places[name] += 1
    return sorted(name for name, count in places.items() if count > 1)


def _capitals(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
        yield node.name
    targets = node.targets if isinstance(node, ast.Assign) else []
    targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
    for target in targets:
        if isinstance(target, ast.Name) and target.id[0].isupper() and not target.id.isupper():
            yield from [target.id] if len(target.id) > 1 else []


def doubled_stems() -> list[str]:
    """List names of files that several modules have."""
    stems: dict[str, int] = defaultdict(int)
    for path in SOURCES.values():
        stems[path.stem] += path.stem != "__init__"
    return sorted(stem for stem, count in stems.items() if count > 1)


def emitters() -> list[str]:
    """List functions whose names begin with tell, say or spell."""
    return [
        f"{module}.{node.name}"
        for module, path in SOURCES.items()
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _EMITTERS.match(node.name)
    ]


def lines() -> Mapping[str, int]:
    """Count the lines of all rooms, those of the core, the modules, and the files that are very short."""
    counts = {module: path.read_text("utf-8").count("\n") for module, path in SOURCES.items()}
    return {
        "whole": sum(counts.values()),
        "core": sum(count for module, count in counts.items() if _room(module) != "extras"),
        "modules": len(counts),
        "short": sum(count < FEWEST_LINES for count in counts.values()),
    }


def older_programs() -> list[str]:
    """List the lines that speak of programs and stores that were never released."""
    return [
        f"{module}:{number}"
        for module, path in SOURCES.items()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if _OLDER.search(line)
    ]


def word_lists() -> list[str]:
    """List the modules that hold a list of English words, apart from the rooms of words."""
    return [
        module
        for module, path in SOURCES.items()
        if _room(module) not in ROOMS_OF_WORDS and any(map(_is_word_list, ast.walk(_tree(path))))
    ]


def _is_word_list(node: ast.AST) -> bool:
    """Tell whether a node is a text of words that is split, alternatives of a pattern, or a row of words."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "split":
        text = node.func.value
        return isinstance(text, ast.Constant) and _are_words(str(text.value).split())
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and "|" in node.value:
        return any(_are_words(group.split("|")) for group in re.findall(r"[^()]+", node.value))
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        texts = [each.value for each in node.elts if isinstance(each, ast.Constant)]
        return len(texts) == len(node.elts) and _are_words([str(text) for text in texts])
    return False


def _are_words(parts: list[str]) -> bool:
    return len(parts) >= FEWEST_WORDS and all(_WORD.fullmatch(part.strip()) for part in parts)


def papers() -> Mapping[str, int]:
    """Count the rows of the table of tests, the lines of the changelog, and the targets of the Makefile."""
    log = (ROOT / "CHANGELOG.md").read_text("utf-8").partition("\n## ")[2].partition("\n## ")[0]
    targets = re.findall(r"^([a-z][\w-]*):(?!=)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    return {"rows": len(named_tests()), "changelog": log.count("\n"), "targets": len(set(targets))}


def statements_of_schema() -> int:
    """Count the migrations of a store."""
    tree = _tree(SOURCES["store.migrations"])
    values = [
        node.value
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "MIGRATIONS"
    ]
    return sum(len(value.elts) for value in values if isinstance(value, ast.Tuple))
