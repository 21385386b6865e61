"""The files that an effect reads and passes on: what is approved is their content, not only their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from pydantic import BaseModel, ConfigDict, JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.resources import overlap
from planwright.capabilities.schema_paths import JsonSchema
from planwright.domain.errors import CapabilityRejected
from planwright.domain.references import has_reference

BEGINNING = 400
"""Bytes of a file that its card shows."""


class FileContent(BaseModel):
    """A file as it was when a call was shown."""

    model_config = ConfigDict(frozen=True)
    path: str
    """Path below the workspace, as the call has it."""
    sha256: str
    """SHA-256 of its content in hex; "" where there is no such file."""
    size: int = 0
    """Its size in bytes."""
    beginning: str = ""
    """How it begins, up to 400 bytes; "" where that is no text."""


def files_read(
    capability: Capability, params: Mapping[str, JsonValue], context: CallContext, effect: str = ""
) -> tuple[FileContent, ...]:
    """Look at the files that a call passes on, by its arguments of the format `path`.

    What it overwrites is none of them, nor is a path that is not known yet. Returns none for a read that
    tells nobody outside; `effect` is that of the call, "" for the one that is declared.
    """
    paths = _passed_on(capability, params, context, effect)
    return tuple(_content(path, context) for path in paths if not has_reference(path))


def passes_unknown_file(
    capability: Capability, params: Mapping[str, JsonValue], context: CallContext
) -> bool:
    """Say whether a call passes a file on that only a result will name, so that nobody can see it yet."""
    return any(map(has_reference, _passed_on(capability, params, context)))


def _passed_on(
    capability: Capability, params: Mapping[str, JsonValue], context: CallContext, effect: str = ""
) -> Iterator[str]:
    """Walk the paths of the files that a call passes on, references among them."""
    if (effect or capability.effect) == "pure" and capability.mode != "network":
        return
    schema, params = capability.args_schema, {**capability.defaults, **params}
    properties = schema.get("properties", {})
    named = [name for name in params if _is_path(properties.get(name), schema)]
    if paths := sorted({path for name in named for path in _texts(params[name])}):
        written = _written(capability, params, context)
        for path in paths:
            if not any(overlap(f"file:{normpath(path)}", resource) for resource in written):
                yield path


def _is_path(field: object, schema: JsonSchema) -> bool:
    """Say whether a field holds a path, a list of paths, or perhaps one."""
    if not isinstance(field, Mapping):
        return False
    inner = [field.get("items"), *field.get("anyOf", ())]
    return field.get("format") == "path" or any(_is_path(part, schema) for part in inner)


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _written(capability: Capability, params: Mapping[str, JsonValue], context: CallContext) -> frozenset[str]:
    args = {**capability.defaults, **params}
    try:
        return capability.resources("writes", args, context) | capability.resources("adds", args, context)
    except CapabilityRejected:  # the call will say so
        return frozenset()


def _content(path: str, context: CallContext) -> FileContent:
    try:
        content = context.workspace.digest(path, BEGINNING)
    except CapabilityRejected:  # no plain file inside: the call will say so
        content = None
    if content is None:
        return FileContent(path=path, sha256="")
    digest, size, beginning = content
    try:
        text = beginning.decode() if size == len(beginning) else beginning.decode(errors="ignore")
    except UnicodeDecodeError:
        text = ""
    return FileContent(path=path, sha256=digest, size=size, beginning="" if "\0" in text else text)


def shown_files(files: tuple[FileContent, ...]) -> dict[str, JsonValue]:
    """Put files on a card; nothing where there are none."""
    return {"files": [file.model_dump(mode="json") for file in files]} if files else {}


def same_files(card: Mapping[str, JsonValue], files: tuple[FileContent, ...]) -> bool:
    """Say whether the files of a call are those that its card shows."""
    return card.get("files", []) == [file.model_dump(mode="json") for file in files]
