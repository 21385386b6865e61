"""Criteria in words, judged by the model of the role critic; where that role is not set, by nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from planwright.domain.errors import LimitExceeded, ModelError
from planwright.domain.results import RubricAnswer
from planwright.domain.verified_step import VerifiedStep
from planwright.models.calling import Models
from planwright.models.json_reply import read_json
from planwright.models.model_calls import Prompt
from planwright.prompts import as_data, render, section
from planwright.prompts.fence import fenced
from planwright.state.agent_state import ModelRoute
from planwright.state.invocation import Invocation

CriticRoute = Callable[[ModelRoute], ModelRoute | None]
LONGEST, REASON = 12_000, 500
SCHEMA = {
    "type": "object",
    "properties": {"holds": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["holds", "reason"],
}


@dataclass(frozen=True)
class JudgedStep:
    """A step that has ended well, as the critic's model is shown it."""

    checked: VerifiedStep
    """The step as verified."""
    goal: str
    """Goal of its plan."""
    capability: str
    """Name of what was called, which may have taken the place of what was planned."""
    params: Mapping[str, JsonValue]
    """Values that the call was made with."""
    output: JsonValue
    """Its whole output; None where it brought nothing."""


class Rubrics:
    """Ask the critic's model whether an output meets a criterion in words."""

    def __init__(self, models: Models, critic: CriticRoute) -> None:
        self._models = models
        self._critic = critic

    def judged(self, route: ModelRoute) -> bool:
        """Say whether a run of this route has a model that judges criteria in words."""
        return self._critic(route) is not None

    async def ask(self, judged: JudgedStep, route: ModelRoute, invocation: Invocation) -> RubricAnswer | None:
        """Judge one output. None where the step has no such criterion, or nobody could judge it."""
        checked, critic = judged.checked, self._critic(route)
        criterion = checked.step.success_criteria
        if criterion is None or not criterion.rubric or critic is None:
            return None
        step = checked.step
        called: JsonValue = {"capability": judged.capability, "params": dict(judged.params)}
        question = [
            section("goal", judged.goal),
            section("task", step.description),
            section("expected", step.expected_output),
            "" if step.agentic else section("call", _short(called), foreign=True),
            section("criterion", criterion.rubric),
            f"<output>\n{fenced(as_data(_short(judged.output)))}\n</output>\n",
        ]
        prompt = Prompt(
            "critic", render("critic"), "".join(question), SCHEMA, max_tokens=REASON, temperature=0
        )
        try:
            reply = await self._models.complete(critic, prompt, invocation, f"critic:{checked.uid}")
            answer, _ = read_json(reply)
        except (ModelError, LimitExceeded):
            return None
        holds = answer.get("holds")
        if not isinstance(holds, bool):
            return None
        return RubricAnswer(holds=holds, reason=str(answer.get("reason", ""))[:REASON])


def _short(value: JsonValue) -> JsonValue:
    """Cut what is very long; it is a text then."""
    text = as_data(value)
    return value if len(text) <= LONGEST else f"{text[:LONGEST]} […]"
