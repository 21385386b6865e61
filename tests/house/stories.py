"""Count modules and calls of three stories: a request up to its gate, an answer, and a step of its plan.

`python -m tests.house.stories` prints them. Unlike `entered`, it counts what waits and goes on, too.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FrameType

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from planwright.graph import open_agent
from tests.house.rooms import ROOMS, SOURCES

REQUEST = 'Write "ship on friday" to todo.txt'
STOP, START, END = "dispatch.<locals>.dispatch", "direct_step.<locals>.direct_step", "score.<locals>.score"
MODULES = {str(path): module for module, path in SOURCES.items()}
ABOVE = frozenset(ROOMS[: ROOMS.index("records")])


@dataclass(frozen=True)
class Story:
    """What is called while one thing is done."""

    name: str
    """Short name of the story."""
    calls: Sequence[str]
    """Module of each call of a function, in their order."""

    @property
    def modules(self) -> int:
        """Count the modules that are entered."""
        return len(set(self.calls))

    @property
    def above(self) -> int:
        """Count those of them that are in rooms above the records."""
        return len({module for module in self.calls if module.partition(".")[0] in ABOVE})


@dataclass
class _Calls:
    """Calls of functions of ours, in every thread."""

    calls: list[tuple[str, str]] = field(default_factory=list)
    """Module and name of each function that was called."""

    def look(self, frame: FrameType, event: str, _: object) -> None:
        """Note a call of a function of ours."""
        module = MODULES.get(frame.f_code.co_filename) if event == "call" else None
        if module:
            self.calls.append((module, frame.f_code.co_qualname))

    def story(self, name: str, first: str = "", last: str = "") -> Story:
        """Take what was called, from the first call of one function up to that of another."""
        names = [qualified for _, qualified in self.calls]
        begin = next((at for at, qualified in enumerate(names) if first and first in qualified), 0)
        ends = (at for at, qualified in enumerate(names[begin:], begin) if last and last in qualified)
        return Story(name, [module for module, _ in self.calls[begin : next(ends, len(names))]])


def stories() -> list[Story]:
    """Play a request and its approval with the embedded planner, and tell the three stories."""
    thread = RunnableConfig(configurable={"thread_id": "t"})
    seen = _Calls()
    with tempfile.TemporaryDirectory(prefix="house-") as folder:
        threading.setprofile(seen.look)
        sys.setprofile(seen.look)
        try:
            with open_agent(folder) as agent:
                seen.calls.clear()
                agent.invoke({"messages": [("user", REQUEST)]}, thread)
                request = seen.story("request")
                seen.calls.clear()
                agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread)
                return [request, seen.story("approve", last=STOP), seen.story("step", START, END)]
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


def main() -> None:
    """Print the counts."""
    for story in stories():
        print(
            f"{story.name:10} {story.modules:4} modules, {story.above:3} above the records,"
            f" {len(story.calls)} calls"
        )


if __name__ == "__main__":
    main()
