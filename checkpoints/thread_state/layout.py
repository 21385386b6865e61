"""How checkpoints lie in their tables: readable without LangGraph, which takes long to load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import ormsgpack

KIND = "refs"
"""Type of a checkpoint in this format."""
LOG, NAMED = "log", "hash"
"""Types of a list of messages by their hashes, and of a write whose value is elsewhere."""
HASH_BYTES = 16
Place: TypeAlias = tuple[str, str, str]
"""Where a checkpoint is: thread, namespace, id."""
AT = "thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
MOST_PARAMETERS = 500


def refs_of(payload: bytes) -> dict[str, bytes | list[object] | dict[str, bytes | list[object]]]:
    """Read what names the value of each channel of a checkpoint: a hash, or the value alone in a list.

    Of an input that holds messages each field is named by itself.
    """
    plain = ormsgpack.unpackb(payload, ext_hook=lambda *_: None, option=ormsgpack.OPT_NON_STR_KEYS)
    return dict(plain["refs"])


def refs_in(payload: bytes) -> set[bytes]:
    """Name the contents of a checkpoint by their hashes, without those of the messages in its logs."""
    return set(hashes_in(refs_of(payload).values()))


def hashes_in(refs: Iterable[object]) -> Iterator[bytes]:
    """Pick the hashes out of what names values."""
    for ref in refs:
        if isinstance(ref, dict):
            yield from hashes_in(ref.values())
        elif isinstance(ref, bytes):
            yield ref


def log_items(index: bytes) -> list[bytes]:
    """Take the hashes of a log apart."""
    return [index[start : start + HASH_BYTES] for start in range(0, len(index), HASH_BYTES)]


def items_of(logs: Iterable[bytes]) -> set[bytes]:
    """Gather the hashes in logs; most are the beginning of a longer one, and are not taken apart."""
    items: set[bytes] = set()
    whole: list[bytes] = []
    for index in sorted(logs, key=len, reverse=True):
        if not any(longer.startswith(index) for longer in whole):
            whole.append(index)
            items.update(log_items(index))
    return items
