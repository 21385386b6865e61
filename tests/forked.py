"""Programs of ours in processes that start warm: forked from one that has loaded them already.

Started cold, each would spend seconds on imports. The standard library's forkserver loads them once for
every pytest worker; it runs no thread, so it may be forked. What comes of it is a process like any other,
with its own pid, files, signals and exit code. Only how it was loaded is not its own: tests of that start
`python`, and each command is also played where none of our modules is loaded (tests/cli/test_cold_start.py).
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from multiprocessing.connection import wait
from multiprocessing.reduction import DupFd
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Any, Self

from tests.patience import PATIENCE_S

_SERVER = multiprocessing.get_context("forkserver")
_ONE_AT_A_TIME = threading.Lock()  # a process may be polled by one thread only


def preload() -> None:
    """Say what the server loads. A process has one: call it after the imports of all who say so, too."""
    _SERVER.set_forkserver_preload(["__main__", "tests.preloaded"])


class Forked:
    """`main()` of a module, in a process of its own; whatever is left of it ends with the block.

    Stdin is empty, or what was `typed`; stdout and stderr go to files. With `terminal`, an open one, all
    three are that, but for a stdout that is `redirected`.
    """

    def __init__(
        self,
        module: str,
        *args: str,
        folder: Path,
        env: Mapping[str, str],
        typed: str = "",
        terminal: int | None = None,
        redirected: bool = False,
    ) -> None:
        with ExitStack() as opened:
            self._stdin, self._stdout, self._stderr = (
                opened.enter_context(TemporaryFile()) for _ in range(3)
            )
            self._open = opened.pop_all()
        self._stdin.write(typed.encode())
        self._stdin.seek(0)
        files = [_Passed(file.fileno()) for file in (self._stdin, self._stdout, self._stderr)]
        if terminal is not None:
            shown = _Passed(terminal)
            files = [shown, files[1] if redirected else shown, shown]
        given = (module, args, str(folder), dict(env), files)
        self._process = _SERVER.Process(target=_play, args=given, daemon=True)
        with _ONE_AT_A_TIME:
            self._process.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.send(signal.SIGKILL)
        self.wait(PATIENCE_S)
        self._open.close()

    @property
    def stdout(self) -> str:
        """What was printed on stdout so far, where that is a file."""
        return _content(self._stdout)

    @property
    def stderr(self) -> str:
        """What was printed on stderr so far, where that is a file."""
        return _content(self._stderr)

    def send(self, number: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        with _ONE_AT_A_TIME:
            if self._process.is_alive() and self._process.pid:
                os.kill(self._process.pid, number)

    def wait(self, seconds: float) -> int:
        """Wait for the end. Returns the exit code, negative for a signal; raises TimeoutError."""
        if not wait([self._process.sentinel], seconds):
            raise TimeoutError(f"still running after {seconds} s: {self.stderr}")
        with _ONE_AT_A_TIME:
            code = self._process.exitcode
        assert code is not None
        return code


class _Passed:
    """An open file that goes along to a new process; what arrives there is its number."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> tuple[Callable[[Any], int], tuple[Any]]:
        return _arrived, (DupFd(self._number),)


def _arrived(passed: Any) -> int:
    return int(passed.detach())


def _content(file: IO[bytes]) -> str:
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode()


def _play(module: str, args: tuple[str, ...], folder: str, env: dict[str, str], files: list[int]) -> None:
    """Become the process: session, Ctrl-C, files, environment, folder and arguments as a shell gives them."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, file in enumerate(files):
        os.dup2(file, number)
    for file in set(files):
        os.close(file)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - open as long as the process
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    sys.argv = [module, *args]
    sys.exit(importlib.import_module(module).main())
