"""How long the tool filter takes with 5,000 capabilities, and what it offers to foreign tasks -> bench.json

`foreign_tools.jsonl` and `foreign_tasks.jsonl` are tools and tasks of AgentDojo (MIT license): four suites of
11 to 28 tools, and for each of 97 tasks the tools that its solution calls. A task is asked over the tools of
its own suite, and over those of all four, beside what is built in; `reached` counts also what a search by the
name of a tool, as words, adds.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, create_model
from typing_extensions import TypedDict

from benchmarks.figures import RESULTS, join_results
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.capabilities.registry import TOOL_SEARCH, Registry, load_registry
from planwright.execution.tool_offer import ToolOffer
from planwright.settings.workspace import ToolSettings

WORDS = (
    "search mail ticket invoice file list read write send post order ship track user account report event"
    " calendar note task bill price stock city weather map route train book room amount team channel summary"
    " draft meeting customer refund label branch commit issue build deploy query table column chart page"
).split()
REQUEST = (
    "Search my emails for the invoice from Acme, then create a Jira ticket with the amount and send a summary"
    " to the team Slack channel"
)
AIM_MS = 5.0
HERE = Path(__file__).parent
CONTEXT = 128_000
WAYS = {"top_10": ToolSettings(filter="top_k"), "fit": ToolSettings()}


class ForeignTool(TypedDict):
    """A tool of somebody else's."""

    tool: str
    """Name of the tool."""
    description: str
    """What it does."""
    args: dict[str, str]
    """What is said of each argument, by its name."""
    suites: list[str]
    """Suites that it belongs to."""


class ForeignTask(TypedDict):
    """A task of somebody else's."""

    suite: str
    """Suite whose tools it is for."""
    request: str
    """The request, in words."""
    needs: list[str]
    """Tools that its solution calls."""


class Recall(NamedTuple):
    """For how many tasks every tool that is needed was there."""

    offered: int
    """Tasks with every tool offered at once."""
    reached: int
    """Tasks with every tool offered, or added by a search for it."""
    tools: float
    """Tools that are offered on average."""


def registered(count: int, seed: int = 1) -> Registry:
    """Register so many capabilities, each with three tags and eight words out of sixty."""
    chance = random.Random(seed)
    made: list[Capability] = []
    for number in range(count):

        def function(text: str) -> str:
            return text

        function.__doc__ = " ".join(chance.sample(WORDS, 8)) + "."
        tags = chance.sample(WORDS, 3)
        made.append(capability(f"d{number // 50}.v{number}", mode="read_only", tags=tags)(function))
    return Registry(made)


def milliseconds(registry: Registry, repeat: int = 50) -> float:
    """Take the shortest of so many offers."""
    taken, offer = [], ToolOffer(ToolSettings())
    for number in range(repeat):
        began = time.perf_counter()
        offer.of(registry, f"{REQUEST} {number}", CONTEXT)
        taken.append(time.perf_counter() - began)
    return min(taken) * 1000


def foreign_tools() -> list[ForeignTool]:
    """Read the tools."""
    return [json.loads(line) for line in (HERE / "foreign_tools.jsonl").read_text("utf-8").splitlines()]


def foreign_tasks() -> list[ForeignTask]:
    """Read the tasks."""
    return [json.loads(line) for line in (HERE / "foreign_tasks.jsonl").read_text("utf-8").splitlines()]


def foreign(tool: ForeignTool) -> Capability:
    """Declare a foreign tool as a capability, which is never called."""
    fields = {name: (str, Field(description=words)) for name, words in tool["args"].items()}

    def function() -> None:
        """Do nothing."""

    plain = capability(f"foreign.{tool['tool']}", mode="read_only")(function)
    args = create_model("Arguments", **fields)  # type: ignore[call-overload]
    return replace(plain, description=tool["description"], args=args)


def recall(built_in: Iterable[Capability], settings: ToolSettings, *, own_suite: bool) -> Recall:
    """Count the tasks for which a filter offers every needed tool, among those of their suite or of all."""
    own, tools = list(built_in), foreign_tools()
    tasks, offer = foreign_tasks(), ToolOffer(settings)
    suites = {task["suite"] for task in tasks}
    registries = {
        suite: Registry(
            [*own, *(foreign(tool) for tool in tools if not own_suite or suite in tool["suites"])]
        )
        for suite in suites
    }
    offered, reached, count = 0, 0, 0
    for task in tasks:
        registry = registries[task["suite"]]
        names = offer.of(registry, task["request"], CONTEXT)
        missing = [name for name in task["needs"] if f"foreign.{name}" not in names]
        offered, count = offered + (not missing), count + len(names)
        reached += all(TOOL_SEARCH in names and _is_reached(registry, name, names) for name in missing)
    return Recall(offered, reached, round(count / len(tasks), 1))


def _is_reached(registry: Registry, name: str, offered: list[str]) -> bool:
    more = [match for match in registry.matches(name.replace("_", " ")) if match not in offered]
    return f"foreign.{name}" in more[:8]


def main() -> None:
    """Measure, print and join to the results."""
    figures: dict[str, float] = {
        f"tool_filter_{count}_ms": round(milliseconds(registered(count)), 2) for count in (100, 5000)
    }
    with tempfile.TemporaryDirectory() as folder:
        built_in = list(load_registry(Path(folder)))
    for name, settings in WAYS.items():
        for own_suite in (True, False):
            counted = recall(built_in, settings, own_suite=own_suite)
            key = f"tool_recall_{name}_{'suite' if own_suite else 'all'}"
            figures |= {
                key: counted.offered,
                f"{key}_reached": counted.reached,
                f"{key}_tools": counted.tools,
            }
    join_results(Path(RESULTS), figures)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
