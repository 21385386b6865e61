"""The command `planwright`, and `python -m planwright`."""

from __future__ import annotations

import codecs
import io
import os
import signal
import sys


def main() -> None:
    """Load the commands and run one.

    Ctrl-C while they load ends the process: nothing has begun. Output that cannot be written fails here,
    where that is explained, and not at the exit of Python.
    """
    _open_streams()
    interrupts = signal.getsignal(signal.SIGINT)
    if interrupts is signal.default_int_handler:  # ignored in a process that a shell began with &
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from planwright.cli.main import main as run_command

    signal.signal(signal.SIGINT, interrupts)
    try:
        run_command()
    finally:
        sys.stdout.flush()


def _open_streams() -> None:
    """Make the standard streams usable: one that is closed reads and takes nothing; no character fails."""
    for name in ("stdin", "stdout", "stderr"):  # in this order: each takes the number that is free
        if getattr(sys, name) is None:  # closed by the shell: <&- or >&-
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115
    codecs.register_error("as_in_json", _as_in_json)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="as_in_json")


def _as_in_json(error: UnicodeError) -> tuple[str, int]:
    """Spell what an encoding has no character for as JSON does, so that printed JSON stays JSON."""
    import json

    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


if __name__ == "__main__":
    main()
