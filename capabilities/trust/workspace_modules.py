"""The modules of a workspace that its settings list, imported by file: the workspace is on no import path.

A finder behind all others serves the listed modules and what these import by name from beside them, and
nothing else that lies there. So a file takes the place of no library, and none is imported because
a library looks for it. They are compiled from their sources each time: what lies in `__pycache__` may have
been put there by who wrote the folder, and a hash of the source says nothing of it.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
)
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

from planwright.domain.errors import SetupError


class SourceAlone(SourceFileLoader):
    """Loads a module from its source, and neither reads nor writes what was compiled of it before."""

    def get_code(self, fullname: str) -> CodeType:
        """Compile the source."""
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


class SourceFinder(FileFinder):
    """Finds the parts of a package, and theirs: a folder to which a link leads is served as any other."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder, (ExtensionFileLoader, EXTENSION_SUFFIXES), (SourceAlone, SOURCE_SUFFIXES))

    def find_spec(self, fullname: str, target: ModuleType | None = None) -> ModuleSpec | None:
        """Say where a part is loaded from, and serve the folder of one that has parts itself."""
        spec = super().find_spec(fullname, target)
        for folder in (spec and spec.submodule_search_locations) or ():
            sys.path_importer_cache[folder] = SourceFinder(folder)
        return spec


class WorkspaceFinder(MetaPathFinder):
    """Find the modules of one workspace, by the files of their top-level names."""

    def __init__(self, homes: Mapping[str, Path]) -> None:
        self.homes = dict(homes)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Say where a module is loaded from; None for all that this workspace does not serve."""
        home = self.homes.get(name)
        if home is None:
            return None
        if home.is_dir():  # a package without __init__.py
            spec = ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = [str(home)]
            return spec
        inner = [str(home.parent)] if home.name == "__init__.py" else None
        loader = SourceAlone(name, str(home))
        return spec_from_file_location(name, home, loader=loader, submodule_search_locations=inner)


def serve(workspace: Path, names: Iterable[str]) -> None:
    """Let the listed modules of a workspace, and what they import from beside them, be imported.

    What another workspace served under these names is loaded no more. Raises SetupError for a module
    whose name an installed one has.
    """
    modules = tuple(names)
    homes = module_homes(workspace, modules)
    for name, home in homes.items():
        if (place := _installed(name)) and Path(place).resolve() != home.resolve():
            raise SetupError(
                f"{home} has the name of an installed module, {place}",
                f"rename it, there and in capabilities.modules: my_{name}",
            )
    names_here = homes.keys() | {name.partition(".")[0] for name in modules}
    for finder in _finders():
        for name in names_here & finder.homes.keys():
            if finder.homes.pop(name) != homes.get(name):
                _unload(name)
    sys.meta_path[:] = [
        finder for finder in sys.meta_path if not isinstance(finder, WorkspaceFinder) or finder.homes
    ]
    for folder in filter(None, map(_package, homes.values())):
        sys.path_importer_cache[str(folder)] = SourceFinder(str(folder))
    if homes:
        sys.meta_path.append(WorkspaceFinder(homes))


def module_homes(workspace: Path, names: Iterable[str]) -> dict[str, Path]:
    """Map the listed modules that lie in a workspace, and what they import from there, to their files.

    By top-level name: a module's file, a package's `__init__.py`, or the folder of a package without one.
    """
    homes: dict[str, Path] = {}
    pending = [name.partition(".")[0] for name in names if _lies_in(workspace, name)]
    wanted = set(pending)
    while pending:
        name = pending.pop()
        home = _home(workspace, name)
        if name in homes or home is None or (name not in wanted and _installed(name)):
            continue
        homes[name] = home
        pending += _imported_by(home)
    return homes


def files_of(home: Path) -> list[Path]:
    """List the files of a module or package. Links are followed, as by an import; each folder comes once."""
    folder = _package(home)
    return [home] if folder is None else [path for path in _files_below(folder) if path.is_file()]


def _files_below(folder: Path) -> Iterator[Path]:
    seen: set[str] = set()
    for place, folders, files in os.walk(folder, followlinks=True):
        if (real := os.path.realpath(place)) in seen:
            folders.clear()
            continue
        seen.add(real)
        folders.sort()
        yield from (Path(place, name) for name in sorted(files))


def _package(home: Path) -> Path | None:
    """Find the folder of a package, in which Python looks for its parts; None for a module."""
    if home.is_dir():
        return home
    return home.parent if home.name == "__init__.py" else None


def _lies_in(workspace: Path, name: str) -> bool:
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return False
    path = workspace.joinpath(*parts)
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def _home(workspace: Path, name: str) -> Path | None:
    package = workspace / name
    for home in (package / "__init__.py", workspace / f"{name}.py"):
        if home.is_file():
            return home
    return package if any(path.suffix == ".py" for path in _files_below(package)) else None


def _imported_by(home: Path) -> Iterator[str]:
    """Name what a module, or any module of a package, imports by its whole name."""
    for file in files_of(home):
        if file.suffix != ".py":
            continue
        try:
            tree = ast.parse(file.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue  # importing it says what is wrong with it
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module.partition(".")[0]


def _finders() -> list[WorkspaceFinder]:
    return [finder for finder in sys.meta_path if isinstance(finder, WorkspaceFinder)]


def _unload(name: str) -> None:
    for loaded in [module for module in sys.modules if module.partition(".")[0] == name]:
        del sys.modules[loaded]


def _installed(name: str) -> str | None:
    """Say where a module comes from that is loaders without a workspace; None when there is none."""
    for finder in sys.meta_path:
        if not isinstance(finder, WorkspaceFinder) and (spec := finder.find_spec(name, None)):
            return spec.origin or next(iter(spec.submodule_search_locations or ()), name)
    return None
