"""Write every Python block of the pages into the folder FOLDER, each as a file of its own."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.docs.pages import blocks


def write_blocks(folder: Path) -> int:
    """Write the blocks, named by page and line; return how many there are."""
    written = blocks("python")
    for block in written:
        name = re.sub(r"\W+", "_", block.place).strip("_").lower()
        (folder / f"{name}.py").write_text(block.text, "utf-8")
    return len(written)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True)
    print(f"{write_blocks(target)} blocks of Python")
