"""The keys under which plans come, and the field each of them means.

Models mix the plan formats they have seen. A key in any spelling of a field (`dependsOn`, `Depends On`) means
that field, and so does a synonym of it. What is neither is an error, never left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import AliasChoices, BaseModel

from planwright.domain.plan import Compensation, Criterion, DecisionCheckpoint, Plan, PlanStep


@dataclass(frozen=True)
class Form:
    """One level of a plan: its model, and words that mean its fields, separated by spaces."""

    model: type[BaseModel]
    """Model of this level of a plan."""
    synonyms: Mapping[str, str]
    """Words that mean a field, separated by spaces, by the name of the field."""

    @cached_property
    def official(self) -> Mapping[str, str]:
        """Map the spellings that the model declares to its fields."""
        return {
            key: name for name, field in self.model.model_fields.items() for key in _declared(name, field)
        }

    @cached_property
    def _meanings(self) -> Mapping[str, str]:
        words = {squeezed(key): name for key, name in self.official.items()}
        for name, spellings in self.synonyms.items():
            words |= {squeezed(word): name for word in spellings.split()}
        return words

    def field(self, key: str) -> str | None:
        """Name the field that a key means; None where it means none."""
        return self.official.get(key) or self._meanings.get(squeezed(key))

    def nearest(self, key: str, others: Iterable[str] = ()) -> str:
        """Say in words which key may have been meant."""
        from rapidfuzz import fuzz, process  # here: only a mistake needs it

        names = [*self.model.model_fields, *others]
        near = process.extractOne(
            squeezed(key), names, scorer=fuzz.ratio, processor=squeezed, score_cutoff=60
        )
        return f"did you mean `{near[0]}`?" if near else f"there are {', '.join(names)}"


def squeezed(key: str) -> str:
    """Spell a key without case and separators: `dependsOn`, `depends_on` and `Depends On` are one."""
    return "".join(character for character in key.casefold() if character.isalnum())


def _declared(name: str, field: Any) -> set[str]:
    alias = field.validation_alias
    return {name, *map(str, alias.choices)} if isinstance(alias, AliasChoices) else {name}


_CALL = {
    "capability": "capability_name tool_to_use tool_id function function_name action operation method call",
    "params": (
        "parameters param kwargs arg args_json with payload tool_input tool_args tool_arguments tool_params"
        " action_input function_arguments input_params"
    ),
}
PLAN = Form(
    Plan,
    {
        "goal": "objective task title description summary request user_request",
        "steps": "tasks plan actions plan_steps step_list subtasks",
        "decision_checkpoints": "checkpoints decisions",
    },
)
STEP = Form(
    PlanStep,
    {
        **_CALL,
        "id": "step_id task_id",
        "description": "objective task title instruction instructions purpose summary label",
        "depends_on": (
            "needs after dependencies dependency depends depend_on dependent_on deps prerequisites"
            " prerequisite prereqs wait_for waits_for wait_on waits_on predecessors previous_steps"
            " required_steps requires_steps run_after runs_after follows blocked_by upstream parents"
        ),
        "inputs": "input_keys context_keys",
        "tool_hints": "tools allowed_tools suggested_tools hints tool_names",
        "context_key": "output_key output_name publishes save_as store_as",
        "returns": "output_schema response_schema result_schema",
        "expected_output": "output expected_result expected output_type",
        "success_criteria": "success_criterion acceptance_criteria success success_condition",
        "estimated_risk": "risk risk_level risk_estimate",
        "approval_mode": "mode",
        "requires": "gates gate named_gates required_gates requires_gates",
        "model_hint": "model_hints model_requirements",
        "on_failed_dependency": "on_dependency_failure on_failure_of_dependency",
        "on_empty": "if_empty on_nothing if_nothing on_nothing_found on_no_results when_empty",
        "when": "only_if only_when condition run_if",
        "compensation": "undo undone_by rollback compensate",
        "timeout_s": "timeout timeout_seconds timeout_sec",
    },
)
CRITERION = Form(
    Criterion, {"cel": "expression expr cel_expression", "rubric": "text words description criteria"}
)
COMPENSATION = Form(Compensation, {**_CALL, "capability": f"{_CALL['capability']} name"})
CHECKPOINT = Form(
    DecisionCheckpoint, {"decision_id": "decision id", "after_step": "after step step_id after_step_id"}
)
