"""What a server sends before its answer: bounded in number and bytes, over stdio and HTTP."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from planwright.domain.errors import CapabilityUnavailable, EffectInDoubt
from planwright.extras.mcp.servers import Servers, open_servers
from planwright.settings.settings import load
from tests.conftest import McpServers, processes
from tests.extras.mcp.test_answer_sizes import BLIND, PURE, SCRIPT
from tests.extras.mcp.test_servers import call

pytestmark = pytest.mark.enable_socket
WAYS = ("stdio", "events")
WORD = {"text": "", "structured": {"said": "word"}}
SAID = r"the MCP server {} sent more than 10,000 messages or 15 MB for one call, and was ended"
MOST_CPU_S = 4.0
"""Seconds of the processor: bounded ones took 0.5, unbounded ones 8 (two cores)."""


@pytest.fixture
def port() -> Iterator[int]:
    with subprocess.Popen([sys.executable, SCRIPT, "--http"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield int(process.stdout.readline())
        process.kill()


@pytest.fixture
def servers(port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Servers by both ways, each once with tools that read and once with blind ones."""
    folder = tmp_path_factory.mktemp("mcp")
    process, url = {"command": sys.executable, "args": [SCRIPT]}, {"url": f"http://127.0.0.1:{port}/events"}
    entries = {"stdio": process, "events": url, "stdio_blind": process, "events_blind": url}
    McpServers(folder).plug(folder, entries)
    reads, acts = dict.fromkeys(WAYS, PURE), {f"{way}_blind": BLIND for way in WAYS}
    opened = open_servers(load(folder, mcp={**reads, **acts}))
    yield opened
    opened.close()


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["some talk", "long talk"])
async def test_what_is_within_the_budget_is_read_call_for_call(servers: Servers, way: str, kind: str) -> None:
    for _ in range(3):
        assert await call(servers, f"{way}.say", kind=kind) == WORD


@pytest.mark.sampled(3)
@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["too much talk", "too long talk", "talk without end"])
async def test_a_server_that_talks_too_much_is_ended_and_named(servers: Servers, way: str, kind: str) -> None:
    before = processes(SCRIPT)
    began_s = time.process_time()
    with pytest.raises(CapabilityUnavailable, match=SAID.format(way)):
        await call(servers, f"{way}.say", kind=kind)
    assert time.process_time() - began_s < MOST_CPU_S
    assert await call(servers, f"{way}.say", kind="a word") == WORD  # another process, or another session
    if way == "stdio":
        assert set(before) - set(processes(SCRIPT))


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
async def test_an_effect_of_a_server_that_talks_too_much_is_in_doubt(servers: Servers, way: str) -> None:
    with pytest.raises(EffectInDoubt, match=SAID.format(f"{way}_blind")):
        await call(servers, f"{way}_blind.say", kind="too much talk")
