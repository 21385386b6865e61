"""The statements in the source of the program, each with its module; filled in where that is constant."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from typing import Any

from tests.house.rooms import SOURCES

SQL = re.compile(r"\s*(?:SELECT|WITH|INSERT|UPDATE|DELETE)\s[\s\S]*\b(?:FROM|INTO|SET)\b")
OF_FILES = (
    "upkeep",
    "store.store_files",
    "store.store_origin",
    "store.engines",
    "extras.postgres",
)
OF_OTHERS = (
    "capabilities.builtin",
    "extras.demo",
    "extras.offline",
    "cli.views.db_tables",
    "models",
    "extras.web.studio",
)
PARTS = re.compile(r"\{\w+\}")  # filled in by `format`, and seen where that is called


def statements() -> Iterator[tuple[str, str]]:
    """Read the statements in the source, each with its module; filled in where that is constant."""
    for module, path in SOURCES.items():
        if module.startswith((*OF_FILES, *OF_OTHERS)) or "SELECT" not in (text := path.read_text("utf-8")):
            continue
        names = vars(importlib.import_module(f"planwright.{module}"))
        for sql in texts(ast.parse(text), names):
            if SQL.match(sql) and not PARTS.search(sql):
                yield module, sql


def texts(node: ast.AST, names: dict[str, Any]) -> Iterator[str]:
    """Read the texts in a part of the source, but not the parts of those that are put together."""
    if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
        yield constant(node, names)
        return
    for part in ast.iter_child_nodes(node):
        yield from texts(part, names)


def constant(node: ast.expr, names: dict[str, Any]) -> str:
    """Work out a text in the source; empty where it is none, or needs what only a call knows."""
    try:
        value = eval(compile(ast.Expression(node), "source", "eval"), dict(names))
    except (NameError, AttributeError, TypeError, KeyError, ValueError):
        return ""
    return value if isinstance(value, str) else ""
