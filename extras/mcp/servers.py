"""The MCP servers of a workspace: started, asked for their tools, called, and ended.

All of them live on one thread with an event loop of its own, so a call may come from any loop. Tools
are listed once, when the servers are opened: a registry does not change while a run is on.
"""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import JsonValue

from planwright.capabilities.contract import Capability
from planwright.capabilities.tools.tool_servers import Check, raising
from planwright.capabilities.trust.mcp_entries import UnreadableFile
from planwright.domain.errors import (
    CapabilityRejected,
    CapabilityUnavailable,
    EffectInDoubt,
    OverLimit,
    SetupError,
)
from planwright.domain.plugins import how_to_install
from planwright.domain.risk import Effect
from planwright.extras.mcp.names import TOOL, plain_name, plain_names
from planwright.extras.mcp.results import error_of, result_of
from planwright.extras.mcp.standing import Standing, read_standings, unstarted_servers
from planwright.extras.mcp.tool_changes import changes_of
from planwright.extras.mcp.tools import Call, Tool, capability_of, is_used, lacking, wanted
from planwright.security.redaction.known_secrets import redactor_of
from planwright.security.redaction.redactor import Redactor
from planwright.settings.settings import FILE_NAME as SETTINGS
from planwright.settings.settings import Settings

if TYPE_CHECKING:
    from planwright.extras.mcp.server import ConnectedServer


class Servers:
    """How each server of the file stands, and the processes behind those that are ready.

    `absent` are the servers of which tools are not there, by what the names of those tools begin with;
    `unreadable` says why nobody knows how they stand.
    """

    def __init__(
        self,
        standings: Sequence[Standing],
        running: ExitStack,
        absent: Mapping[str, str],
        unreadable: UnreadableFile | None = None,
    ) -> None:
        self.standings = tuple(standings)
        self.absent = absent
        self.unreadable = unreadable
        self._running = running
        atexit.register(self.close)  # not every server ends when its stdin does

    @property
    def capabilities(self) -> list[Capability]:
        """The tools of all servers that are ready."""
        return [tool for standing in self.standings for tool in standing.tools.values()]

    @property
    def problems(self) -> Iterator[str]:
        """Why servers or tools that should be there are not, and what to do, one line each."""
        if self.unreadable:
            yield f"no server is there: {self.unreadable.cause}; {self.unreadable.next_step}"
        for standing in self.standings:
            if standing.absent:
                yield f"{standing.problem}; {standing.next_step}"
            if standing.changed:
                yield f"{standing.name}: {standing.changed}; {standing.how_to_look}"
            for tool, why in standing.left_out.items():
                yield f"{standing.name}: its tool {tool} is left out: {why}"

    def checks(self) -> Iterator[Check]:
        """Check each server that is switched on, for `planwright doctor`."""
        if self.unreadable:
            yield "mcp", raising(self.unreadable)
        for standing in self.standings:
            if standing.absent:
                cause = standing.cause if standing.state == "failed" else f"{standing.name}: {standing.cause}"
                yield "mcp", raising(SetupError(cause, standing.next_step))
            elif standing.changed:
                yield "mcp", raising(SetupError(f"{standing.name}: {standing.changed}", standing.how_to_look))
            elif standing.state == "ready":
                summary = f"{standing.name}: {len(standing.tools)} tools"
                yield "mcp", lambda summary=summary: summary  # type: ignore[misc]

    def leave_out(self, taken: Collection[str]) -> None:
        """Leave out the tools whose names are taken by others: a server may have a new tool at any time."""
        self.standings = tuple(_without(standing, taken) for standing in self.standings)

    def close(self) -> None:
        """End the processes and connections of the servers, and the thread they live on."""
        self._running.close()
        atexit.unregister(self.close)


def open_servers(settings: Settings) -> Servers:
    """Start the servers of a workspace for an agent, as `start_servers` does.

    Raises SetupError for settings that cannot be meant, and for a `required` server that is left out.
    """
    servers = start_servers(settings)
    try:
        _check_required(servers, settings)
    except SetupError:
        servers.close()
        raise
    return servers


def start_servers(settings: Settings, only: Collection[str] | None = None) -> Servers:
    """Start the trusted servers of a workspace, or `only` some, and list their tools.

    Nothing is loaded where there are none.

    A server that is not trusted, does not answer in time, or has a mistake in its entry is left out, and its
    standing says so, with no secret in it; `unreadable` says why all are. Raises SetupError for settings that
    cannot be meant.
    """
    redactor = redactor_of(settings)
    with ExitStack() as running:
        try:
            standings = read_standings(settings)
        except UnreadableFile as error:
            hidden = UnreadableFile(redactor.text(error.cause), redactor.text(error.next_step))
            return Servers((), running.pop_all(), unstarted_servers(settings), hidden)
        named = [standing for standing in standings if only is None or standing.name in only]
        starting = [standing for standing in named if standing.state == "trusted"]
        opened = {standing.name: standing for standing in _start(starting, settings, running)}
        standings = [_redacted(opened.get(standing.name, standing), redactor) for standing in standings]
        absent = {each.prefix: each.name for each in standings if each.state != "ready" or each.changed}
        return Servers(standings, running.pop_all(), absent)


