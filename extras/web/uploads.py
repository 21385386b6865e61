"""Files that come with a request: read within bounds, and put where capabilities can read them."""

from __future__ import annotations

import unicodedata
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from planwright.domain.errors import CapabilityRejected, SetupError
from planwright.security.jail import LARGEST, Jail

FOLDER = "uploads"
MOST_FILES, MOST_FIELDS, MOST_TEXT, MOST_BYTES = 10, 100, 4_000_000, 25_000_000
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # characters that forge a name, or turn its direction


@dataclass(frozen=True)
class Upload:
    """A file that somebody sends with a form."""

    name: str
    """Its name without a folder, as the browser says."""
    content: bytes
    """All of it."""


async def read_uploads(request: Request) -> tuple[dict[str, list[str]], tuple[Upload, ...]]:
    """Read a form with files (RFC 7578): its texts, and the files that were chosen.

    Raises SetupError where it is too large, holds too much, or is none.
    """
    parser = MultiPartParser(
        request.headers,
        _bounded(request),
        max_files=MOST_FILES,
        max_fields=MOST_FIELDS,
        max_part_size=MOST_TEXT,
    )
    try:
        data = await parser.parse()
    except MultiPartException as error:
        raise SetupError(f"this form cannot be read: {error.message}", "choose fewer files") from error
    fields: dict[str, list[str]] = {}
    files: list[Upload] = []
    try:
        for name, value in data.multi_items():
            if not isinstance(value, UploadFile):
                fields.setdefault(name, []).append(value)
            elif value.filename:  # a field in which nothing was chosen has no name
                files.append(Upload(value.filename, await value.read()))
    finally:
        await data.close()
    return fields, tuple(files)


async def _bounded(request: Request) -> AsyncGenerator[bytes, None]:
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > MOST_BYTES:
            raise SetupError(f"together these files are larger than {MOST_BYTES // 10**6} MB", "send fewer")
        yield chunk


def put_into_workspace(jail: Jail, uploads: Sequence[Upload], folder: str) -> list[str]:
    """Write files into a folder of their own, all or none. Returns their paths.

    Raises SetupError for a name or a size that is refused, CapabilityRejected where they cannot be written.
    """
    paths = [f"{FOLDER}/{folder}/{_checked_name(upload)}" for upload in uploads]
    if len(set(map(str.casefold, paths))) < len(paths):
        raise SetupError("two of these files have the same name", "rename one of them")
    for path, upload in zip(paths, uploads, strict=True):
        jail.check(path, write=True)
        if len(upload.content) > LARGEST:
            raise SetupError(f"{upload.name} is larger than {LARGEST // 10**6} MB", "send a part of it")
    try:
        for path, upload in zip(paths, uploads, strict=True):
            jail.write_bytes(path, upload.content)
    except CapabilityRejected:
        take_back(jail, paths)
        raise
    return paths


def take_back(jail: Jail, paths: Sequence[str]) -> None:
    """Remove files whose request was not begun."""
    for path in paths:
        with suppress(CapabilityRejected):
            jail.remove(path)


def _checked_name(upload: Upload) -> str:
    """Take the name of a file as it is; one that hides, climbs or forges is refused."""
    name = unicodedata.normalize("NFC", upload.name)
    if name.startswith(".") or "/" in name or "\\" in name:
        raise SetupError(f"{name} is no name for a file that comes with a request", "rename it")
    if any(unicodedata.category(character) in _UNSEEN for character in name):
        raise SetupError("a file has a name with characters that cannot be seen", "rename it")
    return name
