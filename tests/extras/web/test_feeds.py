"""Feeds: one reader for all viewers, who hear all of it first and then what has changed."""

from __future__ import annotations

import asyncio
import json
from functools import partial

from langgraph.types import Command

from planwright.extras.web.feeds import MOST_UNREAD, Feed, RunFollower
from planwright.records.history.run_records import run_named, run_pulse
from tests.extras.web.conftest import MakeStage


async def test_many_viewers_share_one_reader_and_a_late_one_hears_all() -> None:
    looks = 0

    async def look() -> dict[str, str]:
        nonlocal looks
        looks += 1
        return {"same": "x", "count": str(looks)}

    feed = Feed(look)
    viewers = [feed.follow() for _ in range(50)]
    firsts = [json.loads(text) for text in await asyncio.gather(*(anext(viewer) for viewer in viewers))]
    assert firsts == [{"same": "x", "count": "1"}] * 50
    assert looks == 1
    late = feed.follow()
    assert json.loads(await anext(late)) == {"same": "x", "count": "1"}
    assert json.loads(await anext(viewers[0])) == {"count": "2"}
    for viewer in (*viewers, late):
        await viewer.aclose()
    assert feed.over


async def test_a_viewer_that_does_not_keep_up_is_let_go() -> None:
    feed = Feed(lambda: asyncio.sleep(0, {}))
    slow = feed.follow()
    waiting = asyncio.ensure_future(anext(slow))
    await asyncio.sleep(0)
    feed._tell({"n": "0"})
    assert json.loads(await waiting) == {"n": "0"}
    for number in range(1, MOST_UNREAD + 1):
        feed._tell({"n": str(number)})
    assert not feed.over
    feed._tell({"n": "one too many"})
    assert feed.over
    assert [text async for text in slow] == []


async def test_who_looks_at_a_run_hears_of_a_decision_that_another_process_made(
    make_stage: MakeStage,
) -> None:
    stage = make_stage()
    ada = await stage.sign_in()
    run_id, gate_id = await stage.waiting_gate(ada)
    run = await stage.parts.read(run_named, run_id, "default")
    assert run is not None
    viewers = [stage.parts.live.run(run) for _ in range(3)]
    for viewer in viewers:
        assert "It waits for a decision" in json.loads(await anext(viewer))["head"]
    answer: Command[str] = Command(resume={"type": "reject", "gate_id": gate_id})
    await stage.agent.ainvoke(answer, {"configurable": {"thread_id": run.thread_id}})  # not over the page
    for viewer in viewers:
        async for text in viewer:
            if "rejected" in json.loads(text).get("head", ""):
                break
        await viewer.aclose()


async def test_pieces_of_an_answer_show_before_it_is_on_record(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in()
    run_id, _ = await stage.waiting_gate(ada)
    run = await stage.parts.read(run_named, run_id, "default")
    assert run is not None
    viewer = stage.parts.live.run(run)
    assert "Answer" not in json.loads(await anext(viewer))["answer"]
    stage.parts.live.hear(run.thread_id, "Once ", "m1")
    stage.parts.live.hear(run.thread_id, "upon", "m1")
    stage.parts.live.hear("another thread", "nothing", "m2")
    assert "Once upon" in json.loads(await anext(viewer))["answer"]
    await viewer.aclose()


async def test_a_run_whose_process_has_died_moves_though_nothing_is_written(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in()
    run_id, _ = await stage.waiting_gate(ada)
    held = True
    follower = RunFollower(partial(stage.parts.read, run_pulse, run_id), lambda _: held)
    assert await follower.next() is not None
    assert await follower.next() is None
    held = False
    assert await follower.next() is not None
    assert await follower.next() is None
