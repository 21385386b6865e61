"""How a task over undeclared tools is played, by a model that is right and a person, and judged."""

from __future__ import annotations

import sqlite3
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from benchmarks.undeclared_model import Play, RightModel, Stage, Task, World
from planwright.domain.run_context import RunContext
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.settings.settings import load

SMALL = """
[providers.small]
class = "benchmarks.undeclared_model:RightModel"
model = "right"
context = 8192
options = { replies = ["never read"] }
"""
MOST_CARDS = 40  # of one message; more are a run that does not get on


@dataclass(frozen=True)
class Way:
    """How the tasks are played."""

    name: str
    small: bool = False
    together: bool = False
    planned: bool = False


WAYS = (
    Way("own tools"),
    Way("all tools", together=True),
    Way("own tools, always planned", planned=True),
    Way("own tools, context of 8,192", small=True),
    Way("all tools, context of 8,192", small=True, together=True),
)


@dataclass
class Outcome:
    """What came of one task."""

    world: str
    words: str
    way: str
    planned: int = 0
    searched: list[str] = field(default_factory=list)
    named: bool = False
    missed: list[str] = field(default_factory=list)
    cards: int = 0
    read_again: list[str] = field(default_factory=list)
    unasked: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    different: dict[str, list[str | None]] = field(default_factory=dict)
    untold: list[str] = field(default_factory=list)
    asked_of_doubts: int = 0
    doubts: int = 0

    @property
    def wrong(self) -> bool:
        """Whether anything but the search for tools went wrong."""
        ended = any(each != "completed" for each in self.ended)
        return bool(ended or self.different or self.untold or self.unasked or self.doubts)


class Person:
    """Says of each tool that reads that it does, once, and approves what changes something."""

    def __init__(self) -> None:
        self.said: set[str] = set()

    def decide(self, card: Mapping[str, Any], reads: frozenset[str], outcome: Outcome) -> dict[str, Any]:
        """Answer a card, and note whether it had to be shown."""
        outcome.cards += 1
        if card.get("effects"):
            outcome.asked_of_doubts += 1
            of_reads = self.said & {str(effect["capability"]) for effect in card["effects"]}
            outcome.read_again += sorted(of_reads)
            return {"type": "respond", "effects": [_untrue(effect) for effect in card["effects"]]}
        names = set(shown_on(card))
        if names and names <= self.said:
            outcome.read_again.append(", ".join(sorted(names)))
        new = sorted(names & reads - self.said)
        self.said.update(new)
        return {"type": "approve", **({"remember": {"tools": dict.fromkeys(new, "reads")}} if new else {})}


def _untrue(effect: Mapping[str, Any]) -> dict[str, Any]:
    """Say of an effect in doubt that it did not happen: no function here raises behind what it does."""
    return {"key": effect["key"], "happened": False}


def shown_on(card: Mapping[str, Any]) -> list[str]:
    """Name the tools of the calls that a card asks about."""
    if card.get("effects"):
        return []
    entries = card.get("steps") or card.get("calls") or [card]
    return [str(entry["capability"]) for entry in entries if "capability" in entry]


@dataclass(frozen=True)
class Office:
    """A workspace in which tasks are played one after another."""

    folder: Path
    way: Way
    wanted: Mapping[str, str]
    others: Sequence[World] = ()
    person: Person = field(default_factory=Person)

    def set_up(self) -> None:
        """Name the model of a small context, where that is the way."""
        self.folder.mkdir(exist_ok=True)
        if self.way.small:
            (self.folder / "planwright.toml").write_text(SMALL, "utf-8")


def play(task: Task, opened: Callable[[], World], office: Office) -> Outcome:
    """Play one task in a world of its own, and compare what it leaves."""
    world = opened()
    outcome = Outcome(world.name, task.messages[-1].words, office.way.name)
    before = flat(world.state())
    tools = [
        *world.tools,
        *(tool for other in office.others if other.name != world.name for tool in other.tools),
    ]
    Stage.play = part = Play(task, office.wanted)
    config: RunnableConfig = {"configurable": {"thread_id": str(uuid.uuid4())}}
    context = RunContext(planning_mode="always" if office.way.planned else None)
    options: dict[str, Any] = {} if office.way.small else {"model": RightModel(replies=["never read"])}
    approved: Counter[str] = Counter()
    with closing(build_graph(load(office.folder), tools=tools, **options)) as agent:
        for number, message in enumerate(task.messages):
            if number:
                part.next_message()
            out = agent.invoke({"messages": [("user", message.words)]}, config, context=context)
            for card, gate in cards(agent, config):
                approved.update([] if "steps" in card else shown_on(card))
                out = agent.invoke(
                    Command(resume={gate: office.person.decide(card, world.reads, outcome)}), config
                )
            outcome.ended.append(out["status"])
    outcome.planned, outcome.searched, outcome.named = part.planned, sorted(part.searched), part.named
    outcome.missed = sorted(part.missed - part.offered - part.found)
    outcome.untold = [text for text in task.told if not any(text in told for told in part.told)]
    made = Counter(call.name for message in task.messages for call in message.calls)
    outcome.unasked = sorted(name for name in made if name not in world.reads and approved[name] < made[name])
    after = flat(world.state())
    found = {name: after.get(name) for name in before | after if before.get(name) != after.get(name)}
    outcome.different = {
        name: [task.end.get(name, before.get(name)), after.get(name)]
        for name in found | dict(task.end)
        if task.end.get(name, before.get(name)) != after.get(name)
    }
    outcome.doubts = doubts(office.folder, str(config["configurable"]["thread_id"]))
    return outcome


def cards(agent: Agent, config: RunnableConfig) -> Iterator[tuple[dict[str, Any], str]]:
    """Show the cards that wait, one after another, as each answer leaves them."""
    for _ in range(MOST_CARDS):
        waiting = agent.get_state(config).interrupts
        if not waiting:
            return
        yield waiting[0].value["shown"], waiting[0].value["gate_id"]
    raise AssertionError(f"more than {MOST_CARDS} cards")


def flat(state: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """Spell a state as texts by their paths."""
    spelled: dict[str, str] = {}
    for name, value in state.items():
        path = f"{before}{name}"
        spelled |= flat(value, f"{path}.") if isinstance(value, Mapping) else {path: str(value)}
    return spelled


def doubts(folder: Path, thread: str) -> int:
    """Count the effects of a thread that are in doubt, or begun and not ended, by the tables of the store."""
    with closing(sqlite3.connect(next((folder / ".planwright").glob("*.db")))) as store:
        query = "SELECT count(*) FROM effects WHERE thread_id = ? AND status IN ('intent', 'in_doubt')"
        return int(store.execute(query, (thread,)).fetchone()[0])


def figures(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Count the outcomes of one way."""
    return {
        "tasks": len(outcomes),
        "planned": sum(bool(each.planned) for each in outcomes),
        "searched": sum(bool(each.searched) for each in outcomes),
        "named": sum(each.named for each in outcomes),
        "had": sum(not each.missed for each in outcomes),
        "doubts": sum(each.asked_of_doubts for each in outcomes),
        "cards": sum(each.cards for each in outcomes),
        "read_again": sum(len(each.read_again) for each in outcomes),
        "right_end": sum(not each.wrong for each in outcomes),
    }
