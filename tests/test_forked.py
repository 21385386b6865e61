"""A process of the tests starts with our program loaded, whoever else has processes forked."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from benchmarks import budgets, replies
from tests.forked import Forked
from tests.patience import PATIENCE_S

LOADED_BY_OTHERS = (budgets, replies)  # each says what the server of forked processes loads: it must not win


def main() -> int:
    """Say whether this process had our program before it was told to play anything."""
    return 0 if "tests.preloaded" in sys.modules else 1


def test_a_process_starts_with_our_program_loaded(tmp_path: Path) -> None:
    with Forked("tests.test_forked", folder=tmp_path, env=os.environ) as process:
        assert process.wait(PATIENCE_S) == 0, process.stderr
