"""Runs that are cut at one of their events: cancelled, broken, failed. Is every conversation still valid?

`cut_runs` cuts every recorded run at every event; the tests take a part of that.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, get_args

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatResult
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command
from pydantic import PrivateAttr

from benchmarks.played_calls import flaws
from benchmarks.recorded_runs import ADD, END, RUNS, Recorded, reply
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.errors import PlanwrightError
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.graph.entry.door import AdmittedRun, Door
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import load

Kind = Literal["cancel", "refused", "broken", "tool"]
KINDS: tuple[Kind, ...] = get_args(Kind)
FOLLOW_UP = "And now?"
MOST_ENTRIES = 12
FLAGS: dict[str, Any] = {"tools": {"top_k": 100}, "execution": {"retry_base_ms": 1, "step_retries": 0}}


class Refused(RuntimeError):
    """What a provider raises that takes no such request."""

    status_code = 400


class Broken(RuntimeError):
    """What nobody has thought of: it ends the entry, and the run is recovered."""


class Cast(ScriptedModel):
    """Say what a recorded run says, by role and turn and not by how often it is asked; fail when told."""

    _run: Recorded = PrivateAttr(default_factory=Recorded)
    _failure: Exception | None = PrivateAttr(default=None)
    _planned: int = PrivateAttr(default=0)

    def begin(self, run: Recorded) -> None:
        """Forget what was asked, and play another run."""
        self._run, self._failure, self._planned = run, None, 0
        self.prompts.clear()

    def fail(self, failure: Exception) -> None:
        """Fail at the next call."""
        self._failure = failure

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.prompts.append(messages)
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        said = ScriptedModel(replies=[self._says(messages)])
        return said._generate(messages, stop, run_manager, **kwargs)

    def _says(self, messages: list[BaseMessage]) -> str | dict[str, Any]:
        role = messages[0].text.splitlines()[0]
        if role == "Role: planner":
            steps = self._run.plans[min(self._planned, len(self._run.plans) - 1)]
            self._planned += 1
            return json.dumps({"goal": "Do it", "steps": list(steps)})
        if role == "Role: task_extraction":
            return json.dumps({"task": "Do it again"})
        if role != "Role: agent":
            return END
        last = [n for n, m in enumerate(messages) if isinstance(m, HumanMessage) and m.text[:1] != "["][-1]
        turn = sum(isinstance(message, AIMessage) for message in messages[last:])
        turns = (reply(ADD), "bye") if messages[last].text == FOLLOW_UP else self._run.turns
        return turns[min(turn, len(turns) - 1)]


class WatchedDoor(Door):
    """A door whose runs are counted by their events, and cut at one of them."""

    cut: Any = None
    seen = 0

    async def _admit(self, *args: Any, **kwargs: Any) -> AdmittedRun:
        entry = await super()._admit(*args, **kwargs)
        record = entry.invocation.record

        def watched(event: Any, key: str) -> None:
            record(event, key)
            self.seen += 1
            if self.cut is not None:
                self.cut(self.seen, entry)

        entry.invocation.record = watched
        return entry


class Stage:
    """An agent over a workspace of its own, which plays a run as often as it is asked to."""

    def __init__(self, name: str, folder: Path) -> None:
        self.run = RUNS[name]
        self.model, self.tool_fails = Cast(replies=[END]), False
        flags = {key: {**FLAGS.get(key, {}), **self.run.settings.get(key, {})} for key in FLAGS}
        settings = load(folder, **{**self.run.settings, **flags})
        self.agent: Agent = build_graph(settings, model=self.model, capabilities=self._tools())
        self.agent.door.__class__ = WatchedDoor
        assert isinstance(self.agent.door, WatchedDoor)
        self.door = self.agent.door

    def close(self) -> None:
        """Close the agent."""
        self.agent.close()

    def events(self) -> int:
        """Play the run uncut and count its events."""
        self._play(str(uuid.uuid4()), None)
        return self.door.seen

    def cut(self, kind: Kind, at: int) -> list[str]:
        """Play the run, cut it at an event, and send one more message. Returns what was wrong."""
        thread = str(uuid.uuid4())

        def cut(seen: int, entry: AdmittedRun) -> None:
            if seen == at:
                self._act(kind, thread, entry)

        ended = self._play(thread, cut)
        wrong = [] if ended else ["the run did not end"]
        wrong += self._flaws(thread)
        self.model.begin(self.run)
        self.tool_fails = False
        try:
            out = self._enter({"messages": [("user", FOLLOW_UP)]}, thread, "never")
        except PlanwrightError as error:
            return [*wrong, f"the next message is refused: {error}"]
        if (out.get("status"), out.get("answer")) != ("completed", "bye"):
            wrong.append(f"the next message ended as {out.get('status')}: {out.get('answer')!a}")
        return wrong + self._flaws(thread)

    def _play(self, thread: str, cut: Any) -> bool:
        """Play to the end, whatever breaks; says whether the last run has ended."""
        self.model.begin(self.run)
        self.tool_fails, self.door.seen, self.door.cut = False, 0, cut
        mode = "always" if self.run.plans else "never"
        ended = False
        for request in self.run.requests:
            given: Any = {"messages": [("user", request)]}
            for _ in range(MOST_ENTRIES):
                with contextlib.suppress(PlanwrightError, Broken):
                    self._enter(given, thread, mode)
                if ended := self.agent.loop.call(lambda: self.door.control.has_ended(thread)):
                    break
                asked = self.agent.get_state(_config(thread)).interrupts
                gates = {found.value["gate_id"]: self.run.answer for found in asked}
                given = Command(resume=gates) if gates and self._open(thread) else None
        self.door.cut = None
        return ended

    def _open(self, thread: str) -> bool:
        gates = self.agent.stores.gates
        return bool(self.agent.loop.call(lambda: gates.of_thread(thread)))

    def _enter(self, given: Any, thread: str, mode: str) -> dict[str, Any]:
        fresh = isinstance(given, dict)
        context = {"planning_mode": mode} if fresh else None
        out: dict[str, Any] = self.agent.invoke(given, _config(thread), context=context)
        return out

    def _act(self, kind: Kind, thread: str, entry: AdmittedRun) -> None:
        if kind == "cancel":
            entry.invocation.cancelled_by = "the test"
            task = asyncio.get_running_loop().create_task(self._cancel(thread))
            self.cancelling = task
        elif kind == "tool":
            self.tool_fails = True
        else:
            self.model.fail(Refused("no") if kind == "refused" else Broken("gone"))

    async def _cancel(self, thread: str) -> None:
        with contextlib.suppress(PlanwrightError):  # it has ended already
            await self.door.control.cancel(thread, "the test")

    def _flaws(self, thread: str) -> list[str]:
        found = [flaw for asked in self.model.prompts for flaw in flaws(asked)]
        return found + flaws(self.agent.get_state(_config(thread)).values.get("messages", []))

    def _tools(self) -> list[Capability]:
        def touch() -> None:
            if self.tool_fails:
                self.tool_fails = False
                raise ValueError("the tool broke")

        @capability("notes.add", trusted_result=True, mode="local_write", effect="idempotent")
        def add(text: str) -> str:
            """Add a note."""
            touch()
            return f"added {text}"

        @capability("notes.wipe", trusted_result=True, mode="destructive", effect="idempotent")
        def wipe(text: str) -> str:
            """Wipe a note; a person has to agree."""
            touch()
            return f"wiped {text}"

        @capability("notes.fail", trusted_result=True, mode="read_only")
        def fail(text: str) -> str:
            """Fail for good."""
            raise ValueError(f"{text} is broken")

        @capability("notes.long", trusted_result=True, mode="read_only")
        def long(text: str) -> list[str]:
            """Read many notes."""
            touch()
            return [text * 20] * 1000

        return [add, wipe, fail, long]


def _config(thread: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread}}


def every_cut(name: str, folder: Path) -> Iterator[tuple[Kind, int, list[str]]]:
    """Cut a run at every event in every way."""
    with closing(Stage(name, folder)) as stage:
        for at in range(1, stage.events() + 1):
            for kind in KINDS:
                yield kind, at, stage.cut(kind, at)


def main() -> int:
    """Cut every run at every event, and print what was wrong."""
    started, cuts, wrong = time.monotonic(), 0, 0
    names = sys.argv[1:] or list(RUNS)
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            for kind, at, found in every_cut(name, Path(folder)):
                cuts, wrong = cuts + 1, wrong + bool(found)
                if found:
                    print(f"{name}, {kind} at event {at}: {'; '.join(found[:3])}", flush=True)
    print(f"{len(names)} runs, {cuts} cuts, {wrong} wrong, {time.monotonic() - started:.0f} s")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
