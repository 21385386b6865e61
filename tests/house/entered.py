"""Count the modules that are entered on four ways through the program: `python -m tests.house.entered`.

A module is entered when one of its functions is called. The fewer there are, the fewer files somebody opens
who follows a request, an approval, a step, or a change of provider.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from dataclasses import dataclass, field
from dis import opmap
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from planwright.extras.demo.workspace import write_workspace
from planwright.graph import open_agent
from planwright.state.invocation import Invocation
from tests.house.rooms import SOURCES
from tests.wire.asking import LISTING, ask, provider, settings_for
from tests.wire.scripted_server import ScriptedServer, refuses, says

MODULES = {str(path): module for module, path in SOURCES.items()}
EMIT = Invocation.emit.__code__
RESUME = opmap["RESUME"]
BESIDE = ("writer:", "reader:", "heartbeat")
"""Threads whose work falls into one part of a run or the next, as the machine has it."""


@dataclass
class Entered:
    """Modules entered between the events of a run: `between` lists them for one pair of events."""

    marks: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    """Types of the events in their order, each with the modules entered since the one before it."""
    since: set[str] = field(default_factory=set)
    """Modules entered since the last event."""

    def __enter__(self) -> Entered:
        threading.setprofile(self._look)
        sys.setprofile(self._look)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def mark(self, name: str) -> None:
        """Begin anew after an event."""
        self.marks.append((name, frozenset(self.since)))
        self.since.clear()

    def between(self, first: str, last: str) -> set[str]:
        """List the modules entered after the first event of one type, until the next of another."""
        names = [name for name, _ in self.marks]
        begin = names.index(first) + 1
        end = names.index(last, begin) + 1
        return {module for _, modules in self.marks[begin:end] for module in modules}

    def _look(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or _goes_on(frame):
            return
        code = frame.f_code
        module = MODULES.get(code.co_filename)
        if module and code.co_name != "<module>" and not threading.current_thread().name.startswith(BESIDE):
            self.since.add(module)
        if code is EMIT:
            self.mark(frame.f_locals["type_"])


def _goes_on(frame: FrameType) -> bool:
    """Say whether a frame is that of a generator or a coroutine which was called before, and waited.

    When it goes on is as the machine has it. The argument of RESUME is 0 where a function begins
    (https://docs.python.org/3.11/library/dis.html#opcode-RESUME).
    """
    code, at = frame.f_code.co_code, frame.f_lasti
    return at >= 0 and code[at] == RESUME and code[at + 1] & 3 != 0


def counts() -> dict[str, int]:
    """Count the modules entered from a request to its gate, for an approval, a step, and a failover."""
    with tempfile.TemporaryDirectory(prefix="house-") as folder:
        run = _approved_run(Path(folder))
        switch = _failover(Path(folder))
    return {
        "request": len(run.between("begin", "approval_requested")),
        "approve": len(run.between("resume", "plan_start")),
        "step": len(run.between("plan_step_start", "plan_step_complete")),
        "failover": len(switch.between("failover", "llm_call")),
    }


def _approved_run(folder: Path) -> Entered:
    (folder / "one").mkdir()
    agent, thread = open_agent(folder / "one"), RunnableConfig(configurable={"thread_id": "t"})
    entered = Entered()
    try:
        with entered:
            entered.mark("begin")
            agent.invoke({"messages": [("user", "Save hello to a.txt")]}, thread)
            entered.mark("resume")
            agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread)
    finally:
        agent.close()
    return entered


def _failover(folder: Path) -> Entered:
    write_workspace(folder / "two")
    with ScriptedServer((refuses(401),)) as refused, ScriptedServer((says(LISTING), says("Four."))) as up:
        pair: dict[str, dict[str, Any]] = {"a": provider(refused, priority=1), "b": provider(up, priority=2)}
        with Entered() as entered:
            ask(settings_for(folder / "two", pair))
    return entered


def main() -> None:
    """Print the counts."""
    for way, count in counts().items():
        print(f"{way:10} {count}")


if __name__ == "__main__":
    main()
