"""The files of a workspace that the command of an MCP server names: trust in the server covers them."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from planwright.capabilities.mcp.entries import Entry, Listed

# What a folder is started by, when it is what an interpreter is given.
STARTED = ("__main__.py", "__init__.py", "index.js", "index.mjs", "index.cjs", "package.json")
_DATABASE = b"SQLite format 3\0"


def command_files(listed: Listed, entry: Entry, environment: Mapping[str, str]) -> list[Path]:
    """List the paths below the workspace that command and arguments name, whether they are there or not."""
    if entry.command is None:
        return []
    root, folder = listed.file.path.parent.resolve(), listed.folder(entry)
    path = entry.env.get("PATH", environment.get("PATH"))
    command = str(folder / entry.command) if "/" in entry.command else shutil.which(entry.command, path=path)
    words = [*([command] if command else []), *(form for word in entry.args for form in _forms(word))]
    named = (Path(os.path.normpath(folder / word)) for word in words)
    inside = [one for one in dict.fromkeys(named) if one != root and one.is_relative_to(root)]
    return [*inside, *(one / name for one in inside if os.path.isdir(one) for name in STARTED)]


def hashes(listed: Listed, entry: Entry, environment: Mapping[str, str]) -> dict[str, str]:
    """Hash each of these files that is there, by its path in the workspace.

    Of a link that leads out of it, say where to. SQLite databases are left out: the server writes them.
    """
    root = listed.file.path.parent.resolve()
    found: dict[str, str] = {}
    for path in command_files(listed, entry, environment):
        real = path.resolve()
        if not real.is_relative_to(root):
            found[str(path.relative_to(root))] = f"leads to {real}"
        elif os.path.isfile(real):
            with real.open("rb") as file:
                if file.read(len(_DATABASE)) == _DATABASE:
                    continue
                file.seek(0)
                found[str(path.relative_to(root))] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def _forms(word: str) -> Iterator[str]:
    """Read an argument as a path: whole, behind `=`, and as the module that `python -m` would look for."""
    for text in dict.fromkeys((word, word.partition("=")[2])):
        if text and "\0" not in text:
            yield text
            if all(part.isidentifier() for part in text.split(".")):
                yield text.replace(".", "/")
                yield text.replace(".", "/") + ".py"
