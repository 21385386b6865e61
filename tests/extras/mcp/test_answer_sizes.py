"""Answers of MCP servers that are too much to be read, over stdio and HTTP: final, and said why."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from planwright.domain.errors import EffectInDoubt, OverLimit
from planwright.extras.mcp.servers import Servers, open_servers
from planwright.settings.settings import load
from tests.conftest import McpServers
from tests.extras.mcp.test_servers import call

pytestmark = pytest.mark.enable_socket
SCRIPT = str(Path(__file__).with_name("scripted_server.py"))
WAYS = ("stdio", "json", "events")
PURE = {"tools": {name: {"mode": "read_only", "effect": "pure"} for name in ("say", "say_last")}}
BLIND = {"tools": {name: {"mode": "network", "effect": "blind"} for name in ("say", "say_last")}}
TOO_MUCH = {
    "too long": "an answer of more than 1.5 MB is not read",
    "lists": "an answer of more than 10,000 lists and objects is not read",
    "numbers": "an answer of more than 100,000 values is not read",
    "deep": "an answer that is nested too deeply is not read",
    "no JSON": "it is no JSON: expected ident at line 1 column ",
}


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with subprocess.Popen([sys.executable, SCRIPT, "--http"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield int(process.stdout.readline())
        process.kill()


@pytest.fixture(scope="module")
def servers(port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """One server by each way, and one over stdio whose tools are blind."""
    folder = tmp_path_factory.mktemp("mcp")
    urls = {way: {"url": f"http://127.0.0.1:{port}/{way}"} for way in ("json", "events", "endless")}
    process = {"command": sys.executable, "args": [SCRIPT]}
    McpServers(folder).plug(folder, {"stdio": process, **urls, "blind": process})
    opened = open_servers(load(folder, mcp={**dict.fromkeys((*WAYS, "endless"), PURE), "blind": BLIND}))
    yield opened
    opened.close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["a word", "a long text", "commas"])
async def test_what_is_within_the_sizes_is_read(servers: Servers, way: str, kind: str) -> None:
    answer = await call(servers, f"{way}.say", kind=kind)
    assert (
        len(answer["structured"]["said"])
        == {"a word": 4, "a long text": 1_400_000, "commas": 1_000_000}[kind]
    )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("tool", ["say", "say_last"])
@pytest.mark.parametrize("kind", TOO_MUCH)
async def test_what_is_too_much_is_final_and_said(servers: Servers, way: str, tool: str, kind: str) -> None:
    with pytest.raises(OverLimit) as refused:
        await call(servers, f"{way}.{tool}", kind=kind)
    assert refused.value.cause.startswith(f"the MCP server {way} answered {tool}: {TOO_MUCH[kind]}")


@pytest.mark.parametrize("way", WAYS)
async def test_other_calls_go_on_beside_an_answer_that_is_too_long(servers: Servers, way: str) -> None:
    kinds = ["a word", "too long", "a word", "lists", "a word"]
    answers = await asyncio.gather(
        *(call(servers, f"{way}.say", kind=kind) for kind in kinds), return_exceptions=True
    )
    assert [type(answer) for answer in answers] == [dict, OverLimit, dict, OverLimit, dict]


async def test_an_effect_whose_answer_is_too_long_is_in_doubt(servers: Servers) -> None:
    with pytest.raises(EffectInDoubt, match=r"the MCP server blind answered say: .* more than 1\.5 MB"):
        await call(servers, "blind.say", kind="too long")


async def test_a_line_without_end_ends_the_connection(servers: Servers) -> None:
    with pytest.raises(EffectInDoubt, match=r"blind sent more than .* or 15 MB for one call, and was ended"):
        await call(servers, "blind.say", kind="far too long")
    assert await call(servers, "blind.say", kind="a word") == {"text": "", "structured": {"said": "word"}}


async def test_an_event_without_end_is_not_waited_for(servers: Servers) -> None:
    with pytest.raises(OverLimit, match=r"endless answered say: .* more than 1\.5 MB"):
        await call(servers, "endless.say", kind="a word")


def test_a_compressed_answer_is_not_read(port: int, tmp_path: Path) -> None:
    McpServers(tmp_path).plug(tmp_path, {"zipped": {"url": f"http://127.0.0.1:{port}/zipped"}})
    opened = open_servers(load(tmp_path))
    opened.close()
    assert [one.state for one in opened.standings] == ["failed"]
    assert "a compressed answer is not read" in (opened.standings[0].cause or "")
