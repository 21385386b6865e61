"""`.mcp.json`: the MCP servers of a workspace, in the form that other clients read, too."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from planwright.domain.errors import SetupError
from planwright.domain.hashing import problem_of, sha256
from planwright.settings.variables import VariableError, filled

if TYPE_CHECKING:
    from yaml import Node

FILE_NAME = ".mcp.json"
_NEAR = 75  # of 100: what is spelled like a field of ours is a slip, not another client's field


class ServerEntry(BaseModel):
    """One server, as it stands in the file; fields of other clients are not read."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)
    type: Literal["stdio", "http", "streamable-http", "streamableHttp", "streamable_http"] | None = None
    """How it is reached; None to tell by `command` or `url`."""
    command: str | None = None
    """Program that is started; None for a server that is reached by `url`."""
    args: list[str] = []
    """Arguments of that program."""
    env: dict[str, str] = {}
    """Variables of the environment that the program gets besides."""
    cwd: str | None = None
    """Folder that it is started in, from the workspace; None for the workspace."""
    url: str | None = None
    """Address of the server; None for one that is started."""
    headers: dict[str, str] = {}
    """Headers sent to that address."""
    disabled: bool = False
    """Whether the server is switched off in the file."""


@dataclass(frozen=True)
class ConfiguredServer:
    """A server of the file: its name, what stands there, and where."""

    name: str
    """Name of the server in the file."""
    entry: ServerEntry
    """What stands there, with variables by their names."""
    file: ServerFile
    """The file it stands in."""
    mistake: SetupError | None = None
    """Why it cannot be meant, and all its texts are `args` then; None for an entry that can."""

    def fingerprint(self, hashes: Mapping[str, str]) -> str:
        """Hash what stands there, variables by their names, the workspace, and the files its command names.

        It is what trust is bound to.
        """
        written = self.entry.model_dump(mode="json", exclude={"disabled"})
        named = [dict(hashes)] if hashes else []
        return sha256([str(self.file.path.parent), self.name, written, *named])

    def starts(self) -> str:
        """Say what is started, word by word, or connected to; "" where that cannot be meant."""
        entry = self.entry
        if self.mistake is not None:
            return ""
        return entry.url or json.dumps([entry.command, *entry.args], ensure_ascii=False)

    def extras(self) -> dict[str, str]:
        """List what a process is given besides, or what is sent to an address, as it stands in the file."""
        if self.entry.url is not None:
            return {f"header {name}": value for name, value in self.entry.headers.items()}
        return {"in": str(self.folder(self.entry))} | {f"env {k}": v for k, v in self.entry.env.items()}

    def filled_in(self, environment: Mapping[str, str]) -> ServerEntry:
        """Put the environment's values in place of `${VAR}` and `${VAR:-default}`, and check the command.

        Raises SetupError, with file and line, for a variable that is not set, a command that is not there,
        and an entry that cannot be meant.
        """
        if self.mistake is not None:
            raise self.mistake
        entry = self.with_variables(environment)
        if entry.command is not None:
            self._check_command(entry, environment)
        elif not _is_address(entry.url or ""):
            raise self.refusal(f"has no http address: {self.entry.url}", "write https://host/path", "url")
        return entry

    def with_variables(self, environment: Mapping[str, str]) -> ServerEntry:
        """Put the environment's values in place of variables. Raises SetupError for one that is not set."""
        try:
            return ServerEntry.model_validate(filled(self.entry.model_dump(), environment))
        except VariableError as error:
            unused = f"[mcp.{self.name}] enabled = false"
            raise self.refusal(error.cause, f"{error.next_step}, or {unused}", *error.path) from error

    def folder(self, entry: ServerEntry) -> Path:
        """The folder a server is started in: its `cwd`, from the workspace."""
        return (self.file.path.parent / (entry.cwd or ".")).resolve()

    def refusal(self, problem: str, next_step: str, *path: str | int) -> SetupError:
        """Make the error that names file and line of a value of this entry."""
        where = self.file.where("mcpServers", self.name, *path)
        return SetupError(f"{where}: the MCP server `{self.name}` {problem}", next_step)

    def _check_command(self, entry: ServerEntry, environment: Mapping[str, str]) -> None:
        folder, command = self.folder(entry), entry.command or ""
        if not folder.is_dir():
            raise self.refusal(f"starts in {folder}, which is no folder", "create it, or mend `cwd`", "cwd")
        path = entry.env.get("PATH", environment.get("PATH"))
        program = str(folder / command) if "/" in command else command
        if shutil.which(program, path=path) is None:
            raise self.refusal(
                f"is started by `{command}`, which is not there",
                f"install it, or [mcp.{self.name}] enabled = false in planwright.toml",
                "command",
            )


