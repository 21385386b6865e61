"""The calls of a reply keep their order, over gates, doubts, crashes, chains and lanes; reads overlap."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import ToolMessage

from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.graph.agent import Agent
from planwright.models.scripted import ScriptedModel
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

LOOP = {"planning": {"mode": "never"}}
ASK = "Read, write, wipe, post, spoil, chain and delegate: go into the folder, and make what belongs there"
A, B, C = ({"name": name} for name in "abc")
NO_ANSWER = "lose-before-a"
TURNS = 200  # of the event loop, in which a call that may begin beside another does so


@pytest.fixture(autouse=True)
def every_tool(scene: Scene) -> None:
    with (scene.workspace / "planwright.toml").open("a") as file:
        file.write("[tools]\nfilter = 'top_k'\ntop_k = 80\n")


def scripted(*replies: Any) -> ScriptedModel:
    return ScriptedModel(replies=list(replies))


def results(model: ScriptedModel) -> list[str]:
    """What the model was told of its calls, the last time it was asked, without the fences."""
    told = [message.text for message in model.prompts[-1] if isinstance(message, ToolMessage)]
    return [re.sub(r"</?untrusted-\w+>\n?|\n(?=</untrusted-)", "", text) for text in told]


def play(scene: Scene, model: ScriptedModel, **options: Any) -> tuple[Agent, dict[str, Any]]:
    agent = scene.agent(model=model, **{**LOOP, **options})
    return agent, scene.ask(agent, ASK)


class Shelf:
    """Where somebody stands in a tree of folders, with tools that note which calls overlap."""

    def __init__(self, readers: int = 1) -> None:
        self.path, self.running, self.overlaps = list[str](), list[str](), list[str]()
        self.together = asyncio.Barrier(readers)

    async def moved(self, folder: str) -> str:
        """Enter a folder, after having looked for long where that is."""
        self.overlaps += [f"{other} beside {folder}" for other in self.running]
        self.running.append(folder)
        stood = list(self.path)
        for _ in range(TURNS if not stood else 1):
            await asyncio.sleep(0)
        self.path = [*stood, folder]
        self.running.remove(folder)
        return "/".join(self.path)

    async def looked(self) -> str:
        """Tell where one stands, once all who look are looking."""
        self.overlaps += [f"{other} beside a look" for other in self.running]
        async with asyncio.timeout(PATIENCE_S):
            await self.together.wait()
        return f"at /{'/'.join(self.path)}"

    def undeclared(self) -> list[Any]:
        """Write the tools as people do: as plain functions."""

        async def cd(folder: str) -> str:
            """Go into a folder."""
            return await self.moved(folder)

        return [cd]

    def declared(self) -> list[Capability]:
        """Say of the same tools what they do."""

        @capability("shelf.cd", trusted_result=True, mode="local_write", effect="idempotent")
        async def cd(folder: str) -> str:
            """Go into a folder."""
            return await self.moved(folder)

        @capability("shelf.where", trusted_result=True, mode="read_only")
        async def where() -> str:
            """Tell where one stands."""
            return await self.looked()

        return [cd, where]


def test_two_effects_of_a_reply_are_made_one_after_the_other(scene: Scene) -> None:
    shelf = Shelf()
    model = scripted(
        scene.calls(("shelf__cd", {"folder": "projects"}), ("shelf__cd", {"folder": "photography"})), "done"
    )
    _, output = play(scene, model, capabilities=shelf.declared())
    assert (output["status"], shelf.overlaps) == ("completed", [])
    assert results(model) == ["projects", "projects/photography"]


def test_undeclared_functions_keep_their_order_and_ask_at_one_time(scene: Scene) -> None:
    shelf = Shelf()
    model = scripted(scene.calls(("cd", {"folder": "projects"}), ("cd", {"folder": "photography"})), "done")
    agent, _ = play(scene, model, tools=shelf.undeclared())
    assert (len(scene.waiting(agent)), shelf.path) == (1, [])
    output = scene.answer(agent, "approve")
    assert (output["status"], shelf.overlaps) == ("completed", [])
    assert shelf.path == ["projects", "photography"]


def test_a_read_sees_what_stands_before_it_and_not_what_stands_behind(scene: Scene) -> None:
    shelf = Shelf()
    enter: Any = ("shelf__cd", {"folder": "projects"})
    look: Any = ("shelf__where", {})
    model = scripted(scene.calls(look, enter, look), "done")
    play(scene, model, capabilities=shelf.declared())
    assert results(model) == ["at /", "projects", "at /projects"]
    assert shelf.overlaps == []


def test_calls_that_only_read_run_side_by_side(scene: Scene) -> None:
    shelf = Shelf(readers=4)
    model = scripted(scene.calls(*[("shelf__where", {})] * 4), "done")
    _, output = play(scene, model, capabilities=shelf.declared())
    assert (output["status"], results(model)) == ("completed", ["at /"] * 4)


def test_what_stands_before_and_behind_a_gate_keeps_its_place(scene: Scene) -> None:
    calls = scene.calls(
        ("work__write", A), ("work__wipe", B), ("work__read", C), ("work__write", {"name": "d"})
    )
    agent, _ = play(scene, scripted(calls, "done"))
    assert (len(scene.waiting(agent)), scene.done) == (1, [])
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert scene.done == ["a", "b", "c", "d"]


@pytest.mark.parametrize("tool", ["work__spoil", "work__wiep"], ids=["failed", "unknown"])
def test_behind_an_effect_that_did_not_happen_no_effect_is_made(scene: Scene, tool: str) -> None:
    calls = scene.calls((tool, A), ("work__write", B), ("work__read", C), ("work__wipe", {"name": "d"}))
    model = scripted(calls, scene.calls(("work__write", B)), "done")
    agent, _ = play(scene, model)
    output = scene.answer(agent, "approve")
    assert output["status"] == "completed"
    assert [name for name in scene.done if name != "a"] == ["c", "b"]
    told = [message.text for message in model.prompts[1] if isinstance(message, ToolMessage)]
    assert (
        told[1]
        == told[3]
        == (f"not made: {tool} stands before it and did not succeed; call it again if it is still right")
    )
    assert "reading 1" in told[2]


@pytest.mark.parametrize("happened", [True, False])
def test_what_nobody_knows_is_asked_before_what_stands_behind_is_made(scene: Scene, happened: bool) -> None:
    (scene.workspace / NO_ANSWER).touch()
    calls = scene.calls(("work__post", A), ("work__write", B), ("work__read", C))
    model = scripted(calls, "done")
    agent, _ = play(scene, model)
    (asked,) = agent.get_state(scene.config).interrupts
    assert (asked.value["kind"], scene.done) == ("escalation", [])
    (effect,) = asked.value["shown"]["effects"]
    said = {"key": effect["key"][:12], "happened": happened}
    if happened:
        said["result"] = {"text": "seen there", "turn": 1}
    scene.answer(agent, {"type": "respond", "effects": [said]})
    assert scene.done == (["b", "c"] if happened else ["c"])
    assert ("work__post stands before it" in results(model)[1]) is not happened


def test_what_an_effect_makes_possible_is_verified_when_it_is_there(scene: Scene) -> None:
    rows = {"path": "prices.csv", "title": "", "columns": ["name", "price"], "rows": [["tea", 3]]}
    query = {"database": "prices.csv", "statement": "SELECT price FROM prices"}
    model = scripted(scene.calls(("documents__create", rows), ("sql__query", query)), "done")
    play(scene, model, approval={"risk": "Critical"})
    assert "3" in results(model)[1]


def test_a_chain_is_made_and_called_in_one_reply(scene: Scene) -> None:
    steps = [{"toolName": "work.write", "arguments": {"name": f"{{{{input.what}}}}{n}"}} for n in (1, 2)]
    making = {"name": "both", "description": "Write both", "steps": steps}
    calls = scene.calls(("tool__create_chain", making), ("both", {"what": "x"}), ("work__write", A))
    _, output = play(scene, scripted(calls, "done"))
    assert (output["status"], scene.done) == ("completed", ["x1", "x2", "a"])


def test_what_is_possible_only_then_is_asked_for_then(scene: Scene) -> None:
    making = {
        "name": "gone",
        "description": "Wipe",
        "steps": [
            {"toolName": "work.read", "arguments": {"name": "{{input.what}}"}},
            {"toolName": "work.wipe", "arguments": {"name": "{{input.what}}"}},
        ],
    }
    calls = scene.calls(("tool__create_chain", making), ("gone", {"what": "x"}), ("work__write", A))
    agent, _ = play(scene, scripted(calls, "done"))
    while scene.waiting(agent):
        assert "a" not in scene.done
        scene.answer(agent, dict.fromkeys(scene.waiting(agent).values(), "approve"))
    assert scene.done == ["x", "x", "a"]


def test_a_lane_with_effects_is_done_before_what_stands_behind_it(scene: Scene) -> None:
    part = {"task": "Wipe a", "tools": ["work.wipe"]}
    calls = scene.calls(("agent__delegate", part), ("work__write", B), ("work__read", C))
    model = scripted(calls, scene.calls(("work__wipe", A)), "wiped", "done")
    agent, _ = play(scene, model)
    assert (len(scene.waiting(agent)), scene.done) == (1, [])
    assert scene.decide(agent, "approve")["answer"] == "done"
    assert scene.done == ["a", "b", "c"]


def test_a_reply_goes_on_behind_the_call_in_which_its_process_died(scene: Scene) -> None:
    (scene.workspace / "die-b").touch()
    calls = scene.calls(
        ("work__write", A), ("work__write", B), ("work__read", C), ("work__write", {"name": "d"})
    )
    scene.child(scene.entry(message=ASK), replies=[calls, "never asked"], settings=LOOP, dies=True)
    assert scene.done == ["a", "began b"]
    output = scene.recover(scene.agent("done", **LOOP))
    assert (output["status"], scene.done) == ("completed", ["a", "began b", "b", "c", "d"])


def test_a_cancelled_run_makes_no_more_calls_of_a_reply(scene: Scene) -> None:
    agents = list[Agent]()

    @capability("run.stop", trusted_result=True, mode="local_write", effect="idempotent")
    def stop() -> str:
        """Have somebody cancel the run."""
        agents[0].cancel(scene.thread, by="ada")
        return "stopped"

    calls = scene.calls(("work__write", A), ("run__stop", {}), ("work__read", C), ("work__write", B))
    agents.append(scene.agent(calls, "not asked", **LOOP, capabilities=[stop]))
    assert scene.ask(agents[0], ASK)["status"] == "cancelled"
    assert scene.done == ["a"]
