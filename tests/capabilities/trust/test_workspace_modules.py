"""Modules of a workspace by file: what a listed one imports from beside it is found, and nothing else."""

from __future__ import annotations

import importlib.util
import py_compile
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from planwright.capabilities.registry import Registry, load_registry
from planwright.capabilities.trust.workspace_modules import WorkspaceFinder, module_homes
from planwright.domain.errors import CapabilityForbidden, SetupError
from planwright.graph.call_context import workspace_jail
from planwright.settings.settings import load

DECLARES = """
from planwright.capabilities.declaration import capability

@capability({name!r}, mode="read_only")
def do() -> str:
    "Do it."
    return str(VALUE)
"""


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Forget after each test what workspaces have served."""
    modules, finders = set(sys.modules), list(sys.meta_path)
    sys.meta_path[:] = [finder for finder in finders if not isinstance(finder, WorkspaceFinder)]
    yield
    for name in set(sys.modules) - modules:
        if name.startswith("wm_"):
            del sys.modules[name]
    sys.meta_path[:] = finders


def lay(folder: Path, files: dict[str, str]) -> Path:
    """Write files below a folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def said(registry: Registry, name: str) -> str:
    found = registry.get(name)
    assert found is not None
    return str(found.function())


def test_a_module_finds_what_it_imports_from_beside_it(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {
            "wm_a.py": "import wm_b.c\nfrom wm_d import ONE\nVALUE = [wm_b.c.TWO, ONE]"
            + DECLARES.format(name="a.b"),
            "wm_b/__init__.py": "",
            "wm_b/c.py": "from . import d\nfrom wm_e import THREE\nTWO = [d.FOUR, THREE]\n",
            "wm_b/d.py": "FOUR = 4\n",
            "wm_d.py": "ONE = 1\n",
            "wm_e.py": "THREE = 3\n",
            "wm_unused.py": "1 / 0\n",
        },
    )
    assert said(load_registry(tmp_path, ["wm_a"]), "a.b") == "[[4, 3], 1]"
    assert set(module_homes(tmp_path, ["wm_a"])) == {"wm_a", "wm_b", "wm_d", "wm_e"}
    assert importlib.util.find_spec("wm_unused") is None
    assert str(tmp_path) not in sys.path


@pytest.mark.parametrize("init", [True, False], ids=["a package", "a folder"])
def test_a_module_of_a_package_is_listed_by_its_whole_name(tmp_path: Path, init: bool) -> None:
    lay(tmp_path, {"wm_p/inner/m.py": "from wm_p import n\nVALUE = n.N" + DECLARES.format(name="a.b")})
    lay(tmp_path, {"wm_p/n.py": "N = 5\n"})
    for package in ("wm_p", "wm_p/inner") if init else ():
        lay(tmp_path, {f"{package}/__init__.py": ""})
    assert said(load_registry(tmp_path, ["wm_p.inner.m"]), "a.b") == "5"


@pytest.mark.parametrize("way", ["wm_l.link.inner.m", "wm_l.again.link.inner.m", "wm_l.other.link.inner.m"])
def test_what_was_compiled_before_is_not_run_in_a_linked_folder_either(tmp_path: Path, way: str) -> None:
    source = f"from {way} import VALUE" + DECLARES.format(name="a.b")
    lay(tmp_path, {"wm_a.py": source, "wm_l/__init__.py": "", "elsewhere/inner/m.py": "VALUE = 1\n"})
    (tmp_path / "wm_l/link").symlink_to("../elsewhere")
    (tmp_path / "wm_l/again").symlink_to(".")
    (tmp_path / "wm_l/other").symlink_to("again")
    lay(tmp_path, {"wicked.py": "VALUE = 2\n"})
    compiled = importlib.util.cache_from_source(str(tmp_path / "elsewhere/inner/m.py"))
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(tmp_path / "wicked.py"), compiled, invalidation_mode=unchecked, doraise=True)
    assert said(load_registry(tmp_path, ["wm_a"]), "a.b") == "1"


def test_a_module_that_is_installed_is_imported_as_ever(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="colorsys declares no capability"):
        load_registry(tmp_path, ["colorsys"])
    assert module_homes(tmp_path, ["colorsys"]) == {}


@pytest.mark.parametrize("name", ["json", "httpx", "planwright", "sys"])
def test_a_module_with_the_name_of_an_installed_one_is_refused(tmp_path: Path, name: str) -> None:
    before = sys.modules.get(name)
    lay(tmp_path, {f"{name}.py": "1 / 0\n"})
    with pytest.raises(SetupError, match="has the name of an installed module") as refused:
        load_registry(tmp_path, [name])
    assert "rename it" in refused.value.next_step
    assert sys.modules.get(name) is before


def test_a_file_takes_the_place_of_no_library(tmp_path: Path) -> None:
    lay(tmp_path, {"wm_a.py": "import json\nVALUE = json.dumps(1)" + DECLARES.format(name="a.b")})
    lay(tmp_path, {"json.py": "1 / 0\n"})
    assert said(load_registry(tmp_path, ["wm_a"]), "a.b") == "1"
    assert set(module_homes(tmp_path, ["wm_a"])) == {"wm_a"}


def test_two_workspaces_have_modules_of_one_name(tmp_path: Path) -> None:
    source = "import wm_b\nVALUE = wm_b.VALUE" + DECLARES.format(name="a.b")
    one = lay(tmp_path / "one", {"wm_a.py": source, "wm_b.py": "VALUE = 1\n"})
    two = lay(tmp_path / "two", {"wm_a.py": source, "wm_b.py": "VALUE = 2\n"})
    first, second = load_registry(one, ["wm_a"]), load_registry(two, ["wm_a"])
    assert (said(first, "a.b"), said(second, "a.b")) == ("1", "2")
    with pytest.raises(SetupError, match="cannot import wm_a"):
        load_registry(tmp_path, ["wm_a"])
    assert said(load_registry(one, ["wm_a"]), "a.b") == "1"
    assert sum(isinstance(finder, WorkspaceFinder) for finder in sys.meta_path) <= 1


@pytest.mark.parametrize("name", ["..wm_out", ".wm_out", "../wm_out", "/wm_out", "", "a b"])
def test_a_name_that_is_none_is_not_looked_for_in_the_workspace(tmp_path: Path, name: str) -> None:
    lay(tmp_path, {"wm_out.py": "1 / 0\n"})
    (tmp_path / "inner").mkdir()
    with pytest.raises(SetupError, match="cannot import"):
        load_registry(tmp_path / "inner", [name])


def test_a_module_and_what_it_imports_can_be_read_and_not_written(tmp_path: Path) -> None:
    lay(tmp_path, {"wm_a.py": "import wm_b\n", "wm_b/__init__.py": "", "wm_b/rates.json": "{}"})
    jail = workspace_jail(load(tmp_path, capabilities={"modules": ["wm_a"]}))
    assert jail.read("wm_b/rates.json") == "{}"
    for path in ("wm_b/rates.json", "wm_b/new.md", "wm_a/x.md", "WM_B/x.md"):
        with pytest.raises(CapabilityForbidden, match="decides what may run"):
            jail.check(path, write=True)
