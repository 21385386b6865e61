"""What a capability is written in, by hash: another code is another capability."""

from __future__ import annotations

import ast
import hashlib
import inspect
import marshal
import sys
from collections.abc import Callable, Iterator
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

OWN_PACKAGE = "planwright"
INSTALLED = frozenset(("site-packages", "dist-packages"))
MARK = "__planwright_loaded__"  # name within a module of what its file held


class _Loaded(NamedTuple):
    """What the file of a module held when it was looked at first; a file can change later."""

    spec: object
    """Specification it was loaded by; loading it again makes another."""
    digest: str
    """SHA-256 of the file."""
    imports: tuple[str, ...]
    """Names of modules that it may import, anywhere in it."""


def code_hash(source: Callable[..., object] | type) -> str:
    """Hash the file that a function or class was written in, and what that uses from beside it.

    They are hashed as they were loaded, so this is to be asked for soon after. What has no file is hashed by
    its bytecode.
    """
    written = inspect.unwrap(source)
    try:
        path = inspect.getsourcefile(written)
    except TypeError:
        path = None
    if path is None or not Path(path).is_file():
        code = getattr(written, "__code__", None)
        return hashlib.sha256(marshal.dumps(code)).hexdigest() if code is not None else repr(type(written))
    module = sys.modules.get(written.__module__)
    if module is None or _file_of(module) != Path(path):
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    digests = [_as_loaded(used).digest for used in _with_used(module)]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(sorted(digests)).encode()).hexdigest()


def _with_used(module: ModuleType) -> list[ModuleType]:
    """List a module, and those of its project that it uses, as far as they are loaded."""
    root, project = _root_of(module), {module.__name__: module}
    pending = [module] if root else []
    while root and pending:
        for name in _as_loaded(pending.pop()).imports:
            used = sys.modules.get(name)
            if used is not None and name not in project and _is_in(root, used):
                project[name] = used
                pending.append(used)
    return [*project.values()]


def _root_of(module: ModuleType) -> Path | None:
    """Say which folder the project of a module is in; None where only its own file counts.

    Of an installed module that is its package; what is installed beside it is none of its project.
    """
    file, depth = _file_of(module), module.__name__.count(".") + hasattr(module, "__path__")
    if file is None or _is_foreign(module) or depth >= len(file.parents):
        return None
    if file.parents[depth].name not in INSTALLED:
        return file.parents[depth]
    return file.parents[depth - 1] if depth else None


def _is_in(root: Path, module: ModuleType) -> bool:
    file = _file_of(module)
    if file is None or _is_foreign(module) or not file.is_relative_to(root):
        return False
    return INSTALLED.isdisjoint(file.relative_to(root).parts)


def _is_foreign(module: ModuleType) -> bool:
    """Say whether a module is ours or of Python itself: of no user's project, wherever it lies."""
    package = module.__name__.partition(".")[0]
    return package == OWN_PACKAGE or package in sys.stdlib_module_names


def _file_of(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file) if file and Path(file).is_file() else None


def _as_loaded(module: ModuleType) -> _Loaded:
    spec = getattr(module, "__spec__", None)
    loaded = vars(module).get(MARK)
    if not isinstance(loaded, _Loaded) or loaded.spec is not spec:
        text = Path(str(module.__file__)).read_bytes()
        package = getattr(module, "__package__", None) or module.__name__
        loaded = _Loaded(spec, hashlib.sha256(text).hexdigest(), tuple(_imported_by(text, package)))
        setattr(module, MARK, loaded)
    return loaded


def _imported_by(text: bytes, package: str) -> Iterator[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            try:
                base = resolve_name("." * node.level + (node.module or ""), package)
            except ImportError:
                continue  # it leads out of its package, and fails where it is reached
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
