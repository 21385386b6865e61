"""What a capability is written in, by hash: another code is another capability."""

from __future__ import annotations

import ast
import hashlib
import inspect
import marshal
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType

OWN_PACKAGE = "planwright"
INSTALLED = frozenset(("site-packages", "dist-packages"))


def code_hash(source: Callable[..., object] | type) -> str:
    """Hash the file that a function or class was written in, and what that uses from beside it.

    What has no file is hashed by its bytecode. Hash when it has just been imported: files can change later.
    """
    written = inspect.unwrap(source)
    if files := _files_of(written):
        hashes = [_file_hash(str(file), *_stamp(file)) for file in files]
        return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(sorted(hashes)).encode()).hexdigest()
    code = getattr(written, "__code__", None)
    return hashlib.sha256(marshal.dumps(code)).hexdigest() if code is not None else repr(type(written))


def _files_of(written: Callable[..., object] | type) -> list[Path]:
    """List the file of a function or class, and those of its project that its module uses."""
    try:
        path = inspect.getsourcefile(written)
    except TypeError:
        path = None
    if path is None or not Path(path).is_file():
        return []
    files = {Path(path): None}
    pending = [sys.modules.get(written.__module__)]
    root = _root_of(pending[0])
    while root and pending:
        for used in _used_by(pending.pop()):
            file = Path(getattr(used, "__file__", None) or "")
            if (
                file not in files
                and file.is_relative_to(root)
                and INSTALLED.isdisjoint(file.relative_to(root).parts)
            ):
                files[file] = None
                pending.append(used)
    return [*files]


def _root_of(module: ModuleType | None) -> Path | None:
    """Say which folder the project of a module is in; None where only its own file counts.

    Of an installed module that is its package; what is installed beside it is none of its project.
    """
    if module is None or not getattr(module, "__file__", None) or _is_ours(module):
        return None
    file, depth = Path(str(module.__file__)), module.__name__.count(".") + hasattr(module, "__path__")
    folder = file.parents[depth]
    if folder.name not in INSTALLED:
        return folder
    return file.parents[depth - 1] if depth else None


def _used_by(module: ModuleType | None) -> Iterator[ModuleType]:
    """Yield the modules that a module imports anywhere in its file, as far as they are loaded."""
    for name in _imported_by(module) if module else ():
        used = sys.modules.get(name)
        if used is not None and not _is_ours(used):
            yield used


def _imported_by(module: ModuleType) -> Iterator[str]:
    try:
        tree = ast.parse(Path(str(module.__file__)).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = resolve_name("." * node.level + base, module.__package__ or module.__name__)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _is_ours(module: ModuleType) -> bool:
    return module.__name__.partition(".")[0] == OWN_PACKAGE


def _stamp(file: Path) -> tuple[int, int]:
    status = file.stat()
    return status.st_mtime_ns, status.st_size


@cache
def _file_hash(path: str, changed_ns: int, size: int) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
