"""A result that is too large is not kept: a call that did something is done all the same."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from pydantic import BaseModel

from planwright.capabilities.declaration import capability
from planwright.capabilities.encoding import MOST_RESULT
from planwright.domain.errors import OverLimit

MakeBench = Callable[..., Awaitable[Any]]
LARGE = "x" * (MOST_RESULT + 1)
WHOLE_RUN = """
import json, resource, sys
from pathlib import Path
from planwright.capabilities.declaration import capability
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import load

@capability("big.send", mode="local_write", effect="blind", trusted_result=True)
def send(size: int) -> str:
    "Send, and return a text of a size."
    return "x" * size

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

def play(thread, size):
    config = {"configurable": {"thread_id": thread}}
    return agent.invoke({"messages": [("user", "send it")]}, config)["status"]

def plan(size):
    step = {"id": "s1", "capability": "big.send", "params": {"size": size}}
    return json.dumps({"goal": "g", "steps": [step]})

settings = load(Path(sys.argv[1]), approval={"plan": "never"}, planning={"mode": "always"})
sizes = (10, 200_000_000)
replies = [reply for size in sizes for reply in (plan(size), "sent")]
agent = build_graph(settings, model=ScriptedModel(replies=replies), capabilities=[send])
small = play("small", sizes[0])
before = peak()
large = play("large", sizes[1])
print(json.dumps({"ends": [small, large], "more": peak() - before - sizes[1]}))
agent.close()
"""


class Brought(BaseModel):
    """What was brought."""

    rows: list[str]


@pytest.mark.parametrize("effect", ["idempotent", "blind"])
async def test_a_call_that_returned_is_done_whatever_it_returned(make_bench: MakeBench, effect: Any) -> None:
    calls: list[str] = []

    @capability("a.do", mode="local_write", effect=effect)
    def do() -> Brought:
        """Do it, and return a book."""
        calls.append("done")
        return Brought(rows=[LARGE])

    bench = await make_bench(do)
    for _ in range(2):
        answer = await bench.call("a.do")
        assert answer == {
            "not_kept": "a.do returned more than 10 MB: it was done, and what it returned is not on record"
        }
    assert (bench.effects(), calls) == ([("a.do", "done")], ["done"])


async def test_a_read_that_returned_too_much_fails_for_good(make_bench: MakeBench) -> None:
    @capability("a.do", mode="read_only")
    def do() -> str:
        """Read a book."""
        return LARGE

    bench = await make_bench(do)
    with pytest.raises(OverLimit, match=r"a\.do returned more than 10 MB") as refused:
        await bench.call("a.do")
    assert refused.value.next_step == "let it return less, or write to a file and return its name"
    assert bench.retries == []


async def test_what_just_fits_is_kept(make_bench: MakeBench) -> None:
    @capability("a.do", mode="read_only")
    def do() -> str:
        """Read what fits."""
        return LARGE[:-1]

    assert await (await make_bench(do)).call("a.do") == LARGE[:-1]


@pytest.mark.long
def test_a_run_takes_little_more_memory_than_a_large_result_itself(tmp_path: Any) -> None:
    played = subprocess.run(
        [sys.executable, "-c", WHOLE_RUN, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert played.returncode == 0, played.stderr
    report = json.loads(played.stdout)
    assert report["ends"] == ["completed", "completed"]
    assert report["more"] < 100_000_000
