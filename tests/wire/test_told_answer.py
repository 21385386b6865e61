"""The answer that was told is the answer, whatever comes between it and the end of its run."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from planwright.domain.run_context import RunContext
from planwright.extras.web.application import build_application
from planwright.extras.web.parts import WebParts
from planwright.graph.building import build_graph
from planwright.security.credentials import read_credentials
from planwright.settings.settings import load
from tests.cli.desk import Desk, wait_until
from tests.cli.picture import picture
from tests.cli.typist import Typist
from tests.patience import PATIENCE_S
from tests.scenarios.conftest import said
from tests.wire.asking import LISTING
from tests.wire.held_server import HeldProvider, Send, end, held_provider, word

pytestmark = pytest.mark.enable_socket
REQUEST = "I prefer short answers. What tickets are open?"
HALVES = ("Four tickets ", "are open:\n" + "\n".join(f"- ticket number {n}" for n in range(20)))
ANSWER = "".join(HALVES)
ON_SCREEN = indent(ANSWER, "  ")  # so that no line of it can pass for one of ours
NOTHING_TO_REMEMBER = json.dumps({"memories": []})


@dataclass
class Held:
    """A model that says half of its answer, the rest, and what could be remembered, each when it may.

    `asked` is set when it is asked for memories.
    """

    rest: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    memory: asyncio.Event = field(default_factory=asyncio.Event)
    provider: HeldProvider = field(default_factory=HeldProvider)

    def let_go(self) -> None:
        """Hold nothing any more."""
        self.rest.set()
        self.memory.set()


@asynccontextmanager
async def held(folder: Path, planned: str = LISTING, halves: tuple[str, str] = HALVES) -> AsyncIterator[Held]:
    """Serve a workspace by such a model."""
    model = Held()

    async def plan(send: Send) -> None:
        await send(word(planned) + end())

    async def answer(send: Send) -> None:
        await send(word(halves[0]))
        await model.rest.wait()
        await send(word(halves[1]) + end())

    async def memory(send: Send) -> None:
        model.asked.set()
        await model.memory.wait()
        await send(word(NOTHING_TO_REMEMBER) + end())

    async with held_provider(plan, answer, memory) as model.provider:
        (folder / "planwright.toml").write_text(
            f'[planning]\nmode = "always"\n[providers.local]\nbase_url = "{model.provider.url}"\n'
            'api_key = "k"\nmodel = "m"\n',
            "utf-8",
        )
        try:
            yield model
        finally:
            model.let_go()


async def shows(typist: Typist, text: str) -> None:
    """Read until a text is sent to the screen, while the server goes on."""
    await asyncio.to_thread(typist.read_until, text)


def times_shown(typist: Typist) -> int:
    """Count how often the whole answer stands on the screen as it is now."""
    return "\n".join(picture(typist.screen)).count(ON_SCREEN)


async def has_answered(typist: Typist, model: Held) -> None:
    """Wait until the whole answer is on the screen, and nothing more is waited for but memories."""
    await shows(typist, "are open:\n  - ticket number 0\n  - ticket number 1\n")
    await shows(typist, "- ticket number 19\n")
    await asyncio.wait_for(model.asked.wait(), PATIENCE_S)
    assert (times_shown(typist), model.provider.at_once) == (1, 1)


async def test_the_answer_is_told_before_what_could_be_remembered_is_looked_for(workspace: Path) -> None:
    async with held(workspace) as model, asyncio.timeout(PATIENCE_S):
        model.rest.set()
        agent = build_graph(load(workspace))
        config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}
        kinds = []
        async for event in agent.astream({"messages": [("user", REQUEST)]}, config, stream_mode="custom"):
            kinds.append(event["type"])
            if event["type"] == "agent_message":
                assert event["data"]["content"] == ANSWER
                run = await agent.stores.runs.latest(config["configurable"]["thread_id"])
                assert run is not None
                assert (run.status, run.answer) == ("running", ANSWER)
                model.memory.set()
        await agent.aclose()
    assert kinds[-4:] == ["agent_message", "llm_call", "budget_update", "run_end"]


@pytest.mark.parametrize("size", [(80, 24), None], ids=["drawn", "plain"])
async def test_a_terminal_shows_the_answer_while_the_run_goes_on(
    workspace: Path, size: tuple[int, int] | None
) -> None:
    async with held(workspace) as model:
        with Typist(workspace, "run", REQUEST, size=size) as typist:
            if size:
                await shows(typist, "Four tickets")
                assert "are open:" not in typist.screen
            model.rest.set()
            await has_answered(typist, model)
            assert "completed" not in typist.screen
            model.memory.set()
            code, _ = await asyncio.to_thread(typist.finish)
    assert code == 0
    assert "completed" in typist.screen
    assert times_shown(typist) == 1


async def test_a_conversation_shows_words_as_they_come(workspace: Path) -> None:
    async with held(workspace) as model:
        with Typist(workspace, "chat", size=(80, 24)) as typist:
            await shows(typist, "› ")
            typist.type(f"{REQUEST}\n")
            await shows(typist, "Four tickets")
            assert "are open:" not in typist.screen
            model.rest.set()
            await has_answered(typist, model)
            model.memory.set()
            typist.type("\x04")
            code, _ = await asyncio.to_thread(typist.finish)
    assert code == 0
    assert times_shown(typist) == 1


async def test_a_code_that_is_cut_between_two_pieces_does_nothing_to_a_terminal(workspace: Path) -> None:
    async with held(workspace, halves=("Half \x1b", "[2J and \x1b]0;owned\x07 whole")) as model:
        with Typist(workspace, "run", REQUEST, size=(80, 24)) as typist:
            await shows(typist, "Half \\x1b")
            model.let_go()
            await shows(typist, "Half \\x1b[2J and \\x1b]0;owned\\x07 whole\n")
            await asyncio.to_thread(typist.finish)
    assert "\x1b[2J" not in typist.screen
    assert "\x1b]0;" not in typist.screen


async def test_a_pipe_gets_the_answer_once_and_before_the_end(workspace: Path) -> None:
    async with held(workspace) as model:
        model.rest.set()
        with Desk(workspace).begin("run", REQUEST) as process:
            assert await asyncio.to_thread(wait_until, lambda: process.stdout == f"{ANSWER}\n")
            await asyncio.wait_for(model.asked.wait(), PATIENCE_S)
            assert model.provider.at_once == 1
            model.memory.set()
            assert await asyncio.to_thread(process.wait, PATIENCE_S) == 0
            assert process.stdout == f"{ANSWER}\n"


async def killed_behind_the_answer(workspace: Path, model: Held) -> str:
    """Have a run killed once its answer is shown; return its thread."""
    model.rest.set()
    with Typist(workspace, "run", REQUEST) as typist:
        await has_answered(typist, model)
        typist.kill()
        await asyncio.to_thread(typist.finish)
    ((thread,),) = Desk(workspace).rows("SELECT thread_id FROM runs WHERE ended_at IS NULL")
    return str(thread)


async def test_a_run_that_is_killed_behind_its_answer_ends_with_it(workspace: Path) -> None:
    desk = Desk(workspace)
    async with held(workspace) as model:
        thread = await killed_behind_the_answer(workspace, model)
        model.memory.set()
        done = await asyncio.to_thread(desk.run, "resume", thread)
    assert (done.code, done.stdout) == (0, f"{ANSWER}\n")
    roles = [role_of(body) for body in model.provider.bodies]
    assert roles == ["plan", "answer", "memories", "memories"]
    assert desk.rows("SELECT status, answer FROM runs") == [("completed", ANSWER)]
    assert told(desk) == [ANSWER]
    assert (await asyncio.to_thread(desk.run, "db", "check")).code == 0


async def test_a_run_that_is_cancelled_behind_its_answer_keeps_it(workspace: Path) -> None:
    desk = Desk(workspace)
    async with held(workspace) as model:
        thread = await killed_behind_the_answer(workspace, model)
        await asyncio.to_thread(desk.run, "cancel", thread)
    assert desk.rows("SELECT status, answer FROM runs") == [("cancelled", ANSWER)]
    assert told(desk) == [ANSWER]
    assert (await asyncio.to_thread(desk.run, "db", "check")).code == 0
    agent = build_graph(load(workspace))
    try:
        ended = await agent.ainvoke(None, {"configurable": {"thread_id": thread}})
    finally:
        await agent.aclose()
    assert [message.text for message in said(ended["messages"])] == [REQUEST, ANSWER]


def told(desk: Desk) -> list[str]:
    """List the answers in the journal."""
    rows = desk.rows("SELECT data FROM journal WHERE type = 'agent_message'")
    return [json.loads(data)["content"] for (data,) in rows]


def role_of(body: dict[str, Any]) -> str:
    """Say what a request asks for."""
    text = json.dumps(body["messages"])
    return "memories" if "<known>" in text else "answer" if "<results" in text else "plan"


async def test_words_of_a_last_step_are_a_message_before_memories_are_looked_for(workspace: Path) -> None:
    written = json.dumps({"goal": "Tell of tickets", "steps": [{"id": "s1", "description": "say which"}]})
    pieces: list[str] = []
    async with held(workspace, written) as model, asyncio.timeout(PATIENCE_S):
        model.rest.set()
        agent = build_graph(load(workspace))
        config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}
        entry = {"messages": [("user", REQUEST)]}
        async for piece, _ in agent.astream(entry, config, stream_mode="messages"):
            pieces.extend(message.text for message in said([piece]))
            if piece.text == ANSWER:
                model.memory.set()
        await agent.aclose()
    assert pieces == [ANSWER]


async def test_the_page_shows_the_answer_while_the_run_goes_on(workspace: Path) -> None:
    async with held(workspace) as model:
        settings = load(workspace)
        agent = build_graph(settings)
        app = build_application(settings, agent, read_credentials(settings, "s" * 43))
        parts: WebParts = app.state.parts
        thread = str(uuid.uuid4())
        await parts.here.enter({"messages": [("user", REQUEST)]}, thread, RunContext(channel="web"))
        run = await agent.stores.runs.latest(thread)
        assert run is not None
        viewer = parts.live.run(run)
        shown = ""
        async with asyncio.timeout(PATIENCE_S):
            while "Four tickets" not in shown:
                shown = json.loads(await anext(viewer)).get("answer", shown)
            assert "are open:" not in shown
            model.rest.set()
            await model.asked.wait()
            while "ticket number 19" not in shown:
                shown = json.loads(await anext(viewer)).get("answer", shown)
            told = await agent.stores.runs.latest(thread)
        assert told is not None
        assert (told.status, told.answer, model.provider.at_once) == ("running", ANSWER, 1)
        await viewer.aclose()
        model.memory.set()
        await parts.here.close()
        await agent.aclose()
