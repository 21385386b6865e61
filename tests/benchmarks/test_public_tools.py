"""The judge of `public_tools`, over tools that are as they should be, and over some that are not."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import pytest
from langchain_core.tools import StructuredTool

from benchmarks.public_trial import Case, OfferedModel, Outcome, Stage, judge
from planwright.graph.building import build_graph
from planwright.settings.settings import load

CASES = Path(__file__).parents[2] / "benchmarks" / "public_tools.jsonl"


def weigh(fruit: str, unit: Literal["g", "oz"] = "g") -> str:
    """Weigh a fruit."""
    if fruit != "fig":
        raise LookupError(f"there is no {fruit}")
    return f"40 {unit}"


def silent(fruit: str, unit: Literal["g", "oz"] = "g") -> str:
    """Weigh a fruit."""
    return f"40 {unit}"


def loose(fruit: str = "fig", unit: str = "g") -> str:
    """Weigh a fruit."""
    return weigh(fruit, "g")


def case(tool: str, **more: Any) -> Case:
    fields: dict[str, Any] = {
        "kind": "libraries",
        "package": "fruit",
        "tool": tool,
        "right": {"fruit": "fig"},
        "finds": "40 g",
        "wrong": {"fruit": "fig", "unit": "kg"},
        "names": ("unit", "'g'", "'oz'"),
        "raising": {"fruit": "nut"},
        "raised": "there is no nut",
    }
    return Case.model_validate({**fields, **more})


@pytest.fixture
def judged(tmp_path: Path) -> Iterator[Callable[..., Outcome]]:
    model = OfferedModel(replies=["past"])
    declared = StructuredTool.from_function(weigh, name="declared", metadata={"mode": "read_only"})
    tools: list[Any] = [weigh, silent, loose, declared]
    with closing(build_graph(load(tmp_path), tools=tools, model=model)) as agent:
        stage = Stage(agent, model, tmp_path)
        yield lambda tool, **more: judge(case(tool, **more), stage)


@pytest.mark.parametrize(
    ("tool", "more"), [("weigh", {}), ("weigh", {"may": "asks"}), ("declared", {"asked": False})]
)
def test_a_tool_that_is_as_it_should_be_has_no_problem(
    judged: Callable[..., Outcome], tool: str, more: dict[str, Any]
) -> None:
    outcome = judged(tool, **more)
    assert outcome.problems == []
    assert (outcome.offered, outcome.right, outcome.wrong, outcome.raised) == (True,) * 4
    assert outcome.asked is (tool == "weigh")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("tool", "more", "problems"),
    [
        ("silent", {}, {"raised"}),  # it does not raise
        ("loose", {}, {"wrong"}),  # it takes what should not fit
        ("absent", {}, {"right", "wrong", "raised"}),  # it is not offered
        ("declared", {}, {"right"}),  # it asks nobody
        ("weigh", {"finds": "41 g"}, {"right"}),
        ("declared", {"asked": False, "may": "asks"}, {"right"}),  # the ledger has no effect of it
    ],
)
def test_what_falls_short_is_named(
    judged: Callable[..., Outcome], tool: str, more: dict[str, Any], problems: set[str]
) -> None:
    outcome = judged(tool, **more)
    assert {problem.partition(":")[0] for problem in outcome.problems} == problems
    assert not all((outcome.right, outcome.wrong, outcome.raised))


def test_there_are_enough_tools_of_enough_packages() -> None:
    cases = [Case.model_validate(json.loads(line)) for line in CASES.read_text("utf-8").splitlines()]
    assert len({each.tool for each in cases}) == len(cases) >= 100
    assert len({each.package for each in cases}) >= 30
    assert min(Counter(each.kind for each in cases).values()) >= 10
    assert all(each.names and each.raised for each in cases)
