"""A second request on the same thread is a run of its own, even when its plan looks the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene


def test_a_second_request_with_the_same_step_ids_runs_in_full(scene: Scene) -> None:
    plan = scene.plan(scene.step("s1", "work.read"), scene.step("s2", "work.write", "s1"))
    agent = scene.agent(plan, "first answer", json.dumps({"task": "Do it again"}), plan, "second answer")
    first = scene.ask(agent)
    second = scene.ask(agent, "Do it again")
    print(first, second)
    assert scene.done == ["s1", "s2", "s1", "s2"]
