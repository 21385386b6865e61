"""The hash of a capability's code: of its file, and of what that uses from beside it, as it was loaded."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from planwright.capabilities.declaration import capability
from planwright.capabilities.registry import load_registry
from planwright.capabilities.workspace_modules import serve

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