def _redacted(standing: Standing, redactor: Redactor) -> Standing:
    """Hide the secrets in what is wrong with a server: it is printed and logged."""
    left_out = {tool: redactor.text(why) for tool, why in standing.left_out.items()}
    cause, next_step = redactor.text(standing.cause), redactor.text(standing.next_step)
    return replace(standing, cause=cause, next_step=next_step, left_out=left_out)


def _check_required(servers: Servers, settings: Settings) -> None:
    if servers.unreadable and any(chosen.required for chosen in settings.mcp.values()):
        raise servers.unreadable
    for standing in servers.standings:
        if standing.settings.required and standing.state != "ready":
            cause = f"the MCP server `{standing.name}` is required: {standing.cause}"
            raise SetupError(cause, standing.next_step or f"mend [mcp.{standing.name}]")


def _start(starting: Sequence[Standing], settings: Settings, running: ExitStack) -> list[Standing]:
    """Start servers at the same time and wait for the tools of each, or for its time to run out."""
    if not starting:
        return []
    try:
        from anyio.from_thread import start_blocking_portal  # here: most workspaces need neither

        from planwright.extras.mcp.server import ConnectedServer, close_all
    except ImportError as error:
        step = how_to_install("mcp")
        return [replace(standing, state="failed", cause=f"{error}", next_step=step) for standing in starting]
    portal = running.enter_context(start_blocking_portal(name="planwright-mcp"))
    loop = portal.call(_this_loop)
    servers = {standing.name: ConnectedServer(standing, settings.store_folder) for standing in starting}
    running.callback(portal.call, close_all, list(servers.values()))
    listing = {name: portal.start_task_soon(server.open) for name, server in servers.items()}
    opened = []
    for standing in starting:
        try:
            tools = listing[standing.name].result()
        except CapabilityUnavailable as error:
            opened.append(replace(standing, state="failed", cause=error.cause, next_step=error.next_step))
            continue
        opened.append(_ready(standing, tools, _calling(loop, servers[standing.name]), settings))
    return opened


async def _this_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def _ready(standing: Standing, tools: Sequence[Tool], call: Call, settings: Settings) -> Standing:
    """Take over the tools of a server; none where a setting would tighten a tool that it does not have."""
    capabilities, left_out = {}, lacking(tools, standing.settings)
    try:
        chosen = wanted(tools, standing.settings, f"{settings.workspace / SETTINGS}: mcp.{standing.name}")
    except SetupError as error:
        cause = f"{error.cause}, and so none of its tools is used"
        return replace(standing, state="failed", cause=cause, next_step=error.next_step)
    known = {name: tool for name, tool in standing.trusted.items() if is_used(tool, standing.settings)}
    changes = changes_of(known, chosen)
    standing = replace(standing, tools_now=tools, changes=changes)
    withheld = {change.name for change in changes if change.asks}
    chosen = [tool for tool in chosen if tool.name not in withheld]
    names = plain_names((tool.name for tool in chosen), TOOL)
    for tool in chosen:
        name = f"{standing.prefix}.{names[tool.name]}"
        tags = [*plain_name(standing.name).split("_"), *plain_name(tool.name).replace("-", "_").split("_")]
        try:
            remote = standing.entry.url is not None
            capabilities[tool.name] = capability_of(tool, name, tags, standing.settings, call, remote=remote)
        except SetupError as error:
            left_out[tool.name] = error.cause
    return replace(standing, state="ready", tools=capabilities, left_out=left_out)


def _without(standing: Standing, taken: Collection[str]) -> Standing:
    """Move tools by their names from those of a server to those that are left out."""
    why = {
        tool: f"the name {capability.name} is taken"
        for tool, capability in standing.tools.items()
        if capability.name in taken
    }
    tools = {tool: capability for tool, capability in standing.tools.items() if tool not in why}
    return replace(standing, tools=tools, left_out={**standing.left_out, **why}) if why else standing


def _calling(loop: asyncio.AbstractEventLoop, server: ConnectedServer) -> Call:
    """Make the function that calls a tool of a server, whatever event loop it is called on."""

    async def call(tool: Tool, effect: Effect, args: dict[str, JsonValue]) -> JsonValue:
        from planwright.extras.mcp.server import HugeAnswer, LostAnswer

        coroutine = server.call(tool, args)
        try:
            answer = asyncio.run_coroutine_threadsafe(coroutine, loop)
        except RuntimeError as error:  # the thread is not there any more
            coroutine.close()
            raise CapabilityUnavailable(f"the MCP server {server.name} was closed with its agent") from error
        try:
            reply = await asyncio.wrap_future(answer)
        except LostAnswer as error:
            if effect == "blind":
                raise EffectInDoubt(
                    str(error), f"look at what the MCP server {server.name} changes"
                ) from error
            if isinstance(error, HugeAnswer):
                raise OverLimit(str(error), "ask it for less") from error
            raise CapabilityUnavailable(str(error)) from error
        if (problem := error_of(reply)) is not None:
            raise CapabilityRejected(f"{server.name} says: {problem}")
        return result_of(reply, declared=tool.output_schema is not None)

    return call
