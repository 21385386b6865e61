"""What a request joins with "then": the steps of one group of clauses begin when those before have ended."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from pydantic import JsonValue

from planwright.domain.references import step_references

Step = dict[str, Any]


def order_groups(groups: Sequence[Sequence[Step]]) -> None:
    """Let each step wait for the last steps of the group before, unless it does so by what it needs."""
    for sooner, later in itertools.pairwise(group for group in groups if group):
        needed = {name for step in sooner for name in _needs(step)}
        last = [str(step["id"]) for step in sooner if step["id"] not in needed]
        own = {step["id"] for step in later}
        for step in later:
            if own.isdisjoint(_needs(step)) and (
                missing := [name for name in last if name not in _needs(step)]
            ):
                step["depends_on"] = [*step.get("depends_on", ()), *missing]


def _needs(step: Step) -> set[str]:
    params: dict[str, JsonValue] = step["params"]
    return {*step.get("depends_on", ()), *step_references(params)}
