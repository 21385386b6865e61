"""Documents a person opens with a program of their own: Markdown, CSV for a spreadsheet, HTML for a browser.

What goes into them may come from a stranger's mail: it is text there, never a formula or a tag.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import BaseModel, Field, JsonValue

from planwright.capabilities.builtin.file_versions import UNDONE_BY, replace
from planwright.capabilities.builtin.files import PathArgument
from planwright.capabilities.builtin.places import bare_name_of, file_of
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Guide
from planwright.capabilities.declaration import capability
from planwright.capabilities.descriptions import Deed
from planwright.capabilities.document_rules import check_document
from planwright.domain.errors import CapabilityForbidden, CapabilityRejected
from planwright.domain.references import has_reference

Cell = str | int | float | bool | None
Rows = Sequence[Sequence[Cell]]

_FORMS = {".md": "md", ".markdown": "md", ".csv": "csv", ".html": "html", ".htm": "html"}
# What a spreadsheet takes for the beginning of a formula (OWASP, CSV injection), in full width too.
_FORMULA = re.compile(r"^\s*[=+\-@＝＋－＠]|^[\t\r\n]")
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)*%?")


class Document(BaseModel):
    """A document that was written; `version` names what was there before: empty, or the same."""

    path: str
    """Path in the workspace."""
    format: str
    """`md`, `csv` or `html`, by the ending of the path."""
    bytes: int
    """Size of the document in bytes."""
    rows: int
    """Number of the rows of its table."""
    version: str
    """Names what was there before, for `files.restore`; "" where nothing was."""


def _check_writable(args: Mapping[str, JsonValue], call: CallContext) -> None:
    path = args.get("path")
    if isinstance(path, str) and not has_reference(path):
        call.workspace.check(path, write=True)
        _form(path)
        check_document(path, call)


@capability(
    "documents.create",
    mode="local_write",
    risk="Medium",
    effect="idempotent",
    tags=("document", "spreadsheet", "csv", "html", "table", "report", "page"),
    guide=Guide(
        "Makes a new document; the ending of `path` says which: .md, .csv or .html. A .csv has `rows` under "
        "`columns`; the others have `title`, `text`, and the rows as a table. A plain text is files.write.",
        ('Create a CSV of the open tickets as "tickets.csv"',),
        32,
    ),
    preflight=_check_writable,
    adds=bare_name_of,
    writes=file_of,
    destinations=("path",),
    deed=Deed("create", "document", ""),
    trusted_result=True,
    compensation=UNDONE_BY,
)
def create(
    path: PathArgument,
    call: CallContext,
    title: Annotated[str, Field(max_length=500)] = "",
    text: Annotated[str, Field(description="paragraphs, with blank lines between them")] = "",
    columns: Annotated[list[str], Field(description="names of the columns", max_length=200)] = [],  # noqa: B006
    rows: Annotated[
        list[list[Cell] | dict[str, JsonValue]],
        Field(description="lists of cells, or objects as other capabilities return them", max_length=50_000),
    ] = [],  # noqa: B006 - pydantic copies defaults
) -> Document:
    """Create a document: a Markdown file, a CSV spreadsheet or an HTML page."""
    form = _form(path)
    check_document(path, call)
    heads, cells = _table(columns, rows)
    data = _WRITERS[form](title, text, heads, cells).encode()
    _refuse_another(path, data, call)
    version = replace(path, data, call)
    return Document(path=path, format=form, bytes=len(data), rows=len(cells), version=version)


def _form(path: str) -> str:
    form = _FORMS.get(PurePosixPath(path).suffix.lower())
    if form is None:
        raise CapabilityRejected(f"{path} is no .md, .csv or .html", "give the path one of these endings")
    return form


def _refuse_another(path: str, data: bytes, call: CallContext) -> None:
    """Raise CapabilityRejected where another document stands; the same one was made by this call before."""
    try:
        there = call.workspace.read_bytes(path, max(len(data), 1))
    except CapabilityForbidden:
        raise
    except CapabilityRejected as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return
        raise CapabilityRejected(f"{path} is there already", "choose another path") from error
    if there != data:
        raise CapabilityRejected(
            f"{path} is there already", "choose another path; files.write replaces a file"
        )


def _table(
    columns: Sequence[str], rows: Sequence[Sequence[Cell] | Mapping[str, JsonValue]]
) -> tuple[list[str], list[list[Cell]]]:
    """Bring rows under columns; objects name the columns themselves, in the order they come."""
    heads = list(columns)
    if not heads:
        heads = list(dict.fromkeys(name for row in rows if isinstance(row, Mapping) for name in row))
    for number, row in enumerate(rows, 1):
        if isinstance(row, Mapping) and row and not set(heads) & row.keys():
            cause = f"row {number} has none of the columns {', '.join(heads)}; it has {', '.join(row)}"
            raise CapabilityRejected(cause, "spell the columns as the rows do")
    return heads, [
        [_cell(row.get(name)) for name in heads] if isinstance(row, Mapping) else list(row) for row in rows
    ]


def _cell(value: JsonValue) -> Cell:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _plain(cell: Cell) -> str:
    return "" if cell is None else str(cell)


def _harmless(cell: Cell) -> Cell:
    """Mark a text that a spreadsheet would run, as spreadsheets do themselves: with an apostrophe."""
    if isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell.strip()):
        return f"'{cell}"
    return cell


def _csv(title: str, text: str, heads: Sequence[str], rows: Rows) -> str:
    if title or text:
        raise CapabilityRejected("a .csv has columns and rows only", "leave out title and text")
    out = io.StringIO()
    writer = csv.writer(out)  # RFC 4180
    writer.writerows([_harmless(cell) for cell in row] for row in ([heads, *rows] if heads else rows))
    return out.getvalue()


def _markdown(title: str, text: str, heads: Sequence[str], rows: Rows) -> str:
    parts = [f"# {' '.join(title.split())}"] if title else []
    parts += [text.strip("\n")] if text.strip() else []
    if heads or rows:
        lines = [list[Cell](heads), *(list(row) for row in rows)]
        widest = max(map(len, lines))
        table = [
            f"| {' | '.join(map(_in_a_table, [*line, *[''] * (widest - len(line))]))} |" for line in lines
        ]
        parts.append("\n".join([table[0], f"|{' --- |' * widest}", *table[1:]]))
    return "\n\n".join(parts) + "\n"


def _in_a_table(cell: Cell) -> str:
    return " ".join(_plain(cell).replace("\\", "\\\\").replace("|", "\\|").split())


def _html(title: str, text: str, heads: Sequence[str], rows: Rows) -> str:
    heading = [f"<h1>{escape(title)}</h1>"] if title else []
    paragraphs = [p.strip() for p in re.split(r"\n\s*\n", text) if p.strip()]
    body = [*heading, *(f"<p>{'<br>'.join(map(escape, p.splitlines()))}</p>" for p in paragraphs)]
    if heads or rows:
        lines = ["<tr>" + "".join(f"<th>{escape(head)}</th>" for head in heads) + "</tr>"] if heads else []
        lines += ["<tr>" + "".join(f"<td>{escape(_plain(c))}</td>" for c in row) + "</tr>" for row in rows]
        body.append("<table>\n" + "\n".join(lines) + "\n</table>")
    head = f'<meta charset="utf-8"><title>{escape(title)}</title>'
    return (
        f"<!DOCTYPE html>\n<html>\n<head>{head}</head>\n<body>\n" + "\n".join(body) + "\n</body>\n</html>\n"
    )


_WRITERS: dict[str, Callable[[str, str, Sequence[str], Rows], str]] = {
    "md": _markdown,
    "csv": _csv,
    "html": _html,
}
