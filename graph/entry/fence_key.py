"""The key of fences and seals, beside the store: all processes of a store have the same."""

from __future__ import annotations

import contextlib
from pathlib import Path

from planwright.domain.errors import SetupError
from planwright.prompts.fence import use_key
from planwright.store.private_files import private_folder, secret_of
from planwright.store.store_origin import believed, trust_own

FENCE_KEY = "fence.key"


def keep_fences(folder: Path, *, begins: bool = False) -> bool:
    """Let prompts have the fences, and threads the seals, of a store; say whether they are kept.

    Providers keep what they know of a prompt, and the next process knows the messages of this one. Before
    there is a store, the key is that of this process; a run that `begins` makes the folder of the key, which
    a store in a server may not have yet.
    """
    if not begins and not folder.is_dir():
        return False
    with contextlib.suppress(OSError, SetupError):  # of a disk that is read-only, or a home: it is not kept
        if not folder.is_dir():
            private_folder(folder)
        use_key(secret_of(folder / FENCE_KEY, lambda key: trust_own(folder, believed(FENCE_KEY, key))))
    return True
