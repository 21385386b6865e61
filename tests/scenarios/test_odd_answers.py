"""Whatever an MCP server answers with: its tool is called once, and recorded as done once, however called."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from planwright.graph.agent import Agent
from tests.conftest import McpServers
from tests.extras.mcp.odd_server import RESULTS

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

SCRIPT = Path(__file__).parents[1] / "extras" / "mcp" / "odd_server.py"
ASK = "Make a chain of tools and delegate to agents: post"
MODES = {"by_plan": "always", "by_loop": "never", "by_chain": "never", "by_agent": "never"}


def replies(scene: Scene, way: str, kind: str) -> list[Any]:
    """Script a model that calls the tool in this way."""
    args: dict[str, Any] = {"kind": kind}
    call = scene.calls(("odd__post", args))
    step = {"id": "p", "capability": "odd.post", "params": args}
    chain = {"name": "row", "description": "Post", "steps": [{"toolName": "odd.post", "arguments": args}]}
    task = ("agent__delegate", {"task": "Post it", "tools": ["odd.post"]})
    ways: dict[str, list[Any]] = {
        "by_plan": [scene.plan(step)],
        "by_loop": [call],
        "by_chain": [scene.calls(("tool__create_chain", chain)), scene.calls(("row", {}))],
        "by_agent": [scene.calls(task), call, "posted"],
    }
    return [*ways[way], "done"]


def opened(scene: Scene, way: str, kind: str) -> Agent:
    """Build an agent that has the tool, as one that writes."""
    with (scene.workspace / "planwright.toml").open("a") as file:
        file.write("[tools]\ntop_k = 40\n")
    McpServers(scene.workspace).plug(
        scene.workspace, {"odd": {"command": sys.executable, "args": [str(SCRIPT), "calls.log"]}}
    )
    return scene.agent(
        *replies(scene, way, kind),
        planning={"mode": MODES[way], "replan_budget": 0},
        approval={"plan": "never", "tool_risk": "Critical", "plan_risk": "Critical"},
        mcp={"odd": {"tools": {"post": {"mode": "local_write", "effect": "blind"}}}},
    )


@pytest.mark.sampled(8)
@pytest.mark.parametrize("way", MODES)
@pytest.mark.parametrize("kind", RESULTS)
def test_an_odd_answer_is_recorded_once(scene: Scene, kind: str, way: str) -> None:
    agent = opened(scene, way, kind)
    output = scene.ask(agent, ASK)
    for _ in range(3):
        if "__interrupt__" in output:
            output = scene.decide(agent, "approve")
    assert output["status"] == "completed", output
    effects = scene.rows("SELECT capability, status FROM effects WHERE capability = 'odd.post'")
    assert [row["status"] for row in effects] == ["done"]
    assert (scene.workspace / "calls.log").read_text() == f"{kind}\n"
