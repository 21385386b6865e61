"""A process dies when what the tasks of a superstep wrote is on record, and the next checkpoint is not."""

from __future__ import annotations

import asyncio
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import pytest

from planwright.domain.errors import RunError
from planwright.records.ownership.cancelling import cancel
from planwright.records.records import open_records
from tests.opened_store import store_url

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

UNGATED = {"approval": {"plan": "never"}}
APPROVE = {"decisions": [{"type": "approve"}]}
BEGUN, APPROVED, INSIDE = 11, 7, 17
"""Checkpoints of the run of these tests: of all of it, from its approval on, and inside of another graph."""


def plan(scene: Scene) -> str:
    return scene.plan(scene.step("s1", "work.read"), scene.step("s2", "work.write", "s1"))


@pytest.mark.parametrize("number", range(2, BEGUN + 1))
def test_a_run_goes_on_from_what_its_tasks_wrote(scene: Scene, number: int) -> None:
    job = {"replies": [plan(scene), "the answer"], "settings": UNGATED}
    scene.child(scene.entry(message="Do it"), die_short_of=number, **job)
    (output,) = scene.child(scene.entry(), **job)["outputs"]
    assert output.get("status") == "completed", output
    assert scene.done == ["s1", "s2"]


@pytest.mark.parametrize("number", range(1, APPROVED + 1))
def test_a_run_that_was_approved_goes_on_from_what_its_tasks_wrote(scene: Scene, number: int) -> None:
    settings = {"approval": {"plan": "always"}}
    scene.child(scene.entry(message="Do it"), replies=[plan(scene)], settings=settings)
    job = {"replies": ["the answer"], "settings": settings}
    scene.child(scene.entry(resume=APPROVE), die_short_of=number, **job)
    (output,) = scene.child(scene.entry(), **job)["outputs"]
    assert output.get("status") == "completed", output
    assert scene.done == ["s1", "s2"]


@pytest.mark.parametrize("number", range(2, INSIDE + 1))
def test_a_run_inside_of_another_graph_goes_on_from_what_its_tasks_wrote(scene: Scene, number: int) -> None:
    """That graph keeps its checkpoints elsewhere: none of them is durable before what it leans on."""
    job = {"replies": [plan(scene), "the answer"], "settings": UNGATED, "inside": True}
    scene.child(scene.entry(message="Do it"), die_short_of=number, **job)
    (output,) = scene.child(scene.entry(), **job)["outputs"]
    assert output.get("status") == "completed", output
    assert scene.done == ["s1", "s2"]


@pytest.mark.parametrize("number", range(2, BEGUN + 1))
@pytest.mark.parametrize("then", ["read", "asked anew"])
def test_a_run_that_was_cancelled_from_outside_is_closed(scene: Scene, number: int, then: str) -> None:
    job = {"replies": [plan(scene), "the answer"], "settings": UNGATED}
    scene.child(scene.entry(message="Do it"), die_short_of=number, **job)
    before = scene.done
    records = open_records(scene.workspace / ".planwright", url=store_url())
    with closing(records), suppress(RunError):  # it may have ended
        asyncio.run(cancel(records, scene.thread, "kim"))
    agent = scene.agent("hello", planning={"mode": "never"})
    if then == "asked anew":
        assert scene.ask(agent)["answer"] == "hello"
    elif number == 2:
        with pytest.raises(RunError, match="nothing of it is on its thread"):
            agent.invoke(None, scene.config)
    else:  # the thread of a run that was ended from outside has an answer of its own
        output = agent.invoke(None, scene.config)
        assert [output["status"]] == [run["status"] for run in scene.rows("SELECT status FROM runs")]
    assert scene.done == before
