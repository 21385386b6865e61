"""The command `planwright`, and `python -m planwright`."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Load the commands and run one.

    Ctrl-C while they load ends the process: nothing has begun. Output that cannot be written fails here,
    where that is explained, and not at the exit of Python.
    """
    interrupts = signal.getsignal(signal.SIGINT)
    if interrupts is signal.default_int_handler:  # ignored in a process that a shell began with &
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from planwright.cli.main import main as run_command

    signal.signal(signal.SIGINT, interrupts)
    try:
        run_command()
    finally:
        if sys.stdout is not None:  # closed by the shell: >&-
            sys.stdout.flush()


if __name__ == "__main__":
    main()
