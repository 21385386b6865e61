"""What a workspace brings along: each thing in it that runs, sends or opens something, with its hash.

MCP servers are not among them: each is trusted by itself, and left out until then.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import json
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

from planwright.capabilities.policy.decisions import FOLDER as DECISIONS
from planwright.capabilities.policy.file import FILE_NAME as POLICY
from planwright.capabilities.trust.command_files import files_of_command, hashes_of
from planwright.capabilities.trust.consequences import WrittenSetting, consequences
from planwright.capabilities.trust.workspace_modules import files_of, module_homes
from planwright.domain.hashing import canonical_json, sha256
from planwright.settings.model_profiles import EXTRAS, OPENAI
from planwright.settings.settings import FILE_NAME, Settings, child_environment
from planwright.store.folder_trust import Brought
from planwright.store.store_origin import brought_by_store

CODE = (".py", *importlib.machinery.EXTENSION_SUFFIXES)
"""Endings of the files of a package that are imported; what Python compiled of them is not read."""


def brought_by_folder(settings: Settings) -> list[Brought]:
    """List what the files of a workspace bring along, beside what its store does. Nothing is run."""
    path = settings.workspace / FILE_NAME
    content = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    return [
        *(_of_setting(each) for each in consequences(content) if not _is_usual(each, settings)),
        *_modules(settings),
        *_command_files(settings),
        *_rules(settings.workspace),
        *_links(settings),
    ]


def brought_along(settings: Settings) -> dict[Path, list[Brought]]:
    """List all that a workspace brings along, by the folder that trust is bound to: its own, its store's."""
    home, store = settings.workspace.resolve(), settings.store_folder.resolve()
    along = {home: brought_by_folder(settings)}
    along[store] = [*along.get(store, ()), *brought_by_store(settings.store_folder)]  # it may be one folder
    return along


def _of_setting(setting: WrittenSetting) -> Brought:
    value = "(not shown)" if setting.is_secret else json.dumps(setting.value, ensure_ascii=False, default=str)
    return Brought(setting.name, setting.does, value, sha256(canonical_json(setting.value)))


def _is_usual(setting: WrittenSetting, settings: Settings) -> bool:
    """Say whether a setting leaves all as it is: a provider's own variable or package, data of the folder."""
    value = setting.value
    if setting.kind == "providers.*.api_key_env":
        provider = settings.providers.get(setting.name.split(".")[1])
        return provider is not None and value in (provider.usual_key, [provider.usual_key])
    if setting.kind == "providers.*.chat_class":
        return str(value).partition(":")[0].partition(".")[0] in (*EXTRAS, OPENAI)
    if setting.kind == "sources.databases" and isinstance(value, dict):
        return all(_lies_inside(settings.workspace, path) for path in value.values())
    return setting.kind.startswith("sources.") and _lies_inside(settings.workspace, value)


def _lies_inside(workspace: Path, path: object) -> bool:
    home = workspace.resolve()
    return isinstance(path, str) and "\0" not in path and (home / path).resolve().is_relative_to(home)


def _modules(settings: Settings) -> Iterator[Brought]:
    """List the code of the listed modules, and of what they import from beside them."""
    for home in module_homes(settings.workspace, settings.capabilities.modules).values():
        for file in files_of(home):
            if file.name.endswith(CODE):
                yield _of_file(settings.workspace, file, "runs")


def _command_files(settings: Settings) -> Iterator[Brought]:
    """List the files that the command of the audit chain names."""
    command = settings.audit.command
    if command:
        path = child_environment({}).get("PATH")
        files = files_of_command(settings.workspace, Path.cwd(), command[0], command[1:], path)
        for name, digest in hashes_of(settings.workspace, files).items():
            yield Brought(name, "runs", f"{digest[:12]}, named by audit.command", digest)


def _rules(workspace: Path) -> Iterator[Brought]:
    """List the files that say what may be done without a person."""
    for path in (workspace / POLICY, *sorted((workspace / DECISIONS).glob("*.toml"))):
        if path.is_file():
            yield _of_file(workspace, path, "opens")


def _links(settings: Settings) -> Iterator[Brought]:
    """List the places of data whose spelling lies in the workspace, and from which a link leads out of it."""
    home, sources = settings.workspace.resolve(), settings.sources
    places = {"mail": sources.mail, "tickets": sources.tickets, "calendar": sources.calendar}
    named = {f"sources.{name}": path for name, path in places.items()} | {
        "storage.path": settings.storage.path
    }
    named |= {f"sources.databases.{name}": path for name, path in sources.databases.items()}
    for name, path in named.items():
        spelled, real = os.path.normpath(home / path), (home / path).resolve()
        if Path(spelled).is_relative_to(home) and not real.is_relative_to(home):
            yield Brought(f"{name} (link)", "opens", f"leads to {real}", sha256(str(real)))


def _of_file(workspace: Path, path: Path, does: str) -> Brought:
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    lines = content.count(b"\n")
    name = str(path.relative_to(workspace))
    return Brought(name, "runs" if does == "runs" else "opens", f"{lines} lines, {digest[:12]}", digest)
