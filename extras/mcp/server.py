"""One MCP server: its process or address, the connection to it, and its next start when that has ended.

Everything here runs on the one event loop of `servers.py`. A connection is entered and left by a task
of its own, for the SDK's task groups have to end in the task that began them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import IO

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.types import (
    CONNECTION_CLOSED,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    Implementation,
)
from pydantic import JsonValue

from planwright.capabilities.trust.command_files import hashes
from planwright.domain.clock import AttendedTimeout
from planwright.domain.errors import CapabilityRejected, CapabilityUnavailable
from planwright.extras.mcp.answers import parse_problem
from planwright.extras.mcp.incoming import TOO_MUCH, Budget, watched
from planwright.extras.mcp.standing import Standing
from planwright.extras.mcp.stdio import stdio_client
from planwright.extras.mcp.streamable_http import BoundedTransport
from planwright.extras.mcp.tools import Tool, read_tool
from planwright.settings.settings import child_environment
from planwright.store.private_files import open_private

PAGES = 100  # of a list of tools
LONGEST_REST_S, FIRST_REST_S = 30.0, 0.25
CONNECT_S, READ_S = 30, 300
LOG_LINES, LONGEST_QUOTE, LONGEST = 5, 120, 1000


class LostAnswer(Exception):
    """A call was sent, and nobody knows what became of it."""


class HugeAnswer(LostAnswer):
    """The answer is more than may be read, or cannot be read; it would be the same again."""


class _Link:
    """One connection: `ready` once its tools are listed, `over` when it has ended or is to be left."""

    def __init__(self) -> None:
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.over = asyncio.Event()
        self.client: Client | None = None
        self.tools: dict[str, Tool] = {}
        self.task: asyncio.Task[None] | None = None
        self.budget = Budget()
        self._changes, self._read = 1, 0

    def changed(self) -> None:
        """The server says that its tools are others."""
        self._changes += 1

    async def list_tools(self, client: Client) -> None:
        """List the tools, unless they are listed and the server has said nothing since."""
        if (changes := self._changes) != self._read:
            self.tools = {tool.name: tool for tool in await _tools(client)}
            self._read = changes


class ConnectedServer:
    """A server that is started when it is needed and is not there."""

    def __init__(self, standing: Standing, store: Path) -> None:
        self.name = standing.name
        self._standing = standing
        self._log = store / "mcp" / f"{standing.prefix}.log"
        self._lock = asyncio.Lock()
        self._link: _Link | None = None
        self._calls = 0
        self._doubtful = False
        self._failures = 0
        self._rests_until = 0.0

    async def open(self) -> list[Tool]:
        """Start the server and list its tools. Raises CapabilityUnavailable when it does not answer."""
        try:
            return list((await self._linked()).tools.values())
        except CapabilityUnavailable as error:
            last = self._last_words()
            step = error.next_step.replace("mend it", f"read {self._log}") if last else error.next_step
            raise CapabilityUnavailable(error.cause + last, step) from error

    async def call(self, tool: Tool, args: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """Call a tool and return the reply by its field names on the wire.

        Raises CapabilityUnavailable when nothing was sent, CapabilityRejected when the server refuses
        the call or has changed the tool, and LostAnswer or HugeAnswer.
        """
        link = await self._linked()
        if link.tools.get(tool.name) != tool or link.client is None:
            raise CapabilityRejected(
                f"the MCP server {self.name} has changed its tool {tool.name} since it was listed",
                f"see how, and trust it again: planwright mcp trust {self.name}; then begin a new run",
            )
        self._calls += 1
        link.budget.begin()
        try:
            reply = await link.client.call_tool(tool.name, args)
        except MCPError as error:
            raise self._failure(error, tool, link) from error
        except asyncio.CancelledError:  # its time ran out: it may be the server that hangs
            self._doubtful = True
            raise
        finally:
            self._calls -= 1
            link.budget.end()
        self._failures = 0
        return reply.model_dump(mode="json", by_alias=True, exclude_none=True)

    async def close(self) -> None:
        """End the connection, and with it the process."""
        if (link := self._link) is None or link.task is None:
            return
        link.over.set()
        if not link.ready.done():
            link.task.cancel()
        await asyncio.wait([link.task])

    async def _linked(self) -> _Link:
        """Return the connection that stands, or make one."""
        async with self._lock:
            link = self._link
            hangs = self._doubtful and not self._calls
            if link is None or link.over.is_set() or hangs:
                await self.close()
                if (rest := self._rests_until - time.monotonic()) > 0:
                    how_often = f"has ended {self._failures} times"
                    raise CapabilityUnavailable(
                        f"the MCP server {self.name} {how_often}; it rests {rest:.1f} s"
                    )
                link = self._link = _Link()
                self._doubtful = False
                link.task = asyncio.create_task(self._hold(link))
            limit_s = self._standing.settings.start_timeout_s
            try:
                async with AttendedTimeout(limit_s):
                    await asyncio.shield(link.ready)
                    if link.client is not None:
                        await link.list_tools(link.client)
            except (MCPError, ValueError) as error:
                raise self._absent(f"has other tools and does not list them: {error}") from error
            except TimeoutError as error:
                await self.close()
                raise self._absent(f"did not answer within {limit_s:g} s") from error
            return link

    async def _hold(self, link: _Link) -> None:
        """Connect, list the tools, and hold the connection until it is over."""
        try:
            async with AsyncExitStack() as stack:
                transport = watched(
                    await self._transport(stack, link.budget), link.budget, link.over, link.changed
                )
                client = Client(
                    transport, cache=None, client_info=Implementation(name="planwright", version="0")
                )
                await stack.enter_async_context(client)
                await _listen(client, stack)
                await link.list_tools(client)
                link.client = client
                link.ready.set_result(None)
                await link.over.wait()
        except Exception as error:  # noqa: BLE001 - a server may fail in any way; whoever waits gets the cause
            if not link.ready.done():
                why = TOO_MUCH if link.budget.spent else _start_failure(error)
                link.ready.set_exception(self._absent(why))
        finally:
            link.client = None
            link.over.set()
            self._failures += 1
            rest = FIRST_REST_S * 2.0 ** (self._failures - 2) if self._failures > 1 else 0
            self._rests_until = time.monotonic() + min(rest, LONGEST_REST_S)

    async def _transport(self, stack: AsyncExitStack, budget: Budget) -> Transport:
        entry = self._standing.entry
        if entry.url is not None:
            timeout = httpx2.Timeout(CONNECT_S, read=READ_S)
            http = httpx2.AsyncClient(
                headers=entry.headers,
                timeout=timeout,
                transport=BoundedTransport(budget, trust_env=False),
                trust_env=False,
            )
            opened = await stack.enter_async_context(http)
            return streamable_http_client(entry.url, http_client=opened, max_sse_event_size=None)
        if hashes(self._standing.server, entry, child_environment({})) != self._standing.files:
            raise ValueError("a file that its command names has changed since it was trusted")
        log: IO[str] = stack.enter_context(open_private(self._log, "w", encoding="utf-8"))
        folder = self._standing.server.folder(entry)
        command = entry.command or ""
        command = str(folder / command) if "/" in command else command
        started = StdioServerParameters(command=command, args=entry.args, env=entry.env, cwd=folder)
        return stdio_client(started, log, budget)

    def _failure(self, error: MCPError, tool: Tool, link: _Link) -> Exception:
        if link.budget.spent:
            return LostAnswer(
                f"the MCP server {self.name} {TOO_MUCH}; its answer to {tool.name} was not read"
            )
        answered = f"the MCP server {self.name} answered {tool.name}: {error.message} ({error.code})"
        if error.code in (METHOD_NOT_FOUND, INVALID_PARAMS):
            return CapabilityRejected(answered)
        if error.code == INVALID_REQUEST and error.message == "Session terminated":
            link.over.set()  # it does not know our session, so it did nothing for it
            return CapabilityUnavailable(answered)
        if error.code == PARSE_ERROR:
            cause = f"the MCP server {self.name} answered {tool.name}: {parse_problem(error.message)}"
            return HugeAnswer(cause)
        return LostAnswer(answered)

    def _absent(self, why: str) -> CapabilityUnavailable:
        step = f"mend it, or [mcp.{self.name}] enabled = false in planwright.toml"
        return CapabilityUnavailable(f"the MCP server {self.name} {why}"[:LONGEST], step)

    def _last_words(self) -> str:
        """Quote what the process wrote at last; for whoever opens the servers, not for a model."""
        if self._standing.entry.url is not None or not self._log.exists():
            return ""
        lines = [line for line in self._log.read_text("utf-8", errors="replace").splitlines() if line.strip()]
        last = [line for line in lines if not _of_traceback(line)] or lines
        text = " | ".join(last[-LOG_LINES:])
        quote = text if len(text) <= LONGEST_QUOTE else f"… {text[-LONGEST_QUOTE:].partition(' ')[2]}"
        return f"; it wrote: {quote}" if last else ""


def _of_traceback(line: str) -> bool:
    """Say whether a line leads to an error, and is not the error: its frames are indented."""
    return line[0].isspace() or line.startswith("Traceback (")


async def close_all(servers: Sequence[ConnectedServer]) -> None:
    """End the connections of servers, at the same time."""
    await asyncio.gather(*(server.close() for server in servers))


async def _listen(client: Client, stack: AsyncExitStack) -> None:
    """Ask to be told of changed tools where the protocol has it so: earlier versions tell unasked."""
    tools = client.server_capabilities.tools
    if tools and tools.list_changed:
        with suppress(ListenNotSupportedError, SubscriptionLost, MCPError):
            await stack.enter_async_context(client.listen(tools_list_changed=True))


async def _tools(client: Client) -> list[Tool]:
    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += [
            read_tool(tool.model_dump(mode="json", by_alias=True, exclude_none=True)) for tool in page.tools
        ]
        if (cursor := page.next_cursor) is None:
            return tools
    raise ValueError(f"its list of tools has more than {PAGES} pages")


def _start_failure(error: BaseException) -> str:
    """Put an error on one line; of a group, the first that is none."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
        return "does not start: it ended before it answered"
    return f"does not start: {type(error).__name__}: {error}"
