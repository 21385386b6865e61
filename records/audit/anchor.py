"""Keep the head of the audit chain outside of the store, so that nobody can cut entries off unseen."""

from __future__ import annotations

import logging
import os
import subprocess
from pathlib import Path

from planwright.domain.errors import SetupError
from planwright.settings.audit import AuditSettings
from planwright.store.audit_chain import head
from planwright.store.database import Database

COMMAND_S = 10
_LOG = logging.getLogger("planwright.checkpoints")


def publish_head(database: Database, settings: AuditSettings) -> None:
    """Append the head to the file and give it to the command of the settings; it blocks.

    What fails is logged: the run has ended, and the next one that ends anchors all before it.
    """
    line = "{} {}\n".format(*database.look(head))
    try:
        if settings.anchor is not None:
            with settings.anchor.open("a", encoding="ascii") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        if settings.command:
            subprocess.run(settings.command, input=line.encode(), check=True, timeout=COMMAND_S)
    except (OSError, subprocess.SubprocessError) as error:
        _LOG.error("the head of the audit chain was not anchored: %s", error)


def read_anchors(path: Path) -> list[tuple[int, str]]:
    """Read the heads that a file has, number and hash. Raises SetupError for a file that cannot be read."""
    try:
        lines = path.read_text("ascii").split("\n")
        return [(int(number), hash_) for number, hash_ in (line.split() for line in lines if line)]
    except (OSError, ValueError) as error:
        raise SetupError(f"{path} is no anchor of an audit chain: {error}", "name another file") from error
