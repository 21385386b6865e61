"""What a capability is written in, by hash: another code is another capability."""

from __future__ import annotations

import hashlib
import inspect
import marshal
from collections.abc import Callable
from functools import cache
from pathlib import Path


def code_hash(source: Callable[..., object] | type) -> str:
    """Hash the file that a function or class was written in, for what it calls is mostly there, too.

    What has no file is hashed by its bytecode.
    """
    written = inspect.unwrap(source)
    try:
        path = inspect.getsourcefile(written)
    except TypeError:
        path = None
    if path is not None and Path(path).is_file():
        return _file_hash(path)
    code = getattr(written, "__code__", None)
    return hashlib.sha256(marshal.dumps(code)).hexdigest() if code is not None else repr(type(written))


@cache
def _file_hash(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
