"""A run over the page: followed, cancelled, taken up again, forked, undone, and looked back on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.outputs import ChatGenerationChunk

from planwright.capabilities.declaration import capability
from planwright.domain.run_context import RunContext
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.records.consent.gate import Decision
from tests.extras.web.conftest import WRITE, MakeStage
from tests.loop_clock import LoopClock


@capability("own.work", mode="local_write", risk="Medium", effect="idempotent")
def work() -> dict[str, str]:
    """Do what only one program can."""
    return {"done": "yes"}


TWO: list[dict[str, Any]] = [
    WRITE,
    {**WRITE, "id": "s2", "depends_on": ["s1"], "params": {"title": "Second"}},
]


async def test_who_asks_for_the_head_of_a_stream_follows_nothing(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in("a" * 43)
    run_id, _ = await stage.waiting_gate(ada)
    assert (await ada.client.head(f"/runs/{run_id}/events")).status_code == 200
    assert stage.parts.live._runs == {}


class Thinking(ScriptedModel):
    """A model that says nothing until it is let."""

    goes_on: asyncio.Event

    async def _astream(self, *asked: Any, **more: Any) -> AsyncIterator[ChatGenerationChunk]:
        await self.goes_on.wait()
        async for chunk in super()._astream(*asked, **more):
            yield chunk


async def test_a_model_that_thinks_is_seen_to_until_it_has_replied(make_stage: MakeStage) -> None:
    goes_on, clock = asyncio.Event(), LoopClock(asyncio.get_running_loop())
    plan = json.dumps({"goal": "the goal", "steps": [WRITE]})
    stage = make_stage(model=Thinking(replies=[plan, "the answer"], goes_on=goes_on))
    ada = await stage.sign_in()
    path = (await ada.post("/new", request="Do it")).headers["location"]
    await clock.passed(40)
    while 'thinking, <time datetime="' not in (await ada.get(path)).text:
        await clock.passed(1)
    goes_on.set()
    await stage.open_gate(path.rsplit("/", 1)[1])
    assert "thinking" not in (await ada.get(path)).text


async def test_a_run_is_cancelled_in_the_name_of_who_is_signed_in(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in("a" * 43)
    run_id, gate_id = await stage.waiting_gate(ada)
    assert (await ada.post(f"/runs/{run_id}/cancel")).status_code == 303
    assert await stage.ended(run_id) == "cancelled"
    run = await stage.agent.stores.runs.read(run_id)
    assert run is not None
    assert run.cancelled_by == "ada"
    late = await stage.answer(ada, gate_id, "approve")
    assert (late.status_code, "cancelled" in late.text) == (409, True)
    assert (await ada.post(f"/runs/{run_id}/resume")).status_code == 409


async def test_a_run_that_was_decided_elsewhere_and_left_is_gone_on_with(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in()
    run_id, gate_id = await stage.waiting_gate(ada)
    decision = Decision(answer="approve", decided_by="python", channel="python")
    await stage.agent.stores.gates.decide(gate_id, decision, stage.agent.door.clock())
    assert (await ada.post(f"/runs/{run_id}/resume")).status_code == 303
    assert await stage.ended(run_id) == "completed"


async def test_what_a_run_did_is_looked_at_and_undone_by_a_run_that_asks(make_stage: MakeStage) -> None:
    stage = make_stage(TWO)
    ada = await stage.sign_in()
    run_id, gate_id = await stage.waiting_gate(ada)
    await stage.answer(ada, gate_id, "approve")
    assert await stage.ended(run_id) == "completed"
    look = (await ada.get(f"/runs/{run_id}/undo")).text
    assert look.count("undone by") == 2
    begun = await ada.post(f"/runs/{run_id}/undo", without="s1")
    undoing = begun.headers["location"].rsplit("/", 1)[1]
    await stage.answer(ada, await stage.open_gate(undoing), "approve")
    assert await stage.ended(undoing) == "completed"
    assert f'undoes <a href="/runs/{run_id}"' in (await ada.get(f"/runs/{undoing}")).text
    effects = await stage.agent.stores.undos.effects_of(run_id)
    assert [effect.undone_by == undoing for effect in effects] == [False, True]
    assert (await ada.get("/effects")).text.count("undone by") == 1


async def test_a_fork_keeps_what_is_done_and_runs_chosen_steps_again(make_stage: MakeStage) -> None:
    stage = make_stage(TWO)
    ada = await stage.sign_in()
    run_id, gate_id = await stage.waiting_gate(ada)
    await stage.answer(ada, gate_id, "approve")
    await stage.ended(run_id)
    begun = await ada.post(f"/runs/{run_id}/fork", rerun="s2")
    fork = begun.headers["location"].rsplit("/", 1)[1]
    assert "not run again" in (await ada.get(f"/approvals/{await stage.open_gate(fork)}")).text
    assert f"/runs/{fork}" in (await ada.get(f"/runs/{run_id}")).text


async def test_a_moment_of_a_run_shows_nothing_of_later(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in()
    run_id, gate_id = await stage.waiting_gate(ada)
    await stage.answer(ada, gate_id, "approve")
    await stage.ended(run_id)
    early = (await ada.get(f"/runs/{run_id}/at/2")).text
    assert "the answer" not in early
    assert "Cables" not in early
    late = (await ada.get(f"/runs/{run_id}/at/9999")).text
    assert "the answer" in late


async def test_a_run_of_python_is_followed_and_its_gate_answered_over_the_page(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in()
    config: Any = {"configurable": {"thread_id": "monday"}}
    await stage.agent.ainvoke({"messages": [("user", "Do it")]}, config, context=RunContext())
    gates = await stage.agent.stores.gates.of_thread("monday")
    assert "Do it" in (await ada.get("/approvals")).text
    await stage.answer(ada, gates[0].gate_id, "approve")
    assert await stage.ended(gates[0].run_id) == "completed"
    out = await stage.agent.ainvoke(None, config)
    assert out["answer"] == "the answer"


async def test_runs_of_several_visitors_go_on_at_once(make_stage: MakeStage) -> None:
    stage = make_stage(rounds=12)
    ada = await stage.sign_in()
    waiting = [await stage.waiting_gate(ada, f"Number {n}") for n in range(4)]
    for _, gate_id in waiting:
        assert (await stage.answer(ada, gate_id, "approve")).status_code == 303
    assert [await stage.ended(run_id) for run_id, _ in waiting] == ["completed"] * 4
    assert not await stage.agent.stores.gates.waiting()


async def test_words_to_a_run_that_has_ended_begin_the_next_of_its_thread(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in()
    run_id, gate_id = await stage.waiting_gate(ada)
    await stage.answer(ada, gate_id, "reject", message="no")
    await stage.ended(run_id)
    assert (await ada.post(f"/runs/{run_id}/reply", message="  ")).status_code == 409
    answer = await ada.post(f"/runs/{run_id}/reply", message="The long ones")
    assert answer.headers["location"] != f"/runs/{run_id}"
    page = (await ada.get(answer.headers["location"])).text
    assert "The long ones" in page


async def test_a_decision_over_a_run_that_only_another_process_can_go_on_with_is_on_record(
    make_stage: MakeStage,
) -> None:
    stage = make_stage()
    ada = await stage.sign_in("a" * 43)
    steps = json.dumps({"goal": "g", "steps": [{"id": "s1", "capability": "own.work", "params": {}}]})
    async with build_graph(
        stage.parts.settings, model=ScriptedModel(replies=[steps, "done"]), capabilities=[work]
    ) as other:
        config: Any = {"configurable": {"thread_id": "own"}}
        await other.ainvoke({"messages": [("user", "Work")]}, config)
        (gate,) = await other.stores.gates.of_thread("own")
        answer = await stage.answer(ada, gate.gate_id, "approve")
        assert (answer.status_code, answer.headers["location"]) == (303, f"/runs/{gate.run_id}")
        assert (await other.stores.gates.read(gate.gate_id)).decided_by == "ada"
        assert "own.work" in (await ada.get(f"/runs/{gate.run_id}")).text
        assert (await other.ainvoke(None, config))["status"] == "completed"


async def test_two_runs_are_compared_by_their_records(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in()
    runs = []
    for word in ("approve", "reject"):
        run_id, gate_id = await stage.waiting_gate(ada, f"To {word}")
        await stage.answer(ada, gate_id, word)
        await stage.ended(run_id)
        runs.append(run_id)
    choices = (await ada.get(f"/runs/{runs[0]}/compare")).text
    assert f'<option value="{runs[1]}"' in choices
    assert "What differs" not in choices
    page = (await ada.get(f"/runs/{runs[0]}/compare?with={runs[1]}")).text
    assert "differs: end, result" in page
    assert "outcome: completed, and rejected" in page
    assert page.count('class="plan') == 2
    assert (await ada.get(f"/runs/{runs[0]}/compare?with=run_none")).status_code == 404
    same = (await ada.get(f"/runs/{runs[0]}/compare?with={runs[0]}")).text
    assert "Nothing but ids and times" in same


async def test_a_single_call_was_forked_from_nothing(make_stage: MakeStage) -> None:
    stage = make_stage()
    ada = await stage.sign_in()
    config = await stage.agent.acall("datetime.now")
    await stage.agent.ainvoke(None, config)
    run = await stage.agent.stores.runs.named(str(config["configurable"]["thread_id"]))
    assert run is not None
    page = (await ada.get(f"/runs/{run.run_id}")).text
    assert "datetime.now" in page
    assert "forked from" not in page
