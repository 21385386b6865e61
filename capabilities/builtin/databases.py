"""SQLite databases of the user, by their names.

SQLite opens a file by its path, and its journals beside it. A folder on the way could be turned into
a link meanwhile, so a database lies directly in the workspace, or where the settings say.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from planwright.capabilities.call_context import CallContext
from planwright.domain.errors import CapabilityForbidden, CapabilityRejected

LOCK_S = 5.0


def find(name: str, call: CallContext) -> Path:
    """Find a database: one the settings name, or a file directly in the workspace.

    Raises CapabilityRejected where there is none, and CapabilityForbidden for what is not the user's own.
    """
    configured, root = call.settings.sources.databases.get(name), call.workspace.root
    if configured is None:
        parts = call.workspace.check(name, write=True)
        if len(parts) != 1:
            raise CapabilityForbidden(
                f"{name!r} does not lie directly in the workspace",
                f'name it in planwright.toml: [sources.databases] crm = "{name}", and use the name crm',
            )
        path = root / parts[0]
    else:
        path = Path(os.path.realpath(root / configured))
    if path.is_relative_to(Path(os.path.realpath(call.settings.store_folder))):
        raise CapabilityForbidden(f"{name!r} belongs to the program")
    try:
        status = os.lstat(path)
    except OSError as error:
        raise CapabilityRejected(
            f"there is no database {name}", "see what is there with: files.list"
        ) from error
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        raise CapabilityForbidden(f"{name!r} is no plain file of its own: a link, a pipe or a folder")
    return path
