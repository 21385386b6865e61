"""Real MCP servers over stdio: their tools, their answers, and what becomes of a call when one dies."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import JsonValue

from planwright.capabilities.declaration import capability
from planwright.domain.errors import (
    CapabilityError,
    CapabilityRejected,
    CapabilityUnavailable,
    EffectInDoubt,
    SetupError,
)
from planwright.extras.mcp.servers import Servers, open_servers
from planwright.graph.building import build_graph
from planwright.settings.settings import load
from tests.cli.desk import wait_until
from tests.conftest import McpServers, bytes_read, one_has_read, processes
from tests.loop_clock import LoopClock
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.long

GRAVE = {"tools": {"trigger-long-running-operation": {"effect": "blind"}}}
LONG = {"duration": 60, "steps": 60}
EVERYTHING = "mcp-server-everything"
LEAST = 100  # bytes, of a call to `trigger-long-running-operation`


@pytest.fixture(scope="module")
def workspace(mcp_servers: McpServers, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with five servers; `grave` is `everything` again, by other settings."""
    folder = tmp_path_factory.mktemp("mcp")
    (folder / "files").mkdir()
    everything = mcp_servers.entry("everything", "stdio")
    servers = {
        "time": mcp_servers.entry("time", "--local-timezone", "UTC"),
        "filesystem": mcp_servers.entry("filesystem", "files"),
        "sqlite": mcp_servers.entry("sqlite", "--db-path", "shop.db"),
        "everything": everything,
        "grave": everything,
    }
    mcp_servers.plug(folder, servers)
    return folder


@pytest.fixture(scope="module")
def servers(workspace: Path) -> Iterator[Servers]:
    opened = open_servers(load(workspace, mcp={"grave": GRAVE}))
    yield opened
    opened.close()


async def call(servers: Servers, name: str, **args: JsonValue) -> Any:
    """Call a capability's function as the gateway does."""
    found = {capability.name: capability for capability in servers.capabilities}[name]
    return await asyncio.wait_for(found.function(**args), PATIENCE_S)


def test_every_server_lists_its_tools(servers: Servers) -> None:
    counted = {standing.name: (standing.state, len(standing.tools)) for standing in servers.standings}
    assert counted == {
        "time": ("ready", 2),
        "filesystem": ("ready", 14),
        "sqlite": ("ready", 6),
        "everything": ("ready", 13),
        "grave": ("ready", 13),
    }
    assert not any(standing.left_out for standing in servers.standings)


@pytest.mark.parametrize(
    ("name", "declared"),
    [
        ("time.get_current_time", ("read_only", "None", "pure", True)),
        ("filesystem.read_text_file", ("read_only", "None", "pure", True)),
        ("filesystem.create_directory", ("local_write", "Low", "idempotent", True)),
        ("filesystem.write_file", ("destructive", "Critical", "idempotent", True)),
        ("filesystem.move_file", ("destructive", "Critical", "blind", True)),
        ("everything.gzip-file-as-resource", ("network", "Medium", "idempotent", True)),
        ("sqlite.read_query", ("destructive", "Critical", "blind", False)),
        ("grave.trigger-long-running-operation", ("read_only", "None", "blind", True)),
    ],
)
def test_a_tool_is_declared_by_its_hints(
    servers: Servers, name: str, declared: tuple[str, str, str, bool]
) -> None:
    found = {capability.name: capability for capability in servers.capabilities}[name]
    assert (found.mode, found.risk, found.effect, found.declared) == declared


async def test_answers_of_all_kinds_become_json(servers: Servers) -> None:
    zone = await call(servers, "time.get_current_time", timezone="Europe/Oslo")
    assert zone["timezone"] == "Europe/Oslo"
    assert await call(servers, "everything.get-sum", a=2, b=3) == {"text": "The sum of 2 and 3 is 5."}
    picture = await call(servers, "everything.get-tiny-image")
    assert [block["mimeType"] for block in picture["content"]] == ["image/png"]
    weather = await call(servers, "everything.get-structured-content", location="New York")
    assert sorted(weather) == ["conditions", "humidity", "temperature"]


async def test_an_error_of_a_tool_is_final(servers: Servers) -> None:
    with pytest.raises(CapabilityRejected, match=r"time says: .*Mars"):
        await call(servers, "time.get_current_time", timezone="Mars/Olympus")


def test_calls_come_from_any_event_loop(servers: Servers) -> None:
    async def both() -> list[Any]:
        return await asyncio.gather(
            *(call(servers, "everything.get-sum", a=1, b=n) for n in range(20)),
            call(servers, "time.get_current_time", timezone="UTC"),
        )

    for _ in range(2):
        assert len(asyncio.run(both())) == 21


