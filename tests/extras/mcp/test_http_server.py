"""A real MCP server over streamable HTTP: with headers, killed, gone, and back."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from mcp.types import INTERNAL_ERROR

from planwright.domain.errors import CapabilityUnavailable, EffectInDoubt
from planwright.extras.mcp.incoming import Budget
from planwright.extras.mcp.servers import Servers, open_servers
from planwright.extras.mcp.streamable_http import BoundedTransport
from planwright.settings.settings import load
from tests.cli.desk import wait_until
from tests.conftest import McpServers
from tests.extras.mcp.test_servers import call, call_again
from tests.wire.scripted_server import Reply, ScriptedServer

pytestmark = [pytest.mark.enable_socket, pytest.mark.long]
LONG = {"duration": 60, "steps": 60}
BLIND = {"tools": {"trigger-long-running-operation": {"effect": "blind"}}}


class Everything:
    """`server-everything` as a service on one port of this machine; ended by its pid."""

    def __init__(self, command: str, log: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self._command = [command, "streamableHttp"]
        self._log = log
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the service and wait until it listens."""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, env={**os.environ, "PORT": str(self.port)}, stdout=log, stderr=log
            )
        assert wait_until(self._listens), self._log.read_text("utf-8")

    @property
    def posts(self) -> int:
        """How many messages it has had, by its log."""
        return self._log.read_text("utf-8").count("MCP POST request")

    def kill(self) -> None:
        """Kill the service."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


@pytest.fixture(scope="module")
def service(mcp_servers: McpServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Everything]:
    made = Everything(mcp_servers.command("everything"), tmp_path_factory.mktemp("log") / "log")
    yield made
    made.kill()


@pytest.fixture(scope="module")
def servers(
    service: Everything, mcp_servers: McpServers, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Servers]:
    folder = tmp_path_factory.mktemp("mcp")
    url = f"http://127.0.0.1:{service.port}/mcp"
    service.start()
    mcp_servers.plug(folder, {"plain": {"url": url}, "grave": {"url": url, "type": "http"}})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # nothing goes there
        servers = open_servers(load(folder, mcp={"grave": BLIND}))
        yield servers
        servers.close()


async def test_tools_are_listed_and_called(servers: Servers) -> None:
    assert [(one.state, len(one.tools)) for one in servers.standings] == [("ready", 13)] * 2
    assert await call(servers, "plain.get-sum", a=2, b=3) == {"text": "The sum of 2 and 3 is 5."}


async def test_a_service_that_dies_in_a_call_is_used_again_when_it_is_back(
    servers: Servers, service: Everything
) -> None:
    for name in ("plain", "grave"):
        await call(servers, f"{name}.get-sum", a=1, b=1)
    before = service.posts
    running = [
        asyncio.create_task(call(servers, f"{name}.trigger-long-running-operation", **LONG))
        for name in ("plain", "grave")
    ]
    assert await asyncio.to_thread(wait_until, lambda: service.posts == before + 2)
    service.kill()
    pure, blind = await asyncio.gather(*running, return_exceptions=True)
    assert isinstance(pure, CapabilityUnavailable)
    assert isinstance(blind, EffectInDoubt)
    with pytest.raises(CapabilityUnavailable):
        await call(servers, "plain.get-sum", a=1, b=1)
    service.start()
    assert await call_again(servers, "plain.get-sum", a=1, b=1) == {"text": "The sum of 1 and 1 is 2."}


@pytest.mark.parametrize(
    ("status", "said"), [(401, "HTTP 401: it wants credentials"), (403, "HTTP 403: it does not let in")]
)
def test_a_service_that_lets_nobody_in_says_what_it_wants(
    mcp_servers: McpServers, tmp_path: Path, status: int, said: str
) -> None:
    refusal = Reply(status=status, body="no", headers={"www-authenticate": 'Bearer error="invalid_token"'})
    with ScriptedServer([refusal]) as server:
        mcp_servers.plug(tmp_path, {"one": {"url": f"{server.base_url}/mcp"}}, starts=False)
        found = open_servers(load(tmp_path))
        found.close()
    (standing,) = found.standings
    assert standing.state == "failed"
    assert said in standing.problem


async def test_a_call_that_a_service_does_not_let_in_is_not_one_whose_answer_was_too_long() -> None:
    """The latter was done; this one, for all that is known, was not."""
    with ScriptedServer([Reply(status=401, body="no")]) as server:
        async with httpx2.AsyncClient(transport=BoundedTransport(Budget(), trust_env=False)) as client:
            answer = await client.post(f"{server.base_url}/mcp", json={"jsonrpc": "2.0", "id": 7})
    assert (answer.json()["id"], answer.json()["error"]["code"]) == (7, INTERNAL_ERROR)


def test_a_service_that_is_not_there_is_left_out(
    service: Everything, mcp_servers: McpServers, tmp_path: Path
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        nobody = probe.getsockname()[1]
    mcp_servers.plug(tmp_path, {"one": {"url": f"http://127.0.0.1:{nobody}/mcp"}})
    found = open_servers(load(tmp_path))
    found.close()
    assert [standing.state for standing in found.standings] == ["failed"]
