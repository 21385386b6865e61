"""Files that are replaced so that it can be taken back: what they held before is kept in the store."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.descriptions import MISSING, ArgumentDescription, Rewrite
from planwright.domain.errors import CapabilityForbidden, CapabilityRejected
from planwright.domain.plan import Compensation
from planwright.records.effects.file_versions import Change, FileVersions, file_version

BEGINS = 80
"""Bytes of an earlier version that are shown."""
UNDONE_BY = Compensation(
    capability="files.restore", params={"path": "{{output.path}}", "version": "{{output.version}}"}
)


def replace(path: str, data: bytes, call: CallContext) -> str:
    """Write a file, and return the version of it that is kept: what was there, empty for nothing.

    Raises CapabilityRejected when what is there cannot be kept; then nothing is written.
    """
    version = _keep(path, _content(path, call), data, call)
    call.workspace.write_bytes(path, data)
    return version


def put_back(path: str, version: str, call: CallContext) -> str:
    """Make a file what it was before a call replaced it, and return the version that is replaced now.

    Raises CapabilityRejected when it is not what a call made of that version: somebody has changed it since.
    """
    versions, name = _versions(call), _name(path, call)
    content = _content(path, call)
    now = file_version(content)
    if not versions.has_made(call.idempotency_key, name, now) and not versions.was_replaced(
        call.tenant, name, version, now
    ):
        raise CapabilityRejected(
            f"{path} has changed since, or no call has replaced this version of it",
            "compare it with what you want back, and write that with files.write",
        )
    data = versions.read(version) if version else None
    replaced = _keep(path, content, data, call)
    if data is not None:
        call.workspace.write_bytes(path, data)
    elif content is not None:
        call.workspace.remove(path)
    return replaced


async def describe_version(
    args: Mapping[str, JsonValue], call: CallContext
) -> Mapping[str, ArgumentDescription]:
    """Say how an earlier version of a file begins, and how large it is."""
    if not isinstance(version := args.get("version"), str):
        return {}
    if not version:
        return {"version": ArgumentDescription("the file was not there, and is removed")}
    data = await asyncio.to_thread(_replaced, str(args.get("path")), version, call)
    if data is None:
        return {"version": MISSING}
    begins = data[:BEGINS].decode(errors="replace")
    return {"version": ArgumentDescription(f"{len(data):,} bytes; it begins: {begins}", untrusted=True)}


async def written_over(args: Mapping[str, JsonValue], call: CallContext) -> Sequence[Rewrite]:
    """List the file that a text is written over; none where there is none."""
    path, text = args.get("path"), args.get("text")
    before = await asyncio.to_thread(_content, path, call) if isinstance(path, str) else None
    after = text.encode() if isinstance(text, str) else None
    return [] if before is None else [Rewrite(str(path), before, after)]


async def put_back_over(args: Mapping[str, JsonValue], call: CallContext) -> Sequence[Rewrite]:
    """List the file that an earlier version is put in the place of."""
    path, version = args.get("path"), args.get("version")
    if not (isinstance(path, str) and version and isinstance(version, str)):
        return []
    before = await asyncio.to_thread(_content, path, call)
    after = await asyncio.to_thread(_replaced, path, version, call)
    return [] if before is None else [Rewrite(path, before, after)]


def _replaced(path: str, version: str, call: CallContext) -> bytes | None:
    """Read the version of a file that a call of the tenant has made into what is there now; None for none."""
    versions, now = _versions(call), file_version(_content(path, call))
    if not versions.was_replaced(call.tenant, _name(path, call), version, now):
        return None
    return versions.read(version)


def _keep(path: str, before: bytes | None, after: bytes | None, call: CallContext) -> str:
    if before is not None and call.redactor.in_bytes(before):
        raise CapabilityForbidden(
            f"{path} holds a secret, which the store does not keep, so it is not replaced",
            "take the secret out of it, or write another file",
        )
    key, name = call.idempotency_key, _name(path, call)
    change = Change(key, call.tenant, call.run_id, name, file_version(after))
    return _versions(call).keep(change, before, call.now(), call.lease)


def _content(path: str, call: CallContext) -> bytes | None:
    """Read what a file holds; None when there is none."""
    try:
        return call.workspace.read_bytes(path)
    except CapabilityRejected as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise


def _name(path: str, call: CallContext) -> str:
    return "/".join(call.workspace.check(path, write=True))


def _versions(call: CallContext) -> FileVersions:
    if call.file_versions is None:
        raise CapabilityRejected("nothing keeps what a file held before, so none is written")
    return call.file_versions
