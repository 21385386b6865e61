"""Count the fields of product classes that have a description: `python -m tests.house.fields`."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from tests.house.rooms import ROOMS

ROOT = Path(__file__).parent.parent.parent
FOLDERS = ROOMS
NOT_FIELDS = frozenset({"ClassVar", "InitVar", "TypeAlias"})  # annotations of what no instance holds


@dataclass(frozen=True)
class Field:
    """An annotated attribute in the body of a class."""

    path: Path
    """File that the class is in."""
    line: int
    """Line of the file on which the field begins, counted from 1."""
    owner: str
    """Name of the class, with those around it: `Outer.Inner`."""
    name: str
    """Name of the field as the code writes it."""
    described: bool
    """Whether a docstring stands right below the field, or its default brings a description."""


def fields_of(path: Path) -> list[Field]:
    """List the fields of all classes of a file, in the order in which they are written."""
    tree = ast.parse(path.read_text("utf-8"))
    return sorted(_fields_below(tree, path, ""), key=lambda field: field.line)


def _fields_below(parent: ast.AST, path: Path, owner: str) -> list[Field]:
    fields: list[Field] = []
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.ClassDef):
            name = f"{owner}.{node.name}" if owner else node.name
            fields += _fields_of_class(node, path, name) + _fields_below(node, path, name)
        else:
            fields += _fields_below(node, path, owner)
    return fields


def _fields_of_class(node: ast.ClassDef, path: Path, owner: str) -> list[Field]:
    fields = []
    for at, statement in enumerate(node.body):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        name = statement.target.id
        if name == "model_config" or _is_no_field(statement.annotation):
            continue
        below = node.body[at + 1] if at + 1 < len(node.body) else None
        described = _is_text(below) or _names_a_description(statement)
        fields.append(Field(path, statement.lineno, owner, name, described))
    return fields


def _is_no_field(annotation: ast.expr) -> bool:
    outer = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    name = outer.attr if isinstance(outer, ast.Attribute) else outer.id if isinstance(outer, ast.Name) else ""
    return name in NOT_FIELDS


def _is_text(statement: ast.stmt | None) -> bool:
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Constant):
        return False
    return isinstance(statement.value.value, str) and bool(statement.value.value.strip())


def _names_a_description(statement: ast.AnnAssign) -> bool:
    """Tell whether default or annotation bring a description: `Field(description=…)`, or `metadata`."""
    parts = [statement.annotation, *([statement.value] if statement.value else [])]
    nodes = [node for part in parts for node in ast.walk(part)]
    by_word = any(isinstance(node, ast.keyword) and node.arg == "description" for node in nodes)
    return by_word or any(
        isinstance(key, ast.Constant) and key.value == "description"
        for node in nodes
        if isinstance(node, ast.keyword) and node.arg == "metadata" and isinstance(node.value, ast.Dict)
        for key in node.value.keys
    )


def product_fields() -> list[Field]:
    """List the fields of every class in the product folders."""
    files = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return [field for path in files for field in fields_of(path)]


def main() -> None:
    """Print the share of described fields, then where those without a description are."""
    fields = product_fields()
    described = sum(field.described for field in fields)
    print(f"{described}/{len(fields)} {100 * described / len(fields):.1f} %")
    for field in fields:
        if not field.described:
            print(f"{field.path.relative_to(ROOT)}:{field.line} {field.owner}.{field.name}")


if __name__ == "__main__":
    main()
