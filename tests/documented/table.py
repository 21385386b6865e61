"""The table of LangGraph's behaviours in docs/compatibility.md, written from the tests of this folder.

`python -m tests.documented.table` writes it anew.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
GUIDE = HERE.parents[1] / "docs" / "compatibility.md"
HEADING = "## LangGraph\n"
WORDS = """
What LangGraph's documentation says of a compiled graph, page by page, and whether an agent does it.
Each line is a test in `tests/documented/`. Where something else happens, it says what, and why.
Lines on what a run leaves, streams or tells are played in five cases: a plan, a loop with one call of a tool,
with three calls, a second turn on the thread, and an error of the provider before the third request.
The others are played once.
"""


@dataclass(frozen=True)
class Behaviour:
    """One sentence of a page, and what happens instead of it."""

    page: str
    """Address of the page."""
    sentence: str
    """What the page says."""
    instead: str
    """What happens here; empty where it is the same."""


def behaviours() -> Iterator[Behaviour]:
    """Read the tests of this folder: the page from their module, the sentence from their docstring."""
    for path in sorted(HERE.glob("test_*.py")):
        module = importlib.import_module(f"tests.documented.{path.stem}")
        page = (module.__doc__ or "").strip()
        if not page.startswith("https://"):
            continue
        for name, test in vars(module).items():
            if name.startswith("test_"):
                yield Behaviour(page, test.__doc__, getattr(test, "instead", ""))


def written() -> str:
    """Spell the section of the guide."""
    lines, page = [HEADING, WORDS], ""
    for item in behaviours():
        if item.page != page:
            page = item.page
            title = page.rpartition("/")[2].replace("-", " ")
            lines.append(f"\n### [{title}]({page})\n\n| as documented | otherwise |\n|---|---|\n")
        sentence = item.sentence.replace("|", "\\|")
        lines.append(f"| {sentence} | {item.instead or '—'} |\n")
    return "".join(lines)


def main() -> None:
    """Write the section into the guide, at its end."""
    before, _, _ = GUIDE.read_text("utf-8").partition(HEADING)
    GUIDE.write_text(f"{before.rstrip()}\n\n{written()}", "utf-8")


if __name__ == "__main__":
    main()
