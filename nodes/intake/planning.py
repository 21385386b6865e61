"""planning: decide whether a request is complex (the heuristic complexity classifier)."""

from __future__ import annotations

import re

from langchain_core.runnables import RunnableConfig

from planwright.domain.errors import LimitExceeded, ModelError, SetupError
from planwright.domain.run_context import PlanningMode
from planwright.language.verbs import ACTIONS_OF_A_PLAN
from planwright.models.calling import Models
from planwright.models.model_calls import Prompt
from planwright.prompts import render
from planwright.settings.planning import PlanningSettings
from planwright.state.agent_state import AgentState, AgentUpdate, PlanningDecision
from planwright.state.invocation import Invocation, invocation_of
from planwright.state.node import Node

PLAN_IN_REQUEST = "the plan is given"
_SEQUENCE = re.compile(r"\b(and then|after that|followed by|first|then|next|finally)\b", re.IGNORECASE)
_MULTI_STEP = re.compile(r"\b(step by step|steps|plan|sequence)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[,;]|\band\b", re.IGNORECASE)


def planning(settings: PlanningSettings, models: Models) -> Node[AgentState, AgentUpdate]:
    """Score the request and choose the way: planned at length, planned briefly, or a loop with tools."""

    async def planning(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        invocation = invocation_of(config)
        mode = invocation.profile.planning
        if state.get("plan") is not None:
            decision = PlanningDecision(
                mode=mode, score=0, planned=True, complex=True, signals=(PLAN_IN_REQUEST,)
            )
            invocation.emit("planning_decision", decision.model_dump(mode="json"), "run")
            return {"decision": decision}
        can_call = state["route"].can_call and not invocation.context.dry_run
        decision = decide_planning(state["request"], mode, settings.threshold, can_call)
        has_fast = models.router.role("fast", state["route"]) is not None
        if votes(decision, settings.threshold, has_fast) and not state["route"].embedded:
            vote = await _vote(models, state, invocation)
            decision = decision if vote is None else voted(decision, vote, can_call)
        invocation.emit("planning_decision", decision.model_dump(mode="json"), "run")
        return {"decision": decision}

    return planning


def votes(decision: PlanningDecision, threshold: int, has_fast: bool) -> bool:
    """Say whether a model is asked: always by `llm_decides`, else one point below the threshold.

    There, in the grey band, only where a model is set for the role `fast`.
    """
    grey = decision.mode == "auto" and decision.score == threshold - 1
    return decision.mode == "llm_decides" or (grey and has_fast)


async def _vote(models: Models, state: AgentState, invocation: Invocation) -> bool | None:
    """Ask the model whether a plan is needed; None when it gives no clear answer."""
    request = state["request"]
    prompt = Prompt("planning", render("planning"), request, max_tokens=3, temperature=0)
    try:
        reply = await models.complete(state["route"], prompt, invocation, "planning")
    except (ModelError, LimitExceeded, SetupError):
        return None
    word = reply.strip().lower()
    return True if word.startswith("y") else False if word.startswith("n") else None


def voted(decision: PlanningDecision, vote: bool, can_call: bool) -> PlanningDecision:
    """Replace the score's decision with the model's."""
    agentic = can_call and not vote
    signals = (*decision.signals, f"the model says {'yes' if vote else 'no'}")
    return decision.model_copy(
        update={"planned": not agentic, "complex": vote, "agentic": agentic, "signals": signals}
    )


def decide_planning(
    request: str, mode: PlanningMode, threshold: int = 3, can_call: bool = False
) -> PlanningDecision:
    """Decide by mode, and by score where the mode is `auto`.

    What is not complex is left to a loop when the model can call tools; else it is planned, too.
    """
    score, signals = complexity(request)
    is_complex = mode == "always" or (mode in ("auto", "llm_decides") and score >= threshold)
    agentic = can_call and not is_complex
    return PlanningDecision(
        mode=mode,
        score=score,
        planned=mode != "never" and not agentic,
        complex=is_complex,
        agentic=agentic,
        signals=signals,
    )


def complexity(request: str) -> tuple[int, tuple[str, ...]]:
    """Score a request and name the signals: length, sequence, multi-step language, action verbs."""
    words = re.findall(r"[a-z]+", request.lower())
    heads = [part.split()[0].lower().strip(".") for part in _CLAUSE.split(request) if part.split()]
    acts = sum(head in ACTIONS_OF_A_PLAN for head in heads)
    checks = (
        (1, "longer than 100 characters", len(request) > 100),
        (2, "a sequence", bool(_SEQUENCE.search(request)) or acts >= 3),
        (2, "multi-step language", bool(_MULTI_STEP.search(request))),
        (1, "two or more action verbs", len(ACTIONS_OF_A_PLAN.intersection(words)) >= 2),
    )
    return sum(points for points, _, hit in checks if hit), tuple(name for _, name, hit in checks if hit)
