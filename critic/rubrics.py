"""Criteria in words, judged by the model of the role critic; where that role is not set, by nobody."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import JsonValue

from planwright.domain.errors import LimitExceeded, ModelError
from planwright.domain.results import RubricAnswer
from planwright.domain.verified_step import VerifiedStep
from planwright.models.calling import Models
from planwright.models.json_reply import read_json
from planwright.models.model_calls import Prompt
from planwright.prompts import as_data, render
from planwright.state.agent_state import ModelRoute
from planwright.state.invocation import Invocation

CriticRoute = Callable[[ModelRoute], ModelRoute | None]
LONGEST, REASON, JUDGE_S = 12_000, 500, 30
SCHEMA = {
    "type": "object",
    "properties": {"holds": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["holds", "reason"],
}


class Rubrics:
    """Ask the critic's model whether an output meets a criterion in words."""

    def __init__(self, models: Models, critic: CriticRoute) -> None:
        self._models = models
        self._critic = critic

    def judged(self, route: ModelRoute) -> bool:
        """Say whether a run of this route has a model that judges criteria in words."""
        return self._critic(route) is not None

    async def ask(
        self, checked: VerifiedStep, output: JsonValue, route: ModelRoute, invocation: Invocation
    ) -> RubricAnswer | None:
        """Judge one output. None where the step has no such criterion, or nobody could judge it."""
        criterion, critic = checked.step.success_criteria, self._critic(route)
        if criterion is None or not criterion.rubric or critic is None:
            return None
        text = as_data(output)
        short = text if len(text) <= LONGEST else f"{text[:LONGEST]} […]"
        question = render(
            "critic_output",
            task=as_data(checked.step.description),
            expected=as_data(checked.step.expected_output),
            criterion=as_data(criterion.rubric),
            output=short,
        )
        prompt = Prompt(
            "critic", render("critic"), question, SCHEMA, timeout_s=JUDGE_S, max_tokens=REASON, temperature=0
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
