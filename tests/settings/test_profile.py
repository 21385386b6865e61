"""The profile of a run: the request over its agent, the agent over the workspace."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from planwright.domain.errors import SetupError
from planwright.domain.risk import MODES, Mode
from planwright.domain.run_context import RunContext
from planwright.settings.profile import RunProfile, in_force
from planwright.settings.settings import load

WRITER = {
    "planning": "never",
    "max_tool_iterations": 7,
    "tools": ["mail.*", "files.read"],
    "model": "local/big",
    "limits": {"tokens": 100},
    "instructions": " Be brief. ",
}
WORKSPACE: dict[str, Any] = {
    "planning": {"mode": "always"},
    "execution": {"max_tool_iterations": 50, "max_tool_iterations_hard_limit": 60},
    "budgets": {"run": {"tokens": 9, "cost": "0.5"}},
}


def profile(folder: Path, agent: dict[str, Any] | None = None, **options: Any) -> RunProfile:
    settings = load(folder, agents={"writer": agent or {}}, **WORKSPACE)
    return in_force(settings, RunContext(agent="writer", **options))


def test_without_an_agent_the_workspace_holds(tmp_path: Path) -> None:
    found = in_force(load(tmp_path, **WORKSPACE), RunContext())
    assert (found.planning, found.max_tool_iterations, found.tools, found.model) == ("always", 50, None, None)
    assert (found.limits.tokens, found.limits.cost) == (9, Decimal("0.5"))
    assert found.limits.setting("tokens") == "budgets.run.tokens"


def test_an_agent_wins_over_the_workspace_where_it_says_something(tmp_path: Path) -> None:
    found = profile(tmp_path, WRITER)
    assert (found.planning, found.max_tool_iterations, found.model) == ("never", 7, "local/big")
    assert (found.limits.tokens, found.limits.tool_calls, found.limits.cost) == (100, 200, Decimal("0.5"))
    assert found.instructions == "Be brief."


def test_an_agent_that_says_nothing_is_like_the_workspace(tmp_path: Path) -> None:
    found = profile(tmp_path)
    assert (found.planning, found.max_tool_iterations, found.tools) == ("always", 50, None)


def test_the_options_of_a_request_win_over_its_agent(tmp_path: Path) -> None:
    found = profile(tmp_path, WRITER, planning_mode="auto", provider="other")
    assert (found.planning, found.model) == ("auto", "other")
    assert found.setting("planning") == "the request"


def test_no_agent_goes_beyond_the_hard_limit_of_turns(tmp_path: Path) -> None:
    assert profile(tmp_path, {"max_tool_iterations": 500}).max_tool_iterations == 60


def test_every_value_knows_the_setting_it_comes_from(tmp_path: Path) -> None:
    found = profile(tmp_path, WRITER)
    assert found.setting("tools") == "agents.writer.tools"
    assert found.limits.setting("tokens") == "agents.writer.limits.tokens"
    assert found.limits.setting("cost") == "budgets.run.cost"
    assert profile(tmp_path).setting("planning") == "planning.mode"


@pytest.mark.parametrize(
    ("tools", "name", "permitted"),
    [
        (None, "mail.send", True),
        ([], "mail.send", False),
        (["mail.send"], "mail.send", True),
        (["mail.send"], "mail.sender", False),
        (["mail.*"], "mail.send", True),
        (["mail.*"], "email.send", False),
        (["Mail.*"], "mail.send", True),
        (["*"], "mail.send", True),
        ([], "respond", True),
        ([], "clarify", True),
        ([], "datetime.now", False),
    ],
)
def test_an_agent_may_use_what_its_tools_name(
    tmp_path: Path, tools: list[str] | None, name: str, permitted: bool
) -> None:
    assert profile(tmp_path, {} if tools is None else {"tools": tools}).permits(name, "network") is permitted


@pytest.mark.parametrize(
    ("agent", "request_", "modes"),
    [
        (None, None, None),
        (["network", "read_only"], None, ("read_only", "network")),
        (None, ("local_write",), ("local_write",)),
        (["read_only", "network"], ("network", "destructive"), ("network",)),
        (["read_only"], ("destructive",), ()),
        ([], None, ()),
    ],
)
def test_a_run_may_use_the_modes_that_its_agent_and_its_request_both_allow(
    tmp_path: Path, agent: list[str] | None, request_: tuple[Mode, ...] | None, modes: tuple[Mode, ...] | None
) -> None:
    found = profile(tmp_path, {} if agent is None else {"modes": agent}, modes=request_)
    assert found.modes == modes
    for mode in MODES:
        assert found.permits("mail.send", mode) is (modes is None or mode in modes)
    assert found.permits("respond", "read_only")
    assert found.permits("agent.delegate", "delegated")


def test_a_mode_that_is_not_allowed_is_named(tmp_path: Path) -> None:
    found = profile(tmp_path, {"modes": ["read_only"]})
    why = "this run may not use mail.send: it is network, and the modes it may use are read_only"
    assert found.why_not("mail.send", "network") == why
    assert found.setting("modes") == "agents.writer.modes"
    assert found.hash != profile(tmp_path, {"modes": ["network"]}).hash != profile(tmp_path).hash


@pytest.mark.parametrize("change", [*WRITER, "none"])
def test_the_hash_of_a_profile_changes_with_each_of_its_values(tmp_path: Path, change: str) -> None:
    other = {name: value for name, value in WRITER.items() if name != change}
    assert (profile(tmp_path, WRITER).hash == profile(tmp_path, other).hash) is (change == "none")


@pytest.mark.parametrize(
    ("asked", "near"), [("wrtier", "nearest: writer"), ("zz", "there are: writer"), ("", "there are: writer")]
)
def test_an_unknown_agent_is_an_error_that_names_the_near_or_all(
    tmp_path: Path, asked: str, near: str
) -> None:
    with pytest.raises(SetupError) as refused:
        in_force(load(tmp_path, agents={"writer": {}}), RunContext(agent=asked))
    assert refused.value.cause == f"there is no agent {asked!r} ({near})"
    assert "planwright agents ls" in refused.value.next_step
