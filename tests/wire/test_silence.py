"""How long a model may take: as long as it is heard of, and no reply for ever."""

from __future__ import annotations

import asyncio
import json
import socket
import uuid
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult

from planwright.graph.building import build_graph
from planwright.settings.settings import Settings
from tests.loop_clock import LoopClock
from tests.opened_store import opened_store
from tests.wire.asking import LISTING, QUESTION, settings_for
from tests.wire.held_server import Send, Speech, end, held_provider, word
from tests.wire.scripted_server import says

pytestmark = pytest.mark.enable_socket


@pytest.fixture
async def clock(monkeypatch: pytest.MonkeyPatch) -> LoopClock:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return LoopClock(asyncio.get_running_loop())


def thinks(clock: LoopClock, seconds: float, text: str) -> Speech:
    """Say nothing for so long, then a text."""

    async def speech(send: Send) -> None:
        await clock.passed(seconds)
        await send(word(text) + end())

    return speech


def settings(folder: Path, url: str, planning: str = "always", **more: Any) -> Settings:
    local = {"base_url": url, "api_key": "k", "model": "m", **more.pop("local", {})}
    limits = {"failover": {"retries": 0}, **more}
    return settings_for(folder, {"local": local}, planning={"mode": planning}, **limits)


async def ask(
    asked: Settings, model: BaseChatModel | None = None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Ask once; return how it ended, and the events on record."""
    agent = build_graph(asked, model=model)
    try:
        config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}
        ended = await agent.ainvoke({"messages": [("user", QUESTION)]}, config)
    finally:
        await agent.aclose()
    with closing(opened_store(asked.store_folder)) as connection:
        rows = connection.execute("SELECT type, data FROM journal ORDER BY seq").fetchall()
    return ended, [{**json.loads(data), "type": kind} for kind, data in rows]


async def test_a_model_that_thinks_for_forty_seconds_is_waited_for(workspace: Path, clock: LoopClock) -> None:
    async with held_provider(thinks(clock, 40, LISTING), thinks(clock, 40, "Four.")) as model:
        ended, events = await ask(settings(workspace, model.url))
    assert (ended["status"], ended["answer"]) == ("completed", "Four.")
    thoughts = [event for event in events if event["type"] == "thinking"]
    assert [(event["role"], event["seconds"] < 7) for event in thoughts] == [
        ("planner", True),
        ("respond", True),
    ]
    calls = [event for event in events if event["type"] == "llm_call"]
    assert [call["call"] for call in calls] == [thought["call"] for thought in thoughts]


async def test_a_model_that_says_nothing_is_given_up_with_what_it_may_have_used(
    workspace: Path, clock: LoopClock
) -> None:
    async with held_provider(thinks(clock, 1000, LISTING)) as model:
        ended, events = await ask(settings(workspace, model.url))
    assert ended["status"] == "failed"
    assert "provider local sent nothing for 120 s" in ended["answer"]
    assert ended["answer"].endswith("raise providers.local.idle_timeout_s")
    (call,) = (event for event in events if event["type"] == "llm_call")
    assert (call["input_tokens"] > 500, call["output_tokens"]) == (True, 4096)
    (end_,) = (event for event in events if event["type"] == "run_end")
    assert end_["used"]["tokens"] == call["input_tokens"] + call["output_tokens"]


async def test_a_comment_that_keeps_a_connection_alive_is_no_silence(
    workspace: Path, clock: LoopClock
) -> None:
    async def waits_in_line(send: Send) -> None:
        for _ in range(4):
            await clock.passed(90)
            await send(": still in line\n\n")
            await asyncio.sleep(0.01)
        await send(word(LISTING) + end())

    async with held_provider(waits_in_line, thinks(clock, 0, "Four.")) as model:
        ended, _ = await ask(settings(workspace, model.url))
    assert (ended["status"], ended["answer"]) == ("completed", "Four.")


async def trickled(clock: LoopClock, send: Send) -> None:
    while True:
        await clock.passed(60)
        await send(word("and "))
        await asyncio.sleep(0.001)


@pytest.mark.parametrize(
    ("planning", "cause"),
    [("always", "there was no plan after 900 s"), ("never", "had not ended its reply after 900 s")],
)
async def test_a_reply_that_trickles_for_ever_ends(
    workspace: Path, clock: LoopClock, planning: str, cause: str
) -> None:
    async with held_provider(lambda send: trickled(clock, send)) as model:
        ended, _ = await ask(settings(workspace, model.url, planning))
    assert ended["status"] == "failed"
    assert cause in ended["answer"]


async def test_a_reply_in_one_piece_may_be_silent_for_longer(workspace: Path, clock: LoopClock) -> None:
    def in_one_piece(seconds: float, text: str) -> Speech:
        async def speech(send: Send) -> None:
            await clock.passed(seconds)
            body = says(text).body
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
            await send(f"{head}\r\nConnection: close\r\n\r\n{body}")

        return speech

    plain = {"capabilities": ["function_calling"]}
    async with held_provider(in_one_piece(500, LISTING), in_one_piece(1000, "Four.")) as model:
        ended, _ = await ask(settings(workspace, model.url, local=plain))
    assert not any(body.get("stream") for body in model.bodies)
    assert ended["status"] == "completed"
    assert "local sent nothing for 600 s" in ended["answer"]


async def test_a_loop_that_is_late_gives_nobody_up(workspace: Path, clock: LoopClock) -> None:
    def late(text: str) -> Speech:
        async def speech(send: Send) -> None:
            clock.jump(3600)
            await asyncio.sleep(0)
            await send(word(text) + end())

        return speech

    async with held_provider(late(LISTING), late("Four.")) as model:
        ended, events = await ask(settings(workspace, model.url))
    assert (ended["status"], ended["answer"]) == ("completed", "Four.")
    assert [event["type"] for event in events if event["type"] in ("failover", "thinking")] == []


async def test_a_loop_that_is_late_in_every_round_gives_nobody_up(workspace: Path, clock: LoopClock) -> None:
    async def has_much_to_do() -> None:
        while True:
            clock.jump(30)
            sum(range(100_000))
            await asyncio.sleep(0)

    async def speech(send: Send) -> None:
        await send(word(LISTING) + end())

    async with held_provider(speech) as model:
        busy = asyncio.create_task(has_much_to_do())
        ended, events = await ask(settings(workspace, model.url))
        busy.cancel()
    assert ended["status"] == "completed"
    assert [event for event in events if event["type"] == "failover"] == []


async def test_a_provider_that_dies_in_mid_stream_makes_way_for_the_next(
    workspace: Path, clock: LoopClock
) -> None:
    onward = asyncio.Event()

    async def half(send: Send) -> None:
        await send(word(LISTING[:20]))
        while not onward.is_set():
            await clock.passed(1)
            await asyncio.sleep(0.001)  # nobody else is given up for it

    async def whole(send: Send) -> None:
        onward.set()
        await send(word(LISTING) + end())

    async with held_provider(half) as dead, held_provider(whole) as other:
        both = {
            name: {"base_url": model.url, "api_key": "k", "model": "m", "priority": priority}
            for priority, (name, model) in enumerate((("dead", dead), ("other", other)))
        }
        _, events = await ask(settings_for(workspace, both, failover={"retries": 0}))
    moves = [(event["cause"], event["next"]) for event in events if event["type"] == "failover"]
    assert moves[0] == ("provider dead sent nothing for 120 s", "other/m")
    assert len(other.bodies) == 2


async def test_a_plan_has_its_time_in_all_whoever_is_asked(workspace: Path, clock: LoopClock) -> None:
    async with held_provider(thinks(clock, 1000, LISTING)) as model:
        brief = settings(workspace, model.url, planner={"attempts": 9, "timeout_s": 0.5})
        ended, _ = await ask(brief)
    assert "there was no plan after 0.5 s" in ended["answer"]
    assert ended["answer"].endswith("raise planner.timeout_s")
    assert len(model.bodies) <= 1


async def as_time_passes(
    asking: asyncio.Task[tuple[dict[str, Any], list[dict[str, Any]]]], clock: LoopClock
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Let time pass until a run has ended."""
    while not asking.done():
        await clock.passed(5)
        await asyncio.wait({asking}, timeout=0.001)
    return asking.result()


async def test_who_takes_no_connection_is_given_up_soon_and_costs_nothing(
    workspace: Path, clock: LoopClock
) -> None:
    with ExitStack() as open_sockets:
        deaf = open_sockets.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(8):  # nobody accepts them: the next has to wait
            client = open_sockets.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(deaf.getsockname())
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/v1"
        asking = asyncio.create_task(ask(settings(workspace, url)))
        ended, events = await as_time_passes(asking, clock)
    assert "provider local is unreachable" in ended["answer"]
    assert "no connection within 15 s" in ended["answer"]
    (call,) = (event for event in events if event["type"] == "llm_call")
    assert (call["input_tokens"], call["output_tokens"]) == (0, 0)


class Hanging(BaseChatModel):
    """A model of a program's own that never replies."""

    @property
    def _llm_type(self) -> str:
        return "hanging"

    def _generate(self, messages: list[BaseMessage], *rest: Any, **more: Any) -> ChatResult:
        raise NotImplementedError

    async def _agenerate(self, messages: list[BaseMessage], *rest: Any, **more: Any) -> ChatResult:
        await asyncio.Event().wait()
        raise NotImplementedError


async def test_a_model_of_a_program_has_the_times_of_a_provider(workspace: Path, clock: LoopClock) -> None:
    asked = settings(workspace, "http://127.0.0.1:1/v1")
    ended, _ = await as_time_passes(asyncio.create_task(ask(asked, Hanging())), clock)
    assert "provider given sent nothing for 600 s" in ended["answer"]
    assert ended["answer"].endswith("try again later")


async def test_a_crowd_is_asked_in_turn_and_nobody_is_given_up_for_it(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    async def speech(send: Send) -> None:
        for _ in range(50):
            await asyncio.sleep(0)
        await send(word(LISTING) + end())

    async with held_provider(speech) as model:
        own = {"max_concurrent": 3, "idle_timeout_s": 0.5}
        agent = build_graph(settings(workspace, model.url, local=own))
        try:
            message = {"messages": [("user", QUESTION)]}
            configs: list[Any] = [{"configurable": {"thread_id": f"t{number}"}} for number in range(40)]
            ended = await asyncio.gather(*(agent.ainvoke(message, config) for config in configs))
        finally:
            await agent.aclose()
    assert [run["status"] for run in ended] == ["completed"] * 40
    assert model.most_at_once == 3
    assert len(model.bodies) == 80
    with closing(opened_store(workspace / ".planwright")) as connection:
        query = "SELECT count(*) FROM journal WHERE type IN ('failover', 'thinking')"
        assert connection.execute(query).fetchone()[0] == 0
