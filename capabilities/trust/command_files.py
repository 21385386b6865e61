"""The files of a workspace that the command of an MCP server names: trust in the server covers them."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from planwright.capabilities.trust.mcp_entries import ConfiguredServer, ServerEntry

# What a folder is started by, when it is what an interpreter is given.
STARTED = ("__main__.py", "__init__.py", "index.js", "index.mjs", "index.cjs", "package.json")
_DATABASE = b"SQLite format 3\0"


def command_files(server: ConfiguredServer, entry: ServerEntry, environment: Mapping[str, str]) -> list[Path]:
    """List the paths below the workspace that command and arguments name, whether they are there or not."""
    if entry.command is None:
        return []
    search_path = entry.env.get("PATH", environment.get("PATH"))
    folder = server.folder(entry)
    return files_of_command(server.file.path.parent, folder, entry.command, entry.args, search_path)


def files_of_command(
    root: Path, folder: Path, command: str, args: Sequence[str], search_path: str | None
) -> list[Path]:
    """List the paths below `root` that a command and its arguments name, where it is started in `folder`."""
    root, folder = root.resolve(), folder.resolve()
    program = str(folder / command) if "/" in command else shutil.which(command, path=search_path)
    words = [*([program] if program else []), *(form for word in args for form in _forms(word))]
    named = (Path(os.path.normpath(folder / word)) for word in words)
    inside = [path for path in dict.fromkeys(named) if path != root and path.is_relative_to(root)]
    return [*inside, *(path / name for path in inside if os.path.isdir(path) for name in STARTED)]


def hashes(server: ConfiguredServer, entry: ServerEntry, environment: Mapping[str, str]) -> dict[str, str]:
    """Hash each of these files that is there, as `hashes_of` does."""
    return hashes_of(server.file.path.parent, command_files(server, entry, environment))


def hashes_of(root: Path, paths: Iterable[Path]) -> dict[str, str]:
    """Hash each file that is there, by its path below `root`.

    Of a link that leads out of it, say where to. SQLite databases are left out, as programs write
    them; so is what is empty, as every new one is.
    """
    root = root.resolve()
    digests: dict[str, str] = {}
    for path in paths:
        real = path.resolve()
        if not real.is_relative_to(root):
            digests[str(path.relative_to(root))] = f"leads to {real}"
        elif os.path.isfile(real):
            with real.open("rb") as file:
                if file.read(len(_DATABASE)) in (b"", _DATABASE):
                    continue
                file.seek(0)
                digests[str(path.relative_to(root))] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests


def _forms(word: str) -> Iterator[str]:
    """Read an argument as a path: whole, behind `=`, and as the module that `python -m` would look for."""
    for text in dict.fromkeys((word, word.partition("=")[2])):
        if text and "\0" not in text:
            yield text
            if all(part.isidentifier() for part in text.split(".")):
                yield text.replace(".", "/")
                yield text.replace(".", "/") + ".py"
