"""How a refusal of ours looks: two lines on stderr, without a secret in them."""

from __future__ import annotations

import errno
import os
import select
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from planwright.capabilities.trust.guard import FolderUntrusted
from planwright.cli.views.printable import safe
from planwright.domain.errors import INTERRUPTED, PlanwrightError, SetupError
from planwright.security.redaction.known_secrets import redactor_of
from planwright.security.redaction.redactor import Redactor
from planwright.settings.settings import load
from planwright.upkeep.findings import StoreFinding
from planwright.upkeep.store_check import check_store


def print_refusal(error: PlanwrightError, arguments: Sequence[str]) -> None:
    """Print what is wrong and what to do next; `arguments` are those of the command.

    Where it is a folder that nobody trusts, a person at the terminal is asked; by a yes the command begins
    again: nothing of it was done.
    """
    if isinstance(error, FolderUntrusted) and not {"--json", "--no-input"}.intersection(arguments):
        from planwright.cli.views.trust_views import trusted_now

        try:
            if trusted_now(error.settings):
                os.execv(sys.executable, sys.orig_argv)
        except KeyboardInterrupt:
            sys.stderr.write("\n")
            sys.exit(INTERRUPTED)
        except PlanwrightError as failed:
            error = failed
    clean = _redactor(arguments).text
    sys.stderr.write(f"error: {safe(clean(error.cause))}\n")
    if error.next_step:
        sys.stderr.write(f"  next: {safe(clean(error.next_step))}\n")


UNWRITTEN = 74
"""Exit code where the output could not be written: EX_IOERR of sysexits(3). How a run ended is on record."""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def print_traceback(error: BaseException, arguments: Sequence[str]) -> None:
    """Print where a bug of ours showed, or that the store is damaged, where that explains it.

    Output for which there is no room is a refusal; output whose reader has left is nothing to speak of.
    Both end with a code of their own, as none of a run's can be told from it.
    """
    if isinstance(error, OSError) and _is_of_output(error):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python fails at its exit
        if error.errno != errno.EPIPE:
            cause = f"the output cannot be written: {error.strerror}"
            print_refusal(SetupError(cause, "make room; what has run is on record: planwright ls"), arguments)
        sys.exit(UNWRITTEN)  # as an excepthook may
    faults = _store_faults(arguments)
    if not faults:
        sys.stderr.write(_redactor(arguments).text("".join(traceback.format_exception(error))))
        return
    more = f" and {len(faults) - 1} more" if len(faults) > 1 else ""
    cause = f"the store is damaged: {faults[0].file}: {faults[0].problem}{more}"
    print_refusal(SetupError(cause, "planwright db check, then: planwright db restore BACKUP"), arguments)


def _is_of_output(error: OSError) -> bool:
    """Say whether it is what was printed that could not be written: that has no name of a file."""
    if error.errno == errno.EPIPE:
        return _has_no_reader(sys.stdout.fileno())
    return error.errno in _NO_ROOM and error.filename is None


def _has_no_reader(descriptor: int) -> bool:
    """Say whether nobody reads a pipe any more (poll(2), POLLERR): another pipe may have broken."""
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(events & select.POLLERR for _, events in poll.poll(0))


def _store_faults(arguments: Sequence[str]) -> list[StoreFinding]:
    try:
        settings = load(_workspace(arguments))
        findings = [] if settings.store_url else check_store(settings.store_folder)
    except PlanwrightError:
        return []
    return [finding for finding in findings if not finding.note]


def _redactor(arguments: Sequence[str]) -> Redactor:
    """Make the redactor of the workspace a command was about; settings that cannot be read name no secret."""
    try:
        return redactor_of(load(_workspace(arguments)))
    except PlanwrightError:
        return Redactor()


def _workspace(arguments: Sequence[str]) -> Path:
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if argument in ("-w", "--workspace"):
            return Path(following)
        if argument.startswith(("--workspace=", "-w")) and argument != "-w":
            return Path(argument.partition("=")[2] or argument[2:])
    return Path()
