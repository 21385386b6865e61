"""The command where no file may grow beyond a size, which leaves a store as little room as a full disk.

A program: `small_files.py`, and what follows goes to the command.
"""

from __future__ import annotations

import resource

from planwright.cli import main as command

LARGEST = 100_000  # bytes: less than the tables of a new store take


def main() -> None:
    """Limit the size of files, and play the command."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST, resource.RLIM_INFINITY))
    command.main()
