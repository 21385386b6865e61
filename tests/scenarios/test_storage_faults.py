"""A store that fails in the middle of a run: the run stops, nothing is planned anew, and it goes on."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from planwright.domain.errors import StoreFailed
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.records.ownership.cancelling import cancel
from planwright.records.records import open_records
from planwright.records.stores import open_stores
from planwright.settings.settings import load
from planwright.upkeep.store_check import check_store

pytestmark = [pytest.mark.sqlite, pytest.mark.long]

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene


class Lock:
    """Another program that locks a file of the store before a job of some name, until it lets go."""

    def __init__(self, scene: Scene, job: str) -> None:
        self._path = scene.workspace / ".planwright" / "planwright.db"
        self._before = f"{self._path.stem}: before "
        self._job = job
        self._connection: sqlite3.Connection | None = None
        self.armed, self.briefly = True, False

    def boundary(self, name: str) -> None:
        """Lock the file once, before the job; `briefly` until that has failed."""
        if self.briefly and self._connection and "after" in name:
            self.let_go()
        if self.armed and name.startswith(self._before) and self._job in name.split(" ")[-1].split("+"):
            self.armed = False
            self._connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            self._connection.execute("BEGIN IMMEDIATE")

    def let_go(self) -> None:
        """Unlock the file."""
        assert self._connection is not None, "nothing was locked"
        self._connection.close()


@pytest.fixture
def beside(scene: Scene) -> Callable[..., tuple[Agent, Lock]]:
    """Build an agent whose store another program locks before a job."""

    def build(job: str, *replies: Any, **options: Any) -> tuple[Agent, Lock]:
        lock = Lock(scene, job)
        settings = load(scene.workspace, approval={"plan": "never"}, **options)
        stores = open_stores(settings.store_folder, busy_timeout_s=0.1, boundary=lock.boundary)
        agent = build_graph(settings, model=ScriptedModel(replies=list(replies)), stores=stores)
        scene.agents.append(agent)
        return agent, lock

    return build


BEFORE_PLANNING = ["writes", "checkpoint"]
JOBS = ["intent", "done", "step", "plan", *BEFORE_PLANNING]


@pytest.mark.parametrize("job", JOBS)
def test_the_run_stops_and_goes_on_with_every_effect_once(
    scene: Scene, beside: Callable[..., tuple[Agent, Lock]], job: str
) -> None:
    steps = [scene.step("s1", "work.transfer"), scene.step("s2", "work.transfer", "s1")]
    # A reply that comes after a row was refused is not recorded: a planner is asked again.
    plans = [scene.plan(*steps)] * (2 if job in BEFORE_PLANNING else 1)
    agent, lock = beside(job, *plans, "the answer", "never asked")
    with pytest.raises(StoreFailed, match=r"is locked by another program; run run_\w+ is paused") as stopped:
        scene.ask(agent)
    assert f"nothing is done twice: planwright resume {scene.thread}" in stopped.value.next_step
    lock.let_go()
    output = scene.recover(agent)
    assert output["status"] == "completed"
    assert [line for line in scene.done if not line.startswith("looked")] == ["s1", "s2"]
    assert [row["status"] for row in scene.rows("SELECT status FROM effects")] == ["done", "done"]
    assert len(scene.rows("SELECT DISTINCT plan_hash FROM plans")) == 1


def test_a_blind_effect_whose_record_was_lost_is_put_before_a_person(
    scene: Scene, beside: Callable[..., tuple[Agent, Lock]]
) -> None:
    plan = scene.plan(scene.step("s1", "work.engrave"))
    agent, lock = beside("done", plan, "the answer")
    with pytest.raises(StoreFailed):
        scene.ask(agent)
    lock.let_go()
    scene.recover(agent)
    (asked,) = agent.get_state(scene.config).interrupts
    assert asked.value["kind"] == "escalation"
    output = scene.decide(agent, "respond", '{"text": "s1 seen there", "turn": 1}')
    assert (output["status"], scene.done) == ("completed", ["s1"])


def test_a_call_of_the_loop_is_not_made_again_by_the_model(
    scene: Scene, beside: Callable[..., tuple[Agent, Lock]]
) -> None:
    calls = scene.calls(("work__transfer", {"name": "s1"}), ("work__write", {"name": "s2"}))
    agent, lock = beside("done", calls, "all done", planning={"mode": "auto"})
    with pytest.raises(StoreFailed):
        scene.ask(agent, "Transfer s1 and write s2")
    lock.let_go()
    output = scene.recover(agent)
    assert (output["status"], output["answer"]) == ("completed", "all done")
    assert sorted(line for line in scene.done if not line.startswith("looked")) in (
        ["s1", "s2"],
        ["s1", "s2", "s2"],
    )
    assert [row["status"] for row in scene.rows("SELECT status FROM effects")] == ["done", "done"]


def test_a_paused_run_says_so_and_why(scene: Scene, beside: Callable[..., tuple[Agent, Lock]]) -> None:
    agent, lock = beside("verdict", scene.plan(scene.step("s1", "work.read")), "done")
    lock.briefly = True
    with pytest.raises(StoreFailed):
        scene.ask(agent)
    (run,) = scene.rows("SELECT status, paused_for, lease_until FROM runs")
    assert run == {"status": "paused", "paused_for": "storage", "lease_until": 0}
    scene.recover(agent)
    (run,) = scene.rows("SELECT status, paused_for FROM runs")
    assert run == {"status": "completed", "paused_for": None}


ENGRAVE = ("work__engrave", {"name": "s1"})


@pytest.fixture(params=["plan", "loop"])
def done_unsettled(scene: Scene, request: pytest.FixtureRequest) -> Agent:
    """Kill a process in whose run an effect is done, and how its step ended is not on record."""
    planned = request.param == "plan"
    reply = scene.plan(scene.step("s1", "work.engrave")) if planned else scene.calls(ENGRAVE)
    settings = {"approval": {"plan": "never"}, "planning": {"mode": "always" if planned else "auto"}}
    entry = scene.entry(message="Engrave s1")
    scene.child(entry, replies=[reply], settings=settings, die_at="step", die_when="before")
    assert scene.rows("SELECT status FROM effects") == [{"status": "done"}]
    return scene.agent("the answer", **settings)


def told_right(scene: Scene, agent: Agent) -> None:
    """Check that the run tells of the effect, and that its records agree."""
    (step,) = scene.rows("SELECT status, result FROM steps")
    assert (step["status"], json.loads(step["result"])["output"]["text"]) == ("completed", "s1 engraved")
    assert scene.done == ["s1"]
    agent.close()
    assert [found.problem for found in check_store(scene.workspace / ".planwright")] == []


def test_what_was_done_before_a_cancel_is_told_as_done(scene: Scene, done_unsettled: Agent) -> None:
    done_unsettled.cancel(scene.thread, by="ada")
    told_right(scene, done_unsettled)


def test_a_cancel_from_outside_leaves_it_to_whoever_goes_on(scene: Scene, done_unsettled: Agent) -> None:
    with closing(open_records(scene.workspace / ".planwright")) as records:
        run = asyncio.run(cancel(records, scene.thread, "ada"))
    assert not run.ended
    scene.recover(done_unsettled)
    told_right(scene, done_unsettled)


@pytest.mark.parametrize(
    "late", [{"budgets": {"run": {"wall_clock_s": 0}}}, {"capabilities": {"prohibit": ["work.engrave"]}}]
)
def test_what_was_done_is_told_as_done_when_it_would_not_be_done_any_more(
    scene: Scene, done_unsettled: Agent, late: dict[str, Any]
) -> None:
    done_unsettled.close()
    agent = scene.agent("the answer", "the answer", **late)
    if scene.recover(agent)["status"] == "budget_exceeded":  # put down, until it is given more
        agent.extend(scene.thread, {"wall_clock_s": 600})
        scene.recover(agent)
    told_right(scene, agent)


def test_a_fault_before_an_answer_is_taken_up_says_so_and_how_to_go_on(
    scene: Scene, beside: Callable[..., tuple[Agent, Lock]]
) -> None:
    agent, lock = beside("lease", scene.plan(scene.step("s1", "work.wipe")), "the answer")
    lock.armed = False
    scene.ask(agent)
    lock.armed = True
    with pytest.raises(StoreFailed, match="is locked by another program; nothing was done") as stopped:
        scene.decide(agent, "approve")
    assert f"planwright resume {scene.thread}" in stopped.value.next_step
    lock.let_go()
    scene.decide(agent, "approve")
    assert scene.done == ["s1"]


RESULTS = "writes WHERE task_id IN (SELECT task_id FROM writes WHERE channel = 'results')"


def test_the_end_of_a_step_is_told_when_a_crash_came_before(scene: Scene) -> None:
    (scene.workspace / "die-s2").touch()
    steps = [scene.step("s1", "work.transfer"), scene.step("s2", "work.transfer", "s1")]
    never = {"approval": {"plan": "never"}}
    scene.child(scene.entry(message="Do it"), replies=[scene.plan(*steps)], settings=never, dies=True)
    with closing(sqlite3.connect(scene.workspace / ".planwright" / "planwright.db")) as db, db:
        for lost in ("journal WHERE type = 'plan_step_complete'", RESULTS):
            db.execute(f"DELETE FROM {lost}")
    scene.recover(scene.agent("the answer", **never))
    told = [event["data"]["step_id"] for event in scene.journal() if event["type"] == "plan_step_complete"]
    assert sorted(told) == ["s1", "s2"]


@pytest.mark.parametrize("earlier", [[], ["completed"]], ids=["new thread", "thread with a run"])
def test_a_disk_that_is_full_before_a_run_is_on_record_says_to_run_it_again(
    scene: Scene, earlier: list[str]
) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.read")), "done")
    if earlier:
        scene.ask(agent)

    def limit(pages: int) -> None:  # no less than there are
        pragma = f"PRAGMA max_page_count = {pages}"
        agent.stores.database.call("limit", lambda connection: connection.execute(pragma).fetchone())

    limit(1)
    with pytest.raises(StoreFailed, match=r"there is no space left for .*; nothing was done") as refused:
        scene.ask(agent, "x" * 50_000)
    assert refused.value.next_step == "free space; nothing is lost; then run it again: it is not on record"
    limit(1_000_000)
    assert [row["status"] for row in scene.rows("SELECT status FROM runs")] == earlier
