"""Find product files whose tests nobody would find: `python -m tests.house.mirrored`.

A file is covered by the test file that mirrors its place (`nodes/plan/verify.py` by
`tests/nodes/plan/test_verify.py`), or by the one that `covered.toml` names.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.house.rooms import ROOT, SOURCES

FEWEST_LINES = 40  # of a file that needs a test file of its own
TABLE = Path(__file__).with_name("covered.toml")


def named_tests() -> dict[str, str]:
    """Read which test file covers a product file that no test file mirrors; both from the root."""
    return {str(source): str(test) for source, test in tomllib.loads(TABLE.read_text("utf-8")).items()}


def mirror_of(source: Path) -> Path:
    """Name the test file that mirrors a product file; both from the root."""
    return Path("tests") / source.parent / f"test_{source.name}"


def without_tests() -> list[str]:
    """List product files of some length that have neither a mirrored nor a named test file."""
    named = named_tests()
    sources = [path.relative_to(ROOT) for path in SOURCES.values() if path.name != "__init__.py"]
    long = [source for source in sources if (ROOT / source).read_text("utf-8").count("\n") >= FEWEST_LINES]
    return [
        str(source)
        for source in long
        if not (ROOT / mirror_of(source)).exists() and not (ROOT / named.get(str(source), "absent")).exists()
    ]


def untrue_names() -> list[str]:
    """List rows of the table that name a file that is not there, or that a mirrored test file replaces."""
    return [
        f"{source} = {test}"
        for source, test in named_tests().items()
        if not (ROOT / source).exists()
        or not (ROOT / test).exists()
        or (ROOT / mirror_of(Path(source))).exists()
    ]


def main() -> None:
    """Print the files without tests, and the rows of the table that are not true."""
    for problem in [*without_tests(), *untrue_names()]:
        print(problem)


if __name__ == "__main__":
    main()
