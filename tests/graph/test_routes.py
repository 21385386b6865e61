"""Where a run goes next."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from planwright.domain.plan import Plan, PlanStep
from planwright.domain.results import TERMINAL, Finding, RunVerdict, StepResult
from planwright.domain.verified_step import VerifiedStep
from planwright.graph import routes
from planwright.planning.step_identity import uid_of
from planwright.state.agent_state import AgentState, PlanningDecision


def plan(*capabilities: str) -> Plan:
    return Plan.model_validate(
        {"steps": [{"id": str(n), "tool": name} for n, name in enumerate(capabilities)]}
    )


def state(**values: Any) -> AgentState:
    made: AgentState = values  # type: ignore[assignment]
    return made


def decision(planned: bool, complex_: bool) -> PlanningDecision:
    return PlanningDecision(mode="auto", score=0, planned=planned, complex=complex_)


ONE = [HumanMessage("a")]
TWO = [HumanMessage("a"), AIMessage("b"), HumanMessage("c")]
UNKNOWN = Finding(code="unknown_capability", message="m")
CYCLE = Finding(code="cycle", message="m")
CHECKED = VerifiedStep(
    step=PlanStep(id="s", capability="a.b"),
    uid="u",
    needs=(),
    effect="pure",
    mode="read_only",
    risk="None",
    gated=True,
)
RESULT = StepResult(uid="u", step_id="s", capability="c", status="failed")


@pytest.mark.parametrize("status", sorted(TERMINAL))
async def test_a_run_that_has_ended_goes_nowhere_but_to_its_end(status: str) -> None:
    ended = state(status=status, plan=plan("a.b", "respond"), gate_id="", approved=True)
    ways = (
        routes.after_budget,
        routes.after_task,
        routes.after_planner,
        routes.after_verify,
        routes.after_approval,
    )
    assert [await way(ended) for way in ways] == ["consolidate"] * len(ways)


@pytest.mark.parametrize("status", ["running", "waiting", None])
async def test_a_run_that_goes_on_passes_the_outer_zone(status: str | None) -> None:
    going = state() if status is None else state(status=status)
    assert await routes.after_budget(going) == "capability_routing"
    assert await routes.after_task(going) == "classification"


@pytest.mark.parametrize(
    ("planned", "complex_", "messages", "expected"),
    [
        (False, False, ONE, "respond"),
        (False, True, TWO, "respond"),
        (True, False, ONE, "classification"),
        (True, True, ONE, "task_extraction"),
        (True, False, TWO, "task_extraction"),
    ],
    ids=["not planned", "never planned", "simple", "complex", "a conversation"],
)
async def test_planning_chooses_the_way(
    planned: bool, complex_: bool, messages: list[Any], expected: str
) -> None:
    given = state(decision=decision(planned, complex_), messages=messages)
    assert await routes.after_planning(given) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"plan": plan("a.b", "respond"), "gate_id": ""}, "dispatch"),
        ({"plan": plan("a.b", "respond"), "gate_id": "gate_1"}, "plan_gate"),
        ({"plan": plan("respond"), "gate_id": ""}, "respond"),
        ({"plan": plan("clarify"), "gate_id": ""}, "clarify"),
        ({"plan": None, "findings": [UNKNOWN, CYCLE]}, "classification"),
        ({"plan": None, "findings": [CYCLE]}, "planner"),
    ],
    ids=["run", "ask", "answer", "clarify", "look further", "plan again"],
)
async def test_verification_leads_to_a_person_to_work_to_words_or_back(
    values: dict[str, Any], expected: str
) -> None:
    assert await routes.after_verify(state(status="running", **values)) == expected


async def test_a_planner_without_a_plan_ends_the_run() -> None:
    assert await routes.after_planner(state(plan=None)) == "consolidate"
    assert await routes.after_planner(state(plan=plan("respond"))) == "verify"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"approved": True}, "dispatch"),
        ({"approved": False}, "planner"),
        ({}, "planner"),
        ({"approved": False, "plan": plan("a.b"), "changes": ["removed s1 a.b"]}, "verify"),
        ({"approved": False, "plan": plan("a.b"), "changes": []}, "planner"),
        ({"approved": False, "plan": None, "changes": ["removed s1 a.b"]}, "planner"),
    ],
    ids=["approved", "rejected", "undecided", "edited", "not edited", "rejected after an edit"],
)
async def test_only_an_approval_leads_to_execution(values: dict[str, Any], expected: str) -> None:
    assert await routes.after_approval(state(status="running", **values)) == expected


@pytest.mark.parametrize(
    ("ruling", "closing", "expected"),
    [
        ("replan", "respond", "planner"),
        ("accept", "respond", "respond"),
        ("escalate", "respond", "respond"),
        ("accept", "clarify", "clarify"),
        ("replan", "clarify", "planner"),
    ],
)
async def test_the_verdict_leads_back_to_the_planner_or_to_words(
    ruling: str, closing: str, expected: str
) -> None:
    verdict = RunVerdict.model_validate({"run_id": "r", "plan_id": "p", "verdict": ruling})
    assert await routes.after_score(state(verdict=verdict, plan=plan("a.b", closing))) == expected


@pytest.mark.parametrize(
    ("known", "ends"), [({"results": {"u": RESULT}}, True), ({"results": {}}, False), ({}, False)]
)
async def test_a_lane_ends_when_its_step_has_a_result(known: dict[str, Any], ends: bool) -> None:
    lane: Any = {**known, "step_task": {"checked": CHECKED}}
    assert await routes.after_inputs(lane) == ("__end__" if ends else "request_gate")
    assert await routes.after_request(lane) == ("__end__" if ends else "wait_gate")


async def test_a_step_without_a_capability_is_done_by_an_agent() -> None:
    step = PlanStep(id="s", description="look around", tool_hints=("a.b",))
    checked = CHECKED.model_copy(update={"step": step})
    for again, node in enumerate(("agentic_step", "another_approach")):
        attempt = checked.model_copy(update={"uid": uid_of("run_1", step, checked.needs, again)})
        lane: Any = {"step_task": {"run_id": "run_1", "checked": attempt}}
        assert await routes.after_inputs(lane) == node
