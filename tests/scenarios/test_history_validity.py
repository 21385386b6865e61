"""Recorded runs, cut at their events: every conversation is one that a provider takes, the thread usable.

Here a seeded part of all cuts is made; `make bench NAME=cut_runs` makes every one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from benchmarks.cut_runs import KINDS, Kind, Stage
from benchmarks.played_calls import flaws
from benchmarks.recorded_runs import RUNS

pytestmark = pytest.mark.long

EACH = 2
CHANCE = random.Random(3)
CUTS = [(name, kind, CHANCE.random()) for name in RUNS for kind in KINDS for _ in range(EACH)]


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], tuple[Stage, int]]]:
    """The agents of the runs and how many events each run has, found out when it is first played."""
    open_: dict[str, tuple[Stage, int]] = {}

    def stage(name: str) -> tuple[Stage, int]:
        if name not in open_:
            opened = Stage(name, tmp_path_factory.mktemp("cut"))
            open_[name] = (opened, opened.events())
        return open_[name]

    yield stage
    for opened, _ in open_.values():
        opened.close()


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("name", "kind", "share"), CUTS, ids=lambda x: f"{x:.2f}" if isinstance(x, float) else x
)
def test_a_run_that_is_cut_leaves_conversations_that_any_provider_takes(
    name: str, kind: Kind, share: float, stages: Callable[[str], tuple[Stage, int]]
) -> None:
    stage, events = stages(name)
    assert events > 5
    assert stage.cut(kind, 1 + int(share * events)) == []


def test_twenty_runs_are_recorded() -> None:
    assert len(RUNS) >= 20


CALLED = AIMessage("", tool_calls=[{"name": "notes__add", "args": {}, "id": "c0"}])
ANSWER = ToolMessage("done", tool_call_id="c0")


@pytest.mark.parametrize(
    "conversation",
    [
        [HumanMessage("x"), CALLED],
        [HumanMessage("x"), CALLED, HumanMessage("y"), ANSWER],
        [HumanMessage("x"), CALLED, ANSWER, ANSWER],
        [HumanMessage("x"), CALLED, ANSWER, CALLED, ANSWER],
        [ANSWER],
    ],
    ids=["no answer", "a late answer", "two answers", "one id twice", "no call"],
)
def test_what_a_provider_would_refuse_is_found(conversation: list[AnyMessage]) -> None:
    assert flaws(conversation)
