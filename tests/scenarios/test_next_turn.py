"""A run that has ended is no longer in the way of the next one, whoever still holds its stream."""

from __future__ import annotations

from planwright.capabilities.declaration import capability
from tests.scenarios.conftest import Scene


async def test_the_next_run_begins_before_the_stream_of_the_last_one_is_read_to_its_end(scene: Scene) -> None:
    first = scene.agent(scene.plan(scene.step("s1", "work.read")), "the first answer")
    stream = first.astream({"messages": [("user", "Read")]}, scene.config, stream_mode="values")
    async for state in stream:
        if state.get("status") == "completed" and scene.rows("SELECT 1 FROM runs WHERE ended_at IS NOT NULL"):
            break
    rest: list[object] = []

    @capability("work.wait", mode="read_only", trusted_result=True)
    async def wait(name: str) -> str:
        """Read the stream of the first run to its end, while the second one runs."""
        rest.append([chunk async for chunk in stream])
        return name

    plan = scene.plan(scene.step("s2", "work.wait"))
    second = scene.agent('{"task": "again"}', plan, "the second answer", capabilities=[wait])
    output = await second.ainvoke({"messages": [("user", "Read again")]}, scene.config)
    assert rest == [[]]
    assert output["status"] == "completed"
    assert scene.rows("SELECT status FROM runs ORDER BY rowid") == [{"status": "completed"}] * 2
