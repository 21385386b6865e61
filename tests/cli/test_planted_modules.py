"""Files beside a capability module: what it imports is loaded, what a library looks for is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.desk import Desk

# Libraries look for most of these at a start, and they are not installed; others Python runs by itself.
PLANTED = (
    "h2 a2wsgi brotli brotlicffi chardet simplejson psutil pandas tornado trio socks socksio python_socks org"
    " backports cython filetype httpx_aiohttp langchain_text_splitters pysqlite3 sqlite_dump winreg msvcrt"
    " json typing logging sqlite3 httpx pydantic planwright sitecustomize usercustomize __init__ __main__"
).split()
MINE = """
from mine_prices import price
from planwright.capabilities.declaration import capability


@capability("mine.price", mode="read_only", tags=("price",))
def look_up() -> str:
    "Look a price up."
    import mine_late
    return f"{price()} {mine_late.WORD}"
"""


@pytest.fixture
def planted(desk: Desk) -> Desk:
    """A workspace with a capability module, what it imports, and files that say so when they are run."""
    marks = desk.folder / "marks"
    marks.mkdir()
    for name in PLANTED:
        (desk.folder / f"{name}.py").write_text(f"open({str(marks / name)!r}, 'w').close()\n")
    (desk.folder / "x.pth").write_text(f"import os; open({str(marks / 'x.pth')!r}, 'w').close()\n")
    (desk.folder / "mine.py").write_text(MINE)
    (desk.folder / "mine_prices.py").write_text("def price() -> int:\n    return 12\n")
    (desk.folder / "mine_late.py").write_text("WORD = 'late'\n")
    desk.settings('[capabilities]\nmodules = ["mine"]\n')
    return desk


def marks(desk: Desk) -> list[str]:
    return sorted(path.name for path in Path(desk.folder / "marks").iterdir())


@pytest.mark.long
@pytest.mark.parametrize(
    "command",
    [("ls",), ("capabilities",), ("doctor",), ("run", "--json", "look up the price with mine.price")],
    ids=lambda command: str(command[0]),
)
def test_nothing_planted_runs_and_what_a_module_imports_does(planted: Desk, command: tuple[str, ...]) -> None:
    done = planted.start_cold(*command)
    assert "Traceback" not in done.stderr
    assert marks(planted) == []
    if command[0] == "capabilities":
        assert "mine.price" in done.stdout
    if command[0] == "run":
        assert "12 late" in done.stdout


@pytest.mark.long
def test_a_module_that_is_listed_runs(planted: Desk) -> None:
    planted.settings('[capabilities]\nmodules = ["mine", "a2wsgi"]\n')
    assert "a2wsgi declares no capability" in planted.start_cold("capabilities").stderr
    assert marks(planted) == ["a2wsgi"]
