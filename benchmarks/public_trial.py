"""One tool of somebody else's called through the product: once right, once wrong, once so that it raises."""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.outputs import ChatResult
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command
from pydantic import BaseModel, ConfigDict, PrivateAttr

from planwright.graph.agent import Agent
from planwright.models.conversation.call_arguments import wire_name
from planwright.models.scripted import ScriptedModel

THE_END = "That is what came of it."
MOST_CARDS = 4  # of one run
MOST_TOLD = 1_500  # letters of an error that a model is told, with what stands around it
MOST_KEPT = 300  # letters of what a model was told
EFFECTS = "SELECT status FROM effects WHERE thread_id = ? AND capability = ?"

Args = dict[str, Any]


class Case(BaseModel):
    """One tool, and three calls of it; `{here}` in an argument is the folder of the trial."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: Literal["libraries", "langchain", "mcp"]
    """What it is: a function, a tool of LangChain, or one of a server."""
    package: str
    """Name at its registry of the package that the tool, or all that it does, comes from."""
    tool: str
    """Its name; behind a dot that of one of a server."""
    right: Args
    """Arguments that fit."""
    finds: str
    """What stands in its result."""
    wrong: Args
    """Arguments that do not fit."""
    names: tuple[str, ...]
    """What a model has to be told of them: the argument, and what may stand there."""
    raising: Args
    """Arguments that fit, and with which it raises, or says that it failed."""
    raised: str
    """What stands in its error."""
    may: Literal["reads", "asks"] = "reads"
    """What a person says of it where it declares nothing; `asks` of what changes something."""
    asked: bool = True
    """Whether its first call has to ask a person."""
    spoil: Literal["", "memory"] = ""
    """What is spoiled before it raises, where no argument makes it."""


@dataclass
class Outcome:
    """What became of the three calls of a tool."""

    package: str
    tool: str
    offered: bool = False
    asked: bool = False
    right: bool = False
    wrong: bool = False
    raised: bool = False
    problems: list[str] = field(default_factory=list)
    heard: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Heard:
    """One run: what the model was offered and told of its one call, what a person saw, and the records."""

    status: str
    """How the run ended."""
    told: str
    """What the model was told of its call."""
    offered: Sequence[str]
    """Wire names of the tools that the model was offered at first."""
    cards: Sequence[Args]
    """The cards that a person was shown, in order."""
    effects: Sequence[str]
    """How the ledger says that each effect of the tool ended."""
    answer: str
    """What the user read at the end."""

    @property
    def doubts(self) -> int:
        """How many cards asked what became of a call."""
        return sum("effects" in card["shown"] for card in self.cards)


class OfferedModel(ScriptedModel):
    """A scripted model that notes which tools it is offered."""

    _offered: list[list[str]] = PrivateAttr(default_factory=list)

    @property
    def offered(self) -> list[list[str]]:
        """Names of the tools of each call of the model."""
        return self._offered

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self._offered.append([tool["function"]["name"] for tool in kwargs.get("tools", ())])
        return super()._generate(messages, stop, run_manager, **kwargs)


@dataclass
class Stage:
    """An agent with tools of others, and its model; every run has a thread of its own."""

    agent: Agent
    model: OfferedModel
    folder: Path
    web: str = ""

    def play(self, case: Case, args: Args) -> Heard:
        """Let the model call the tool once, and a person answer every card."""
        name = wire_name(case.tool)
        reply = {"content": "", "tool_calls": [{"name": name, "args": self._placed(args), "id": "c1"}]}
        calls, offers = len(self.model.prompts), len(self.model.offered)
        self.model.replies = [*["past"] * calls, reply, THE_END]
        thread = str(uuid.uuid4())
        config: RunnableConfig = {"configurable": {"thread_id": thread}}
        out = self.agent.invoke({"messages": [("user", f"Please use {name} for me.")]}, config)
        cards: list[Args] = []
        while (gates := [each.value for each in out.get("__interrupt__", ())]) and len(cards) < MOST_CARDS:
            cards += gates
            resume = {gate["gate_id"]: _answer(gate, case) for gate in gates}
            out = self.agent.invoke(Command(resume=resume), config)
        heard = self.model.prompts[-1] if len(self.model.prompts) > calls else []
        return Heard(
            status=str(out.get("status", "waits")),
            told="\n".join(message.text for message in heard if isinstance(message, ToolMessage)),
            offered=self.model.offered[offers] if len(self.model.offered) > offers else [],
            cards=cards,
            effects=self._effects(thread, case.tool),
            answer=str(out.get("answer", "")),
        )

    def _placed(self, args: Args) -> Args:
        """Put folder and address into arguments."""
        spelled = json.dumps(args).replace("{here}", str(self.folder)).replace("{web}", self.web)
        placed: Args = json.loads(spelled)
        return placed

    def _effects(self, thread: str, capability: str) -> list[str]:
        with closing(sqlite3.connect(self.folder / ".planwright" / "planwright.db")) as db:
            return [row[0] for row in db.execute(EFFECTS, (thread, capability))]


def _answer(gate: Args, case: Case) -> Args:
    """Answer a card: what the tool may do where it asks that, and that a call in doubt did not happen."""
    if undeclared := gate.get("undeclared"):
        return {"type": "approve", "remember": {"tools": dict.fromkeys(undeclared, case.may)}}
    return {"type": "approve"}


def judge(case: Case, stage: Stage, spoil: Callable[[Path], None] | None = None) -> Outcome:
    """Call a tool three times, and say what is not as it has to be."""
    outcome = Outcome(case.package, case.tool)
    right = stage.play(case, case.right)
    wrong = stage.play(case, case.wrong)
    if spoil:
        spoil(stage.folder)
    raised = stage.play(case, case.raising)
    found = {
        "right": [*_offer(case, right), *_right(case, right)],
        "wrong": [*_wrong(case, wrong)],
        "raised": [*_raised(case, raised)],
    }
    outcome.offered, outcome.asked = wire_name(case.tool) in right.offered, bool(right.cards)
    outcome.right, outcome.wrong, outcome.raised = (not found[name] for name in found)
    outcome.problems = [f"{name}: {problem}" for name, problems in found.items() for problem in problems]
    for name, heard in zip(found, (right, wrong, raised), strict=True):
        outcome.heard[name] = heard.told[:MOST_KEPT]
    return outcome


def _offer(case: Case, heard: Heard) -> Iterator[str]:
    if wire_name(case.tool) not in heard.offered:
        yield f"not offered among {len(heard.offered)}"
    if bool(heard.cards) != case.asked:
        yield f"{len(heard.cards)} cards"


def _ended(heard: Heard) -> Iterator[str]:
    if (heard.status, heard.answer) != ("completed", THE_END):
        yield f"{heard.status}: {heard.answer[:300]}"


def _right(case: Case, heard: Heard) -> Iterator[str]:
    yield from _ended(heard)
    if case.finds not in heard.told:
        yield f"{case.finds!r} is not in {heard.told[:300]!r}"
    grave = case.may == "asks" or any(card["shown"].get("effect") != "pure" for card in heard.cards)
    if list(heard.effects) != ["done"] * grave:
        yield f"the ledger says {[*heard.effects]}"
    if len(heard.cards) > 1:
        yield f"{len(heard.cards)} cards for one call"


def _wrong(case: Case, heard: Heard) -> Iterator[str]:
    yield from _ended(heard)
    if missing := [name for name in case.names if name not in heard.told]:
        yield f"{missing} not in {heard.told[:300]!r}"
    if heard.cards or heard.effects:
        yield f"{len(heard.cards)} cards, effects {[*heard.effects]}"


def _raised(case: Case, heard: Heard) -> Iterator[str]:
    yield from _ended(heard)
    if case.raised not in heard.told:
        yield f"{case.raised!r} is not in {heard.told[:300]!r}"
    if len(heard.told) > MOST_TOLD:
        yield f"{len(heard.told)} letters of an error"
    again = heard.doubts or any(card.get("undeclared") for card in heard.cards)
    if "in_doubt" in heard.effects or (case.may == "reads" and again):
        yield f"{len(heard.cards)} cards, effects {[*heard.effects]}"
