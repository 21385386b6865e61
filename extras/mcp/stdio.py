"""An MCP server as a process: messages as lines of JSON over stdin and stdout, each within a size.

The SDK's own `stdio_client` (mcp 2.3.0) holds and parses a line however long it is.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import IO

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, ObjectReceiveStream, ObjectSendStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import StdioServerParameters
from mcp.client.stdio import get_default_environment
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from planwright.extras.mcp.answers import error_reply, refusal_text
from planwright.extras.mcp.incoming import Budget
from planwright.security.reply_size import MOST_BYTES, TOO_LONG, excess_of

ENDS_S = 2.0  # for each of: ending by itself, by SIGTERM, by SIGKILL (MCP 2025-11-25, lifecycle, shutdown)
EDGE = 200
_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)
# The id of an answer stands first or last in it, as servers write it; ours are numbers.
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
_ID = re.compile(
    rb'^\s*\{\s*(?:%b\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,|"id"\s*:\s*(\d{1,15})\s*(?:,\s*%b\s*)?\}\s*$'
    % (_VERSION, _VERSION)
)


@asynccontextmanager
async def stdio_client(
    started: StdioServerParameters, log: IO[str], budget: Budget
) -> AsyncIterator[tuple[ObjectReceiveStream[SessionMessage | Exception], ObjectSendStream[SessionMessage]]]:
    """Start a server, and end it and the processes it started. Raises OSError when it does not start."""
    process = await anyio.open_process(
        [started.command, *started.args],
        env=get_default_environment() | (started.env or {}),
        cwd=started.cwd,
        stderr=log,
        start_new_session=True,
    )
    try:
        stdin, stdout = _pipes(process)
        yield _Inbox(stdout, budget), _Outbox(stdin)
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process, 0 if budget.spent else ENDS_S)


class _Inbox(ObjectReceiveStream[SessionMessage | Exception]):
    """The messages of a server; what may not be read comes as an error in answer to the same request."""

    def __init__(self, stdout: ByteReceiveStream, budget: Budget) -> None:
        self._stdout = BufferedByteReceiveStream(stdout)
        self._budget = budget

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message, or why a line is none.

        Raises anyio.EndOfStream after the last, and where the server has sent more than it may.
        """
        try:
            line = await self._stdout.receive_until(b"\n", MOST_BYTES)
            if not self._budget.take(len(line)):
                raise anyio.EndOfStream
            excess = excess_of(line)
        except anyio.DelimiterNotFound:
            line, excess = await self._edges(), TOO_LONG
        except (anyio.IncompleteRead, anyio.BrokenResourceError, OSError) as error:
            raise anyio.EndOfStream from error
        failure = ValueError(refusal_text(excess))
        if not excess:
            try:
                return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
            except ValueError as error:
                failure = error
        number = _ID.search(line[:EDGE] + line[-EDGE:])
        return SessionMessage(error_reply(int(number[1] or number[2]), str(failure))) if number else failure

    async def aclose(self) -> None:
        """Close nothing: the process is read until it ends."""

    async def _edges(self) -> bytes:
        """Skip the rest of a line, and return how it begins and ends."""
        first = last = b""
        while True:
            part, end, after = (await self._stdout.receive()).partition(b"\n")
            if not self._budget.take(len(part), messages=len(end)):
                raise anyio.EndOfStream
            first, last = first or part[:EDGE], (last + part)[-EDGE:]
            if end:
                self._stdout.feed_data(after)
                return first + last


class _Outbox(ObjectSendStream[SessionMessage]):
    """The messages to a server."""

    def __init__(self, stdin: ByteSendStream) -> None:
        self._stdin = stdin
        self._turn = anyio.Lock()

    async def send(self, item: SessionMessage) -> None:
        """Write a message. Raises anyio.BrokenResourceError when the server does not read any more."""
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        async with self._turn:
            try:
                await self._stdin.send(line)
            except OSError as error:
                raise anyio.BrokenResourceError from error

    async def aclose(self) -> None:
        """Tell the server that no more will come."""
        with suppress(*_GONE):
            await self._stdin.aclose()


def _pipes(process: Process) -> tuple[ByteSendStream, ByteReceiveStream]:
    if process.stdin is None or process.stdout is None:
        raise OSError("the process has no stdin or stdout")
    return process.stdin, process.stdout


async def _end(process: Process, by_itself_s: float) -> None:
    """Ask a process to end, by closing its stdin, and kill it and its children when it does not."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_drain, process)
        with suppress(*_GONE):
            await _pipes(process)[0].aclose()
        with anyio.move_on_after(by_itself_s):
            await process.wait()
        if process.returncode is None:
            await terminate_posix_process_tree(process, ENDS_S)
        tasks.cancel_scope.cancel()
    with anyio.move_on_after(ENDS_S):
        await process.aclose()


async def _drain(process: Process) -> None:
    """Read what a process has still to say: one that waits for a reader does not end."""
    with suppress(*_GONE):
        async for _ in _pipes(process)[1]:
            pass