async def test_a_server_that_was_killed_is_started_for_the_next_call(servers: Servers) -> None:
    others = processes("mcp-server-filesystem")
    (before,) = processes("mcp-server-time")
    os.kill(before, signal.SIGKILL)
    zone = await call_again(servers, "time.get_current_time", timezone="UTC")
    assert zone["timezone"] == "UTC"
    assert processes("mcp-server-time") != [before]
    assert processes("mcp-server-filesystem") == others


async def call_again(servers: Servers, name: str, **args: JsonValue) -> Any:
    """Call as the gateway does: again while nothing has happened."""
    for _ in range(10 * PATIENCE_S):
        try:
            return await call(servers, name, **args)
        except CapabilityUnavailable:
            await asyncio.sleep(0.1)
    raise AssertionError(f"{name} never came back")


@pytest.mark.parametrize(
    ("server", "failure"), [("everything", CapabilityUnavailable), ("grave", EffectInDoubt)]
)
async def test_a_server_that_dies_in_a_call_leaves_no_doubt_but_about_effects(
    servers: Servers, server: str, failure: type[CapabilityError]
) -> None:
    await call_again(servers, f"{server}.get-sum", a=1, b=1)
    before = bytes_read(EVERYTHING)
    running = asyncio.create_task(call(servers, f"{server}.trigger-long-running-operation", **LONG))
    assert await asyncio.to_thread(wait_until, lambda: one_has_read(EVERYTHING, LEAST, before))
    for pid in processes(EVERYTHING):
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(failure):
        await running
    assert await call_again(servers, f"{server}.get-sum", a=1, b=1) == {"text": "The sum of 1 and 1 is 2."}


async def test_a_server_that_let_a_call_run_out_of_time_is_started_anew(servers: Servers) -> None:
    await call_again(servers, "everything.get-sum", a=1, b=1)
    before, read, clock = processes(EVERYTHING), bytes_read(EVERYTHING), LoopClock(asyncio.get_running_loop())

    async def impatient() -> None:
        async with asyncio.timeout(60):
            await call(servers, "everything.trigger-long-running-operation", **LONG)

    running = asyncio.create_task(impatient())
    assert await asyncio.to_thread(wait_until, lambda: one_has_read(EVERYTHING, LEAST, read))
    clock.pass_(61)
    with pytest.raises(TimeoutError):
        await running
    anew = False
    for _ in range(1000):  # calls, until the servers' thread has heard that the first was given up
        assert await call(servers, "everything.get-sum", a=1, b=1) == {"text": "The sum of 1 and 1 is 2."}
        anew = anew or set(processes(EVERYTHING)) != set(before)
        if anew:
            break
    assert anew


