"""Play commands, each in a process that has loaded the libraries we name and no module of ours yet.

A program: it loads those libraries once, where new interpreters would load them for each command anew, and
forks. Reads what to play as JSON from stdin, `{name: [folder, *args]}`, and writes `{name: [code, printed]}`.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

COMMAND = "planwright.cli.main"
ROOT = Path(__file__).parents[2]
OURS = "planwright"


def main() -> None:
    """Load the libraries, then play one command after the other."""
    asked: dict[str, list[str]] = json.load(sys.stdin)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # sqlite_utils loads numpy where that is, which starts threads
    for library in sorted(set(libraries())):
        with contextlib.suppress(ImportError):  # what is not installed is an extra
            importlib.import_module(library)
    del os.environ["OPENBLAS_NUM_THREADS"]
    loaded = [name for name in sys.modules if name.partition(".")[0] == OURS]
    assert not loaded, f"loaded too early: {loaded}"
    threads = os.listdir("/proc/self/task")
    assert len(threads) == 1, "a process with threads may not be forked: a library starts one"
    gc.freeze()
    told = {}
    for name, (folder, *args) in asked.items():
        with tempfile.TemporaryFile() as printed:
            child = os.fork()
            if not child:
                become(folder, args, printed)
                sys.exit(importlib.import_module(COMMAND).main())
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            printed.seek(0)
            told[name] = (code, printed.read().decode())
    json.dump(told, sys.stdout)


def libraries() -> Iterator[str]:
    """Name every module that is not ours and that a module of ours imports."""
    for folder in (ROOT / ".typing" / OURS).iterdir():
        for path in folder.resolve().rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Import):
                    named = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom):
                    named = [str(node.module)]
                else:
                    continue
                yield from (name for name in named if name.partition(".")[0] != OURS)


def become(folder: str, args: list[str], printed: IO[bytes]) -> None:
    """Become the command: a session, a folder and arguments of its own, an empty stdin."""
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(printed.fileno(), 1)
    os.dup2(printed.fileno(), 2)
    os.chdir(folder)
    sys.argv = [COMMAND, *args]


if __name__ == "__main__":
    main()
