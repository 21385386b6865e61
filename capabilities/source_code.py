"""What a capability is written in, by hash: another code is another capability."""

from __future__ import annotations

import ast
import hashlib
import inspect
import marshal
import sys
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

OWN_PACKAGE = "planwright"
INSTALLED = frozenset(("site-packages", "dist-packages"))
MARK = "__planwright_loaded__"  # name within a module of what its file held
STDLIB = Path(sysconfig.get_path("stdlib"))


class _Source(NamedTuple):
    """What the file of a module holds; of one that is loaded, what it held when it was looked at first."""

    spec: object
    """Specification the module was loaded by; loading it again makes another. None where it is not loaded."""
    digest: str
    """SHA-256 of the file."""
    text: bytes
    """The bytes of the file."""
    whole: str = ""
    """Hash of the file and of what it imports of its project; "" before it is known."""


@dataclass(frozen=True)
class _Project:
    """Where the modules of a project are."""

    root: Path
    """Folder that all of them are in."""
    places: tuple[Path, ...]
    """Folders that their names begin in, the first one first."""

    def files_of(self, name: str) -> Iterator[tuple[str, Path]]:
        """Find the files of a module of the project and of the packages that it is in, each with its name."""
        parts = name.split(".")
        if parts[0] == OWN_PACKAGE:
            return
        for count in range(1, len(parts) + 1):
            folders, last = parts[: count - 1], parts[count - 1]
            candidates = (
                place.joinpath(*folders, *end)
                for place in self.places
                for end in ((last, "__init__.py"), (f"{last}.py",))
            )
            if file := next((path for path in candidates if self._has(path)), None):
                yield ".".join(parts[:count]), file

    def _has(self, path: Path) -> bool:
        if not path.is_relative_to(self.root) or path.is_relative_to(STDLIB) or not path.is_file():
            return False
        return INSTALLED.isdisjoint(path.relative_to(self.root).parts)


def code_hash(source: Callable[..., object] | type) -> str:
    """Hash the file that a function or class was written in, and what that imports of its project.

    Files of modules that are loaded count as they were when they were looked at first, so this is to be asked
    for as soon as they are; others count as they are now. Which are loaded makes no difference: two programs
    that use one project name its code alike. What has no file is hashed by its bytecode.
    """
    written = inspect.unwrap(source)
    try:
        path = Path(inspect.getsourcefile(written) or "")
    except TypeError:
        path = Path()
    if not path.is_file():
        code = getattr(written, "__code__", None)
        return hashlib.sha256(marshal.dumps(code)).hexdigest() if code is not None else repr(type(written))
    name = _name_of(module_of(written))
    own, names = _source_of(name, path), _names_of(name, path)
    if own.whole:
        return own.whole
    whole = _hash_with_imports(name, path) or own.digest
    if names:
        names[MARK] = own._replace(whole=whole)
    return whole


def _hash_with_imports(name: str, path: Path) -> str:
    """Hash a file with those of its project that it uses; "" where it uses none."""
    if (project := _project_of(name, path)) is None:
        return ""
    digests = _digests(name, path, project)
    if len(digests) == 1:
        return ""
    lines = sorted(f"{file.relative_to(project.root).as_posix()} {digests[file]}" for file in digests)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def module_of(written: object) -> str:
    """Name the module that a function or class says it is of; "" for one that was made without."""
    return getattr(written, "__module__", None) or ""


def _name_of(module: str) -> str:
    """Name a module as others import it, also the one that a program was started by (`python -m`)."""
    spec = getattr(sys.modules.get(module), "__spec__", None) if module == "__main__" else None
    return str(spec.name) if spec is not None else module


def _project_of(name: str, file: Path) -> _Project | None:
    """Say where the project of a module is; None where only its own file counts.

    Of an installed module that is its package; what is installed beside it is none of its project.
    """
    depth = name.count(".") + (file.name == "__init__.py")
    of_python = file.is_relative_to(STDLIB) and INSTALLED.isdisjoint(file.parts)
    if name.partition(".")[0] == OWN_PACKAGE or of_python or depth >= len(file.parents):
        return None
    base = root = file.parents[depth]
    if base.name in INSTALLED:
        if depth == 0:
            return None
        root = file.parents[depth - 1]
    more = (Path(entry).absolute() for entry in sys.path if entry)
    return _Project(root, (base, *(place for place in more if place != base and place.is_relative_to(root))))


def _digests(name: str, file: Path, project: _Project) -> dict[Path, str]:
    """Hash a file and those of its project that it uses, and that those use."""
    digests: dict[Path, str] = {}
    pending = [(name, file)]
    while pending:
        name, file = pending.pop()
        if file not in digests:
            source = _source_of(name, file)
            digests[file] = source.digest
            package = name if file.name == "__init__.py" else name.rpartition(".")[0]
            imports = _imported_by(source.text, package)
            pending += [pair for imported in imports for pair in project.files_of(imported)]
    return digests


def _names_of(name: str, file: Path) -> dict[str, object]:
    """Give the names of the loaded module of a file; nothing where it is not loaded.

    What replaced itself in `sys.modules` need be no module, and answer anything: only a real one has marks.
    """
    module = sys.modules.get(name, sys.modules.get("__main__"))
    names = vars(module) if isinstance(module, ModuleType) else {}
    return names if names.get("__file__") == str(file) else {}


def _source_of(name: str, file: Path) -> _Source:
    names = _names_of(name, file)
    source, spec = names.get(MARK), names.get("__spec__")
    if not names:
        return _read(file, None)
    if not isinstance(source, _Source) or source.spec is not spec:
        source = names[MARK] = _read(file, spec)
    return source


def _read(file: Path, spec: object) -> _Source:
    text = file.read_bytes()
    return _Source(spec, hashlib.sha256(text).hexdigest(), text)


@lru_cache(maxsize=4096)
def _imported_by(text: bytes, package: str) -> tuple[str, ...]:
    """Name the modules that a file may import, anywhere in it."""
    try:
        nodes = [*ast.walk(ast.parse(text))]
    except (SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(name for node in nodes for name in _named_by(node, package))


def _named_by(node: ast.AST, package: str) -> Iterator[str]:
    """Name the modules that an import reads, and what may be modules in them; none for another statement."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        try:
            base = resolve_name("." * node.level + (node.module or ""), package)
        except ImportError:
            return  # it leads out of its package, and fails where it is reached
        yield base
        yield from (f"{base}.{alias.name}" for alias in node.names)
