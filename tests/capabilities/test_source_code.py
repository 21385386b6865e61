"""The hash of a capability's code: of its file, and of what that uses from beside it, as it was loaded."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from planwright.capabilities.declaration import capability
from planwright.capabilities.registry import load_registry
from planwright.capabilities.trust.workspace_modules import serve

SHOP = """
import json
from planwright.capabilities import capability
{imports}

@capability("shop.pay", mode="destructive")
def pay(name: str) -> str:
    "Pay."
    return {call}
"""
BANK = "from source_vault import LIMIT\n\ndef send(name: str) -> str:\n    return name\n"
VAULT = "LIMIT = 5\n"
IMPORTS = {
    "a function": ("from source_bank import send", "send(name)"),
    "a module": ("import source_bank", "source_bank.send(name)"),
    "within a function": (
        "import source_bank as bank\ndef more():\n    import source_vault\n",
        "bank.send(name)",
    ),
}


@pytest.fixture(autouse=True)
def served_nothing(tmp_path: Path) -> Iterator[None]:
    """Forget after each test what its workspaces have served."""
    yield
    serve(tmp_path, ())
    for name in [name for name in sys.modules if name.startswith("source_")]:
        del sys.modules[name]


def digest(folder: Path, shop: str, bank: str = BANK, vault: str = VAULT, more: str = "") -> str:
    """Load a workspace of three modules, and one that none of them uses; name the capability in it."""
    folder.mkdir(exist_ok=True)
    for name, text in {"shop": shop, "bank": bank, "vault": vault, "more": more}.items():
        (folder / f"source_{name}.py").write_text(text, encoding="utf-8")
    served_by = load_registry(folder, ["source_shop"]).get("shop.pay")
    assert served_by is not None
    return served_by.digest


@pytest.mark.parametrize("how", IMPORTS)
def test_what_a_capability_uses_from_beside_it_counts(tmp_path: Path, how: str) -> None:
    shop = SHOP.format(imports=IMPORTS[how][0], call=IMPORTS[how][1])
    first = digest(tmp_path / "a", shop)
    assert digest(tmp_path / "b", shop) == first
    assert digest(tmp_path / "c", shop, more="CHANGED = True") == first
    assert digest(tmp_path / "d", shop, bank=BANK + "# changed") != first
    assert digest(tmp_path / "e", shop, vault="LIMIT = 500\n") != first


def test_the_hash_is_of_what_was_loaded(tmp_path: Path) -> None:
    shop = SHOP.format(imports="import source_bank", call="source_bank.send(name)")
    folder = tmp_path / "a"
    first = digest(folder, shop)
    registry = load_registry(folder, ["source_shop"])
    for name in ("shop", "bank"):
        (folder / f"source_{name}.py").write_text("# another", encoding="utf-8")
    loaded = registry.get("shop.pay")
    assert loaded is not None
    assert loaded.digest == first


def test_what_is_declared_anew_in_old_code_is_that_old_code(tmp_path: Path) -> None:
    shop = SHOP.format(imports="import source_bank", call="source_bank.send(name)")
    first = digest(tmp_path / "a", shop)
    function = sys.modules["source_shop"].pay.function
    (tmp_path / "a" / "source_shop.py").write_text("# another", encoding="utf-8")
    assert capability("shop.pay", mode="destructive")(function).digest == first


def test_code_that_is_loaded_again_is_other_code(tmp_path: Path) -> None:
    first = digest(tmp_path / "a", SHOP.format(imports="import source_bank", call="name"))
    path = tmp_path / "a" / "source_shop.py"
    path.write_text(path.read_text(encoding="utf-8") + "\nCHANGED = True\n", encoding="utf-8")
    loaded = importlib.reload(sys.modules["source_shop"])
    assert loaded.pay.digest != first


def test_an_import_that_leads_nowhere_is_left_out(tmp_path: Path) -> None:
    imports = "def unused():\n    from ... import nothing\n    import source_nowhere"
    assert len(digest(tmp_path / "a", SHOP.format(imports=imports, call="name"))) == 16


def named(folder: Path, texts: dict[str, str]) -> str:
    """Load a workspace of some files, of which `source_shop.py` declares a capability; name that."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    served_by = load_registry(folder, ["source_shop"]).get("shop.pay")
    assert served_by is not None
    return served_by.digest


