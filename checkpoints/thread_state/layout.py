"""How checkpoints lie in their tables: readable without LangGraph, which takes long to load."""

from __future__ import annotations

from typing import TypeAlias

import ormsgpack

KIND = "refs"
"""Type of a checkpoint in this format; one of an older program has its values within, as `msgpack`."""
LOG, NAMED = "log", "hash"
"""Types of a list of messages by their hashes, and of a write whose value is elsewhere."""
HASH_BYTES = 16
Place: TypeAlias = tuple[str, str, str]
"""Where a checkpoint is: thread, namespace, id."""
AT = "thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
MOST_PARAMETERS = 500


def refs_of(payload: bytes) -> dict[str, bytes | list[object]]:
    """Read what names the value of each channel of a checkpoint: a hash, or the value alone in a list."""
    plain = ormsgpack.unpackb(payload, ext_hook=lambda *_: None, option=ormsgpack.OPT_NON_STR_KEYS)
    return dict(plain["refs"])


def refs_in(payload: bytes) -> set[bytes]:
    """Name the contents of a checkpoint by their hashes, without those of the messages in its logs."""
    return {ref for ref in refs_of(payload).values() if isinstance(ref, bytes)}


def log_items(index: bytes) -> list[bytes]:
    """Take the hashes of a log apart."""
    return [index[start : start + HASH_BYTES] for start in range(0, len(index), HASH_BYTES)]