def test_closing_ends_the_processes_of_its_own_servers_and_no_other(
    servers: Servers, mcp_servers: McpServers, tmp_path: Path
) -> None:
    before = processes("mcp-server")
    mcp_servers.plug(tmp_path, {"memory": mcp_servers.entry("memory")})
    mine = open_servers(load(tmp_path))
    assert len(processes("mcp-server")) == len(before) + 1
    mine.close()
    assert processes("mcp-server") == before
    with pytest.raises(CapabilityUnavailable, match="closed with its agent"):
        asyncio.run(call(mine, "memory.read_graph"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("script", "limit_s", "said"),
    [
        ("exec sleep 60", 0.3, "did not answer within 0.3 s"),
        ("echo out of order >&2; exit 3", PATIENCE_S, "it wrote: out of order"),
        ("exec cat", PATIENCE_S, "does not start"),
    ],
)
def test_a_server_that_does_not_answer_is_left_out(
    mcp_servers: McpServers, tmp_path: Path, script: str, limit_s: float, said: str
) -> None:
    mcp_servers.plug(tmp_path, {"one": {"command": "sh", "args": ["-c", script]}}, starts=False)
    opened = open_servers(load(tmp_path, mcp={"one": {"start_timeout_s": limit_s}}))
    opened.close()
    (standing,) = opened.standings
    assert (standing.state, opened.capabilities) == ("failed", [])
    assert said in standing.cause
    with pytest.raises(SetupError, match="the MCP server `one` is required"):
        open_servers(load(tmp_path, mcp={"one": {"start_timeout_s": limit_s, "required": True}}))
    assert processes(script) == []


def test_an_untrusted_server_is_not_started(mcp_servers: McpServers, tmp_path: Path) -> None:
    entry = {"command": "sh", "args": ["-c", "touch started"]}
    mcp_servers.plug(tmp_path, {"one": entry}, trusted=False)
    opened = open_servers(load(tmp_path))
    (standing,) = opened.standings
    assert (standing.state, opened.capabilities) == ("untrusted", [])
    assert standing.next_step.endswith("planwright mcp trust one")
    assert not (tmp_path / "started").exists()


TWO_FACED = "test -e broken && exit 3; test -e other && exec {git}; exec {time} --local-timezone UTC"


async def test_a_server_that_fails_again_and_again_is_given_a_rest(
    mcp_servers: McpServers, tmp_path: Path
) -> None:
    script = TWO_FACED.format(git=mcp_servers.command("git"), time=mcp_servers.command("time"))
    mcp_servers.plug(tmp_path, {"one": {"command": "sh", "args": ["-c", script]}})
    before = set(processes("mcp-server-time"))
    opened = open_servers(load(tmp_path))
    try:
        (pid,) = set(processes("mcp-server-time")) - before
        (tmp_path / "broken").touch()
        os.kill(pid, signal.SIGKILL)
        said = [await failure_of(opened) for _ in range(3)]
        assert any("does not start" in text for text in said), said
        assert "it rests" in said[-1]
        (tmp_path / "broken").unlink()
        (tmp_path / "other").touch()
        deadline = time.monotonic() + PATIENCE_S
        while "has changed its tool" not in (text := await failure_of(opened)):
            assert time.monotonic() < deadline, text
            await asyncio.sleep(0.1)
    finally:
        opened.close()


async def failure_of(servers: Servers) -> str:
    """Call a tool that cannot answer and return what is said of it."""
    with pytest.raises(CapabilityError) as refused:
        await call(servers, "one.get_current_time", timezone="UTC")
    return str(refused.value)


@pytest.mark.parametrize(
    ("settings", "state", "tools", "problem"),
    [
        (
            {"allow": ["say", "sey"]},
            "ready",
            ["say"],
            "its tool sey is left out: the server has no such",
        ),
        (
            {"deny": ["sey"]},
            "failed",
            [],
            "mcp.one.deny: the MCP server has no tool 'sey', and so none of",
        ),
        (
            {"tools": {"sey": {"mode": "destructive"}}},
            "failed",
            [],
            "mcp.one.tools: the MCP server has no tool",
        ),
    ],
)
def test_a_tool_that_settings_name_and_the_server_lacks_is_told_once_and_the_rest_goes_on(
    tmp_path: Path, settings: dict[str, Any], state: str, tools: list[str], problem: str
) -> None:
    script = str(Path(__file__).with_name("scripted_server.py"))
    entry = {"command": sys.executable, "args": [script]}
    McpServers(tmp_path).plug(tmp_path, {"one": entry, "two": entry})
    with build_graph(load(tmp_path, mcp={"one": settings})) as agent:
        (line,) = agent.servers.problems
        assert problem in line
        assert "say" in line.partition("nearest: ")[2]
        standings = {
            each.name: (each.state, [*each.tools]) for each in cast(Servers, agent.servers).standings
        }
        assert standings == {"one": (state, tools), "two": ("ready", ["say", "say_last"])}
        assert agent.invoke(None, agent.call("datetime.now"))["status"] == "completed"
        if state == "failed":
            with pytest.raises(SetupError, match="of the MCP server `one`, which is not there"):
                agent.call("one.say")


@pytest.mark.parametrize("secrets", [{}, {"env": ["DESK_KEY"]}], ids=["no secret", "a secret"])
def test_no_secret_is_in_what_is_wrong_with_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secrets: dict[str, Any]
) -> None:
    monkeypatch.setenv("DESK_KEY", "hunter2-hunter2")
    entry = {"command": sys.executable, "args": ["-c", "import sys; sys.exit('no hunter2-hunter2 here')"]}
    McpServers(tmp_path).plug(tmp_path, {"desk": entry})
    with build_graph(load(tmp_path, secrets=secrets)) as agent:
        (line,) = agent.servers.problems
        (standing,) = cast(Servers, agent.servers).standings
    assert ("hunter2" in line) is ("hunter2" in standing.cause) is (not secrets)


def test_a_tool_whose_name_is_taken_is_left_out_and_the_rest_goes_on(workspace: Path) -> None:
    """A server may have a new tool at any time: it stops no workspace."""

    @capability("time.get_current_time", mode="read_only")
    def mine(timezone: str) -> str:
        """Tell the time."""
        return timezone

    agent = build_graph(load(workspace, mcp={"grave": GRAVE}), capabilities=[mine])
    try:
        (standing,) = [each for each in cast(Servers, agent.servers).standings if each.name == "time"]
        assert standing.left_out == {"get_current_time": "the name time.get_current_time is taken"}
        assert [*standing.tools] == ["convert_time"]
        assert any("get_current_time is left out" in line for line in agent.servers.problems)
        assert agent.single_calls.schema_of("time.get_current_time") == mine.args_schema
    finally:
        agent.close()