def test_whether_a_helper_is_loaded_already_makes_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = SHOP.format(imports="", call="__import__('json') and source_bank_of()(name)")
    late += "\ndef source_bank_of():\n    import source_bank\n    return source_bank.send\n"
    texts = {"source_shop.py": late, "source_bank.py": BANK, "source_vault.py": VAULT}
    first = named(tmp_path / "a", texts)
    assert "source_bank" not in sys.modules
    assert named(tmp_path / "b", {**texts, "source_bank.py": BANK + "# changed"}) != first
    monkeypatch.syspath_prepend(str(tmp_path / "c"))
    (tmp_path / "c").mkdir()
    for name, text in texts.items():
        (tmp_path / "c" / name).write_text(text, encoding="utf-8")
    importlib.import_module("source_bank")
    assert named(tmp_path / "c", texts) == first


def test_helpers_that_change_places_are_another_code(tmp_path: Path) -> None:
    shop = SHOP.format(imports="import source_bank, source_vault", call="source_bank.go()")
    dry, live = "def go(): return 'dry run'", "def go(): return 'PAID'"
    first = named(tmp_path / "a", {"source_shop.py": shop, "source_bank.py": dry, "source_vault.py": live})
    other = named(tmp_path / "b", {"source_shop.py": shop, "source_bank.py": live, "source_vault.py": dry})
    assert first != other


@pytest.mark.parametrize("imports", ["import source_lib.money", "from source_lib import money"])
def test_the_package_of_a_helper_counts(tmp_path: Path, imports: str) -> None:
    texts = {"source_shop.py": SHOP.format(imports=imports, call="name"), "source_lib/money.py": ""}
    first = named(tmp_path / "a", {**texts, "source_lib/__init__.py": "RATE = 1"})
    assert named(tmp_path / "b", {**texts, "source_lib/__init__.py": "RATE = 1000"}) != first


def test_a_helper_that_is_named_like_a_module_of_python_counts(tmp_path: Path) -> None:
    texts = {"source_shop.py": SHOP.format(imports="import mailbox", call="name")}
    first = named(tmp_path / "a", {**texts, "mailbox.py": "WHO = 'ada'"})
    assert named(tmp_path / "b", {**texts, "mailbox.py": "WHO = 'eve'"}) != first


def test_a_module_that_changes_before_anybody_asks_is_the_code_that_was_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = SHOP.format(imports="", call="name")
    first = named(tmp_path / "a", {"source_shop.py": shop})
    serve(tmp_path / "a", ())
    del sys.modules["source_shop"]
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "source_shop.py").write_text(shop, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "b"))
    pay = importlib.import_module("source_shop").pay
    (tmp_path / "b" / "source_shop.py").write_text(f"{shop}# another", encoding="utf-8")
    assert pay.digest == first


@pytest.mark.parametrize(
    "helper",
    [
        "class C:\n    __file__ = __file__\nsys.modules[__name__] = C()",
        "class C:\n    def __getattr__(self, name): return lambda *a, **k: 1\nsys.modules[__name__] = C()",
        "class C:\n    __slots__ = ()\n    __file__ = __file__\nsys.modules[__name__] = C()",
        "class M(type(sys)):\n    def __setattr__(self, *_): raise AttributeError('frozen')\n"
        "sys.modules[__name__].__class__ = M",
        "import os\nos.unlink(__file__)",
    ],
    ids=["no name", "answers all", "slots", "frozen", "no file"],
)
def test_a_helper_that_is_no_ordinary_module_is_no_fault(tmp_path: Path, helper: str) -> None:
    shop = SHOP.format(imports="import source_bank", call="name")
    assert len(named(tmp_path, {"source_shop.py": shop, "source_bank.py": f"import sys\n{helper}\n"})) == 16


def test_python_itself_and_ours_are_none_of_a_project_wherever_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planwright.capabilities.source_code.STDLIB", tmp_path / "a" / "python")
    monkeypatch.syspath_prepend(str(tmp_path / "a" / "python"))
    texts = {"source_shop.py": SHOP.format(imports="import source_own, planwright.more", call="name")}
    texts |= {"python/source_own.py": "A = 1", "planwright/__init__.py": "", "planwright/more.py": "A = 1"}
    shop = texts["source_shop.py"].replace(
        "import source_own, planwright.more", "def more(): import source_own"
    )
    first = named(tmp_path / "a", {**texts, "source_shop.py": shop})
    (tmp_path / "a" / "python" / "source_own.py").write_text("A = 2", encoding="utf-8")
    (tmp_path / "a" / "planwright" / "more.py").write_text("A = 2", encoding="utf-8")
    serve(tmp_path / "a", ())
    for name in [name for name in sys.modules if name.startswith("source_")]:
        del sys.modules[name]
    assert named(tmp_path / "a", {"source_shop.py": shop}) == first