@dataclass(frozen=True)
class ServerFile:
    """The file as text, for saying where something stands in it."""

    path: Path
    """Path of the file."""
    text: str
    """Its whole text."""

    def where(self, *path: str | int) -> str:
        """Name file and line of a value; of the nearest that is there around it."""
        import yaml  # here, for only a mistake needs it: JSON is YAML, and YAML knows its lines

        try:
            node = yaml.compose(self.text.replace("\t", " "))
        except (yaml.YAMLError, RecursionError):
            return str(self.path)
        for part in path:
            node = _below(node, part) or node
        return f"{self.path}:{node.start_mark.line + 1}" if node is not None else str(self.path)


class UnreadableFile(SetupError):
    """`.mcp.json` as a whole is no list of servers: nobody knows which there are."""


def read_entries(workspace: Path) -> tuple[ConfiguredServer, ...]:
    """Read the servers of a workspace; none when it has no `.mcp.json`.

    One with a mistake in its entry says which.
    Raises UnreadableFile, naming file and line, for what is no such file.
    """
    path = workspace / FILE_NAME
    try:
        text = path.read_text(encoding="utf-8") if path.is_file() else '{"mcpServers": {}}'
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableFile(f"{path} cannot be read as text: {error}", "save it as UTF-8") from error
    file = ServerFile(path, text)
    try:
        content = json.loads(text, object_pairs_hook=_each_once)
    except json.JSONDecodeError as error:
        step = "mend the JSON of that line, then: planwright mcp ls"
        raise UnreadableFile(f"{path}:{error.lineno}: {error.msg}", step) from error
    except _Twice as error:
        raise UnreadableFile(f"{path}: {error}", "keep one of them") from error
    except (RecursionError, ValueError) as error:
        step = "write the servers and nothing else"
        raise UnreadableFile(f"{path} cannot be read: {error}", step) from error
    servers = content.get("mcpServers") if isinstance(content, dict) else None
    if not isinstance(servers, dict):
        raise UnreadableFile(f"{path}:1: it has no table `mcpServers`", '{"mcpServers": {"name": {…}}}')
    return tuple(_read_entry(name, fields, file) for name, fields in servers.items())


def _read_entry(name: str, fields: JsonValue, file: ServerFile) -> ConfiguredServer:
    try:
        return _configured(name, fields, file)
    except SetupError as error:
        off = isinstance(fields, dict) and fields.get("disabled") is True
        folder = fields.get("cwd") if isinstance(fields, dict) else None
        cwd = folder if isinstance(folder, str) else None
        entry = ServerEntry(command="", args=list(_texts(fields)), cwd=cwd, disabled=off)
        return ConfiguredServer(name, entry, file, error)


def _configured(name: str, fields: JsonValue, file: ServerFile) -> ConfiguredServer:
    blank = ConfiguredServer(name, ServerEntry(), file)
    if not isinstance(fields, dict):
        raise blank.refusal("is no table", 'write {"command": …} or {"url": …}')
    known = list(ServerEntry.model_fields)
    for unknown in fields.keys() - set(known):
        from rapidfuzz import fuzz, process  # here: only a mistake needs it

        if near := process.extractOne(unknown, known, scorer=fuzz.ratio, score_cutoff=_NEAR):
            raise blank.refusal(f"has no field `{unknown}`", f"did you mean `{near[0]}`?", unknown)
    if fields.get("type") == "sse":
        raise blank.refusal("speaks SSE, which is out of date", "use its streamable HTTP address", "type")
    try:
        entry = ServerEntry.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise blank.refusal(f"`{field}`: {problem_of(first)}", f"mend `{field}`", *first["loc"]) from error
    if (entry.command is None) == (entry.url is None):
        problem = "has a command and a url" if entry.command else "has no command"
        raise blank.refusal(problem, "give it `command` for a process, or `url` for streamable HTTP")
    if entry.command is not None and not entry.command.strip():
        raise blank.refusal("has an empty command", "name a program", "command")
    return ConfiguredServer(name, entry, file)


def _texts(value: JsonValue) -> Iterator[str]:
    """List all texts of a value: what a mistake hides may be a path."""
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(item)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


class _Twice(ValueError):
    """One object of a file has the same key twice."""


def _each_once(pairs: Iterable[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    content: dict[str, JsonValue] = {}
    for key, value in pairs:
        if key in content:
            raise _Twice(f"`{key}` stands there twice")
        content[key] = value
    return content


def _below(node: Node | None, part: str | int) -> Node | None:
    """Find the value of a key, or the item of a number; None when there is none."""
    from yaml import MappingNode, SequenceNode

    if isinstance(part, str):
        pairs = node.value if isinstance(node, MappingNode) else []
        return next((value for key, value in pairs if key.value == part), None)
    items: list[Node] = node.value if isinstance(node, SequenceNode) else []
    return items[part] if part < len(items) else None
