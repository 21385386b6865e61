"""The files that an effect reads and passes on: what is approved is their content, not only their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from pydantic import BaseModel, ConfigDict, JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.resources import overlap
from planwright.capabilities.schema_paths import (
    MOST_STEPS_DOWN,
    JsonSchema,
    SchemaPlace,
    reference_target,
    root_place,
)
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
    params = {**capability.defaults, **params}
    if paths := sorted(set(_paths(params, root_place(capability.args_schema)))):
        written = _written(capability, params, context)
        for path in paths:
            if not any(overlap(f"file:{normpath(path)}", resource) for resource in written):
                yield path


def _paths(value: JsonValue, place: SchemaPlace, named: bool = False) -> Iterator[str]:
    """Walk the texts of a value that its schema says, or may say, are paths, however deep they lie."""
    for way in _ways(place):
        part, is_path = way.part, named or way.part.get("format") == "path"
        if isinstance(value, str) and value and is_path:
            yield value
        elif isinstance(value, list):
            for item in value:
                yield from _paths(item, SchemaPlace(_schema(part.get("items")), way.whole), is_path)
        elif isinstance(value, dict):
            fields, others = _schema(part.get("properties")), part.get("additionalProperties")
            for name, item in value.items():
                field = SchemaPlace(_schema(fields.get(name, others)), way.whole)
                yield from _paths(item, field, is_path)


def _ways(place: SchemaPlace, depth: int = 0) -> Iterator[SchemaPlace]:
    """Walk a part of a schema and all parts that may say more of the same value."""
    if depth > MOST_STEPS_DOWN:
        return
    yield place
    reference = place.part.get("$ref")
    more = [reference_target(str(reference), place.whole)] if reference else []
    for key in ("anyOf", "oneOf", "allOf"):
        more += place.part.get(key, ())
    for part in more:
        if inner := place.at(part):
            yield from _ways(inner, depth + 1)


def _schema(part: object) -> JsonSchema:
    return part if isinstance(part, Mapping) else {}


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
