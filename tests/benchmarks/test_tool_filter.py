"""What a loop is offered of tools that others made."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.tool_filter import WAYS, foreign_tasks, foreign_tools, recall
from planwright.capabilities.registry import load_registry


def test_every_task_needs_tools_that_are_there() -> None:
    names = {tool["tool"] for tool in foreign_tools()}
    assert len(foreign_tasks()) == 97
    assert all(task["needs"] and names.issuperset(task["needs"]) for task in foreign_tasks())


@pytest.mark.long
def test_every_needed_tool_of_a_suite_is_offered_and_ten_are_not_enough(tmp_path: Path) -> None:
    built_in = list(load_registry(tmp_path))
    assert recall(built_in, WAYS["fit"], own_suite=True).offered == 97
    assert recall(built_in, WAYS["top_10"], own_suite=True).offered < 30
    assert recall(built_in, WAYS["fit"], own_suite=False).reached == 97
