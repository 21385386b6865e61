"""How long the tool filter takes with 5,000 capabilities registered, in ms -> bench.json"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

from benchmarks.makespan import RESULTS, join_results
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.capabilities.registry import Registry

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
    """Take the shortest of so many rankings."""
    taken = []
    for number in range(repeat):
        began = time.perf_counter()
        registry.rank(f"{REQUEST} {number}", 10)
        taken.append(time.perf_counter() - began)
    return min(taken) * 1000


def main() -> None:
    """Measure, print and join to the results."""
    found = {f"tool_filter_{count}_ms": round(milliseconds(registered(count)), 2) for count in (100, 5000)}
    join_results(Path(RESULTS), found)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
