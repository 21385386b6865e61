"""Count what signatures leave open: long trains of parameters, `Any`, untyped updates, asserted types."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.house.rooms import SOURCES

MOST_PARAMETERS = 6
# Each parameter of these is what its callers write: options of a decorator, of a command, of a capability.
NAMED_BY_CALLERS = re.compile(
    r"capabilities\.declaration\.capability$|cli\.main\.\w+$|cli\.commands\.\w+\.\w+$|extras\.\w+\.\w+_commands\.\w+$"
)
NOT_COUNTED = frozenset(("self", "cls"))


def _functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for module, path in SOURCES.items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{module}.{node.name}", node


def trains() -> list[str]:
    """List the functions that take more parameters than a reader can keep apart."""
    names = []
    for name, node in _functions():
        parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        count = sum(parameter.arg not in NOT_COUNTED for parameter in parameters)
        capability = any("capability" in ast.dump(decorator) for decorator in node.decorator_list)
        if count > MOST_PARAMETERS and not capability and not NAMED_BY_CALLERS.search(name):
            names.append(f"{name}: {count}")
    return names


def untyped_updates() -> list[str]:
    """List the nodes that return a mapping of anything instead of the part of a state."""
    return [
        name
        for name, node in _functions()
        if name.startswith("nodes.")
        and isinstance(node, ast.AsyncFunctionDef)
        and node.name == name.split(".")[-2]
        and not re.search(r"Update$", ast.unparse(node.returns) if node.returns else "")
    ]


def uses_of_any() -> list[str]:
    """List the modules that use `Any`, once a use."""
    return [
        module
        for module, path in SOURCES.items()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Name) and node.id == "Any"
    ]


def asserted_types() -> list[str]:
    """List assertions in product code: they stand where a type says too little."""
    return [
        f"{module}:{node.lineno} {ast.unparse(node)}"
        for module, path in SOURCES.items()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Assert)
    ]
