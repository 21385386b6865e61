"""Edit one agent's table of planwright.toml by hand, and leave the rest of the file as it is, byte for byte.

A line that looks like a header is one only where all before it is whole TOML: a text over several lines
may hold anything.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from planwright.capabilities.trust.guard import load_trusted, untrusted_things
from planwright.cli.session.editing import by_hand, noted, plain
from planwright.cli.views import rendering as views
from planwright.cli.views.agent_views import open_checked, show_agent
from planwright.domain.errors import PlanwrightError, SetupError
from planwright.presentation.rows import JsonObject
from planwright.settings.profile import find_agent
from planwright.settings.settings import FILE_NAME, load, parse_settings
from planwright.store.folder_trust import FolderTrust
from planwright.store.private_files import write_private
from planwright.store.store_origin import OURS

Span = tuple[int, int]


def edit_agent(agent: str, workspace: Path) -> int:
    """Open an editor on an agent's table, check what comes back, and write it. Returns the exit code.

    Raises SetupError for what cannot be read or would not load; then the file is as it was, and what
    was typed is kept for the next time.
    """
    settings = load_trusted(workspace)
    find_agent(settings, agent)
    path, draft = settings.workspace / FILE_NAME, settings.store_folder / "edits" / f"agent-{agent}.toml"
    before = path.read_bytes() if path.is_file() else b""
    text = before.decode()
    spans = tables(text, agent)
    table = "".join(line_ended(text[start:end]) for start, end in spans)
    if not spans or _agents(table) != {agent: _agents(text).get(agent)}:
        raise SetupError(f"[agents.{agent}] is no table of its own in {path}", "change it there by hand")
    if not sys.stdin.isatty():
        raise SetupError("there is no terminal for an editor", f"change [agents.{agent}] in {path} by hand")
    draft_text = draft.read_text("utf-8") if draft.is_file() else table.replace("\r\n", "\n")
    typed = by_hand(draft_text, ".toml", f"change [agents.{agent}] in {path} by hand")
    if typed is None or not typed.strip():
        if typed is not None:
            draft.unlink(missing_ok=True)  # emptied: the next time begins with the table again
        views.console(stderr=True).print(views.label("edit", "nothing was saved, so nothing is changed"))
        return 0
    write_private(draft, typed)
    try:
        _save(path, before, replaced(text, spans, "\n".join([*plain(typed), ""])), typed, agent)
    except PlanwrightError as error:
        draft.write_text(noted(typed, error), "utf-8")
        hint = f"your text is kept: planwright agents edit {agent}"
        raise SetupError(f"{error.cause}; the file is as it was", f"{error.next_step}; {hint}") from error
    draft.unlink(missing_ok=True)
    return show_agent(agent, workspace, as_json=False)


def tables(text: str, agent: str) -> list[Span]:
    """Find where an agent's tables stand, its sub-tables with them; remarks before the next are not its."""
    headers = [(start, _path(line)) for start, line in _lines(text) if line.lstrip().startswith("[")]
    headers = [(start, path) for start, path in headers if _whole(text[:start])]
    ends = [*(start for start, _ in headers[1:]), len(text)]
    spans: list[Span] = []
    for (start, path), end in zip(headers, ends, strict=False):
        if path[:2] != ["agents", agent]:
            continue
        if spans and spans[-1][1] == start:
            start = spans.pop()[0]
        spans.append((start, end))
    return [(start, _without_remarks(text, start, end)) for start, end in spans]


def replaced(text: str, spans: list[Span], table: str) -> str:
    """Put a table in the place of the first span and take the others out."""
    if "\r\n" in text[slice(*spans[0])]:
        table = table.replace("\n", "\r\n")
    for start, end in reversed(spans[1:]):
        text = text[:start] + text[end:]
    start, end = spans[0]
    return text[:start] + table + text[end:]


def line_ended(text: str) -> str:
    """End a text with a line end."""
    return text if text.endswith("\n") else f"{text}\n"


def _save(path: Path, before: bytes, after: str, typed: str, agent: str) -> None:
    """Write the file once it is sure to load. Raises SetupError when it would not, or has changed."""
    try:
        document = tomllib.loads(typed)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SetupError(f"what was typed is not valid TOML: {error}", "mend that line") from error
    if (
        document.keys() != {"agents"}
        or not isinstance(document["agents"], dict)
        or set(document["agents"]) != {agent}
    ):
        raise SetupError(f"what was typed is not [agents.{agent}] alone", "change nothing but its values")
    load_trusted(path.parent)  # modules may have come while the editor was open
    open_checked(parse_settings(after, path))
    if path.read_bytes() != before:
        raise SetupError(f"{path} was changed by somebody else meanwhile", "look at it, then edit again")
    try:
        _write(path.resolve(), after.encode())
        things = untrusted_things(load(path.parent)).get(path.parent.resolve(), ())
        typed_here = [thing for thing in things if thing.name.startswith(f"agents.{agent}.")]
        FolderTrust(path.parent).give(typed_here, OURS)
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error}", "make it writable") from error


def _write(path: Path, content: bytes) -> None:
    """Replace a file at once, so that nobody reads half of it."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        shutil.copymode(path, name)
        os.replace(name, path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _agents(text: str) -> JsonObject:
    agents: JsonObject = tomllib.loads(text).get("agents", {})
    return agents


def _lines(text: str) -> list[tuple[int, str]]:
    """List the lines of a text with where each begins."""
    lines, start = [], 0
    for line in text.split("\n"):
        lines.append((start, line))
        start += len(line) + 1
    return lines


def _path(header: str) -> list[str]:
    """Read the names in a line that may be a table's header; empty when it is none."""
    try:
        table: Any = tomllib.loads(header.strip())
    except (tomllib.TOMLDecodeError, RecursionError):
        return []
    path = []
    while isinstance(table, dict) and table:
        name, table = next(iter(table.items()))
        path.append(name)
    return path


def _whole(text: str) -> bool:
    """Say whether a text ends between two statements of TOML."""
    try:
        tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return False
    return True


def _without_remarks(text: str, start: int, end: int) -> int:
    """Find the end of a table without the empty lines and remarks that follow it."""
    for offset, line in reversed(_lines(text[start:end])):
        if line.strip() and (not line.lstrip().startswith("#") or not _whole(text[: start + offset])):
            return min(end, start + offset + len(line) + 1)
    return end
