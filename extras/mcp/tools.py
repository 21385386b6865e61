"""A tool of an MCP server as a capability: its claims and the user's word on it, and how it is called."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pydantic import JsonValue

from planwright.capabilities.contract import Capability
from planwright.capabilities.encoding import ANY_RESULT
from planwright.capabilities.schema_paths import JsonSchema
from planwright.capabilities.tools.hints import CLAIMS, Hints, read_hints
from planwright.capabilities.tools.schema_arguments import arguments_by
from planwright.domain.errors import SetupError
from planwright.domain.risk import Effect
from planwright.extras.mcp.results import SCHEMA
from planwright.presentation.nearest import nearest
from planwright.settings.mcp import McpServerSettings, McpToolSettings

LONGEST = 1000  # of a description: it stands in every prompt that offers the tool
LONGEST_SCHEMA = 64_000  # characters, with its texts cut; as long as it takes to spell the largest in use
_TEXTS = ("title", "description", "$comment")  # of a schema: words to a reader
_DESCRIBING = ("description", "title", "name")  # of a tool: the first that says anything describes it
_VALUES = ("const", "default", "enum", "examples", "required")  # what stands there is no schema
_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_GLOB = re.compile(r"[*?\[]")
Call = Callable[["Tool", Effect, dict[str, JsonValue]], Awaitable[JsonValue]]


@dataclass(frozen=True)
class Tool:
    """A tool as its server lists it; two that are equal may be called the same way."""

    name: str
    """Name that the server calls it."""
    description: str
    """What the tool does, in the words of the server."""
    input_schema: JsonSchema
    """JSON schema of its arguments."""
    output_schema: JsonSchema | None
    """JSON schema of its result; None where the server states none."""
    hints: Hints
    """What the server claims of it."""

    def fields(self) -> JsonSchema:
        """Spell the tool by its field names on the wire, as `read_tool` reads it."""
        claims = {claim: value for claim, value in zip(CLAIMS, self.hints, strict=True) if value is not None}
        output = {"outputSchema": self.output_schema} if self.output_schema is not None else {}
        return {
            "name": self.name,
            "description": self.description,
            "annotations": claims,
            "inputSchema": self.input_schema,
            **output,
        }


def read_tool(fields: Mapping[str, JsonValue]) -> Tool:
    """Read a tool by its field names on the wire (MCP `Tool`), its texts made printable and cut."""
    return Tool(
        name=str(fields["name"]),
        description=next(filter(None, (_cut(str(fields.get(key) or "")) for key in _DESCRIBING)), ""),
        input_schema=_schema(fields.get("inputSchema")) or {"type": "object"},
        output_schema=_schema(fields.get("outputSchema")),
        hints=read_hints(fields),
    )


def _schema(value: JsonValue) -> JsonSchema | None:
    return _with_cut_texts(value) if isinstance(value, dict) else None


def _with_cut_texts(schema: JsonSchema) -> JsonSchema:
    """Cut the words of a schema as a description is cut; what arguments may be stays as it is."""
    return {key: _part(key, value) for key, value in schema.items()}


def _part(key: str, value: object) -> object:
    if key in _TEXTS and isinstance(value, str):
        return _cut(value)
    if key in _BY_NAME and isinstance(value, dict):
        return {name: _part("", of) for name, of in value.items()}
    if key in _VALUES:
        return value
    if isinstance(value, list):
        return [_part("", item) for item in value]
    return _with_cut_texts(value) if isinstance(value, dict) else value


def _cut(text: str) -> str:
    plain = "".join(c if c.isprintable() else " " if c.isspace() else "" for c in text)
    return " ".join(plain.split())[:LONGEST].rstrip()


def wanted(tools: Iterable[Tool], server: McpServerSettings, setting: str) -> list[Tool]:
    """Pick the tools that the user's settings leave. `setting` is where those stand, for its errors.

    Raises SetupError for a setting that would tighten a tool which the server does not have: taken for
    nothing, a slip in a name would leave the tool as it claims to be.
    """
    all_tools = list(tools)
    names = [tool.name for tool in all_tools]
    for key, globs in {"tools": server.tools, "deny": server.deny}.items():
        for name in globs:
            if name not in names and not (key != "tools" and _GLOB.search(name)):
                raise SetupError(
                    f"{setting}.{key}: the MCP server has no tool {name!r}", f"nearest: {_near(name, names)}"
                )
    return [tool for tool in all_tools if is_used(tool, server)]


def is_used(tool: Tool, server: McpServerSettings) -> bool:
    """Say whether the user's settings leave a tool."""
    return _fits(tool, server.allow) and not _fits(tool, server.deny)


def lacking(tools: Iterable[Tool], server: McpServerSettings) -> dict[str, str]:
    """Say of each tool that the settings allow by name, and that the server lacks, why it is not there."""
    names = [tool.name for tool in tools]
    unknown = (name for name in server.allow if name not in names and not _GLOB.search(name))
    return {name: f"the server has no such tool; nearest: {_near(name, names)}" for name in unknown}


def _near(name: str, names: Iterable[str]) -> str:
    return ", ".join(nearest(name, names, limit=3)) or "none"


def capability_of(
    tool: Tool, name: str, tags: Iterable[str], server: McpServerSettings, call: Call, *, remote: bool = False
) -> Capability:
    """Declare a tool as a capability: as the user's settings say, else as it claims, else destructive.

    What a `remote` server is given has left the machine, whatever it claims of its world. Raises SetupError
    for a tool whose arguments follow no JSON schema, or one that no prompt has room for.
    """
    for schema in (tool.input_schema, tool.output_schema):
        if (length := len(json.dumps(schema))) > LONGEST_SCHEMA:
            problem = f"a schema of {length:,} characters, more than {LONGEST_SCHEMA:,}"
            raise SetupError(f"{name} has {problem}", "have its server make it shorter")
    own = server.tools.get(tool.name, McpToolSettings())
    hints = tool.hints._replace(open_world=True) if remote else tool.hints
    mode = own.mode or server.mode or hints.mode
    resolved = mode or "destructive"
    effect = own.effect or hints.effect(resolved)

    async def ask(**arguments: JsonValue) -> JsonValue:
        return await call(tool, effect, arguments)

    return Capability(
        name=name,
        description=tool.description,
        function=ask,
        args=arguments_by(name, tool.input_schema),
        result=ANY_RESULT,
        mode=resolved,
        risk=own.risk or hints.risk(resolved),
        effect=effect,
        tags=tuple(dict.fromkeys(tags)),
        timeout_s=server.call_timeout_s,
        declared=mode is not None,
        result_schema=tool.output_schema or SCHEMA,
        server=name.rpartition(".")[0],
    )


def _fits(tool: Tool, patterns: Iterable[str]) -> bool:
    return any(pattern == tool.name or fnmatchcase(tool.name, pattern) for pattern in patterns)
