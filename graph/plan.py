"""The plan: a typed DAG of steps, frozen and hashed.

Field names follow the seeds; the camelCase keys of S0 and S2 and the keys of S3
(`task_objective`) and S4 (`tool`) are accepted on input.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from planwright.graph.canonical import sha256
from planwright.graph.chains import CREATE_CHAIN, Chain
from planwright.graph.model_hint import HintField, ModelHint
from planwright.graph.references import step_references
from planwright.graph.risk import Effect, Mode, Risk

Cascade = Literal["partial", "skip"]
CLOSING = ("respond", "clarify")
DELEGATE = "agent.delegate"
WHOLE = "results.read"  # shows a run its own results, whatever it may use
AGENT = "agent"  # what a step without a capability of its own is shown as


def _risk_word(value: object) -> object:
    return "None" if value is None else value.capitalize() if isinstance(value, str) else value


class Criterion(BaseModel):
    """A CEL expression over `output` that has to hold, or a rubric in words."""

    model_config = ConfigDict(frozen=True)
    cel: str | None = None
    rubric: str | None = None


class Compensation(BaseModel):
    """The call that undoes another; `{{input.…}}` is what that was given, `{{output.…}}` what it returned."""

    model_config = ConfigDict(frozen=True)
    capability: str = Field(validation_alias=AliasChoices("capability", "tool", "toolName"))
    params: dict[str, JsonValue] = Field(
        default_factory=dict, validation_alias=AliasChoices("params", "arguments", "args")
    )


def _criterion(value: object) -> object:
    return {"rubric": value} if isinstance(value, str) and value else value or None


class PlanStep(BaseModel):
    """One node of the plan: a single capability call, its inputs and what counts as success."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    id: str = Field(min_length=1, max_length=64, coerce_numbers_to_str=True)
    capability: str | None = Field(None, validation_alias=AliasChoices("capability", "tool", "toolName"))
    params: dict[str, JsonValue] = Field(
        default_factory=dict, validation_alias=AliasChoices("params", "arguments", "args")
    )
    description: str = Field("", validation_alias=AliasChoices("description", "task_objective"))
    depends_on: tuple[str, ...] = Field((), validation_alias=AliasChoices("depends_on", "dependsOn"))
    inputs: tuple[str, ...] = ()
    tool_hints: tuple[str, ...] = Field((), validation_alias=AliasChoices("tool_hints", "toolHints"))
    context_key: str = Field("", validation_alias=AliasChoices("context_key", "contextKey"))
    expected_output: str = Field("", validation_alias=AliasChoices("expected_output", "expectedOutput"))
    success_criteria: Annotated[Criterion | None, BeforeValidator(_criterion)] = Field(
        None, validation_alias=AliasChoices("success_criteria", "successCriteria")
    )
    estimated_risk: Annotated[Risk, BeforeValidator(_risk_word)] = Field(
        "Low", validation_alias=AliasChoices("estimated_risk", "estimatedRisk")
    )
    approval_mode: Mode | None = Field(None, validation_alias=AliasChoices("approval_mode", "approvalMode"))
    model_hint: HintField = Field(None, validation_alias=AliasChoices("model_hint", "modelHint"))
    on_failed_dependency: Cascade | None = Field(
        None, validation_alias=AliasChoices("on_failed_dependency", "onFailedDependency")
    )
    compensation: Compensation | None = None
    timeout_s: float | None = Field(None, gt=0, validation_alias=AliasChoices("timeout_s", "timeoutS"))

    @property
    def key(self) -> str:
        """The name its output is published under."""
        return self.context_key or self.id

    @property
    def agentic(self) -> bool:
        """Whether a model with `tool_hints` does the step, instead of one fixed call."""
        return not self.capability and bool(self.tool_hints)

    @property
    def routed_by(self) -> ModelHint | None:
        """What decides over the model that does it; a fixed call asks none, so its hint says nothing."""
        return self.model_hint if self.agentic else None

    @property
    def literal(self) -> bool:
        """Whether its params are taken as they stand: references in a chain are for its own calls."""
        return self.capability == CREATE_CHAIN

    @property
    def references(self) -> tuple[str, ...]:
        """The ids of the steps that its params refer to."""
        return () if self.literal else step_references(self.params)

    @property
    def shown_name(self) -> str:
        """What people read as the capability of the step."""
        return AGENT if self.agentic else self.capability or ""

    @property
    def closing(self) -> bool:
        """Whether the step ends the run with words instead of doing something."""
        return self.capability in CLOSING


class Plan(BaseModel):
    """A verified or proposed plan; `plan_hash` covers everything that can change what runs."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    plan_id: str = Field("", validation_alias=AliasChoices("plan_id", "id"))
    revision: int = 1
    goal: str = ""
    intent: str = ""
    steps: tuple[PlanStep, ...] = ()
    on_failed_dependency: Cascade = Field(
        "partial", validation_alias=AliasChoices("on_failed_dependency", "onFailedDependency")
    )

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Plan:
        """Copy the plan; pydantic would take over what was worked out from the old steps, as their hash."""
        copy = super().model_copy(update=update, deep=deep)
        for name in ("plan_hash", "producers"):
            copy.__dict__.pop(name, None)
        return copy

    @cached_property
    def plan_hash(self) -> str:
        """Hash the plan without its name and revision, as 64 hex digits.

        What came later counts only where a step has it: plans on record keep their hash.
        """
        said = self.model_dump(mode="json", exclude={"plan_id", "revision", "intent"})
        for step, fields in zip(self.steps, said["steps"], strict=True):
            if step.routed_by is None:
                del fields["model_hint"]
            if step.compensation is None:
                del fields["compensation"]
        return sha256(said)

    @cached_property
    def producers(self) -> Mapping[str, str]:
        """Map each context key to the id of the step that publishes it."""
        return {step.key: step.id for step in self.steps}

    def dependencies(self, step: PlanStep) -> tuple[str, ...]:
        """List the ids a step waits for: declared, by context key, and by reference."""
        by_key = (self.producers[key] for key in step.inputs if key in self.producers)
        return tuple(dict.fromkeys((*step.depends_on, *by_key, *step.references)))

    @property
    def work(self) -> tuple[PlanStep, ...]:
        """The steps that call a capability (all but `respond` and `clarify`)."""
        return tuple(step for step in self.steps if not step.closing)


class PolicyEvidence(BaseModel):
    """Which rule of which version of the policy asked about a call, who may answer, and how many must.

    `undecided` when it asks only because an argument was not known yet.
    """

    model_config = ConfigDict(frozen=True)
    rule: str
    version: str
    approvers: tuple[str, ...] = ()
    quorum: int = 1
    undecided: bool = False


class CheckedStep(BaseModel):
    """What verification found out about a step that may run; `chain` is what it calls, where that is one.

    `asks`: a person has to approve it, with its plan or, where it is `gated`, at a gate of its own.
    `tainted`: its arguments may hold what others wrote. `pin` names what it calls, and the policy, as they
    were then. `asked_with` names the reply whose one gate shows this call and others. `done_before` says
    which run has done the like, where that is why a person is asked. `kept` is the key of the effect of this
    run whose record counts for the step, or its own uid where it ended before: nothing is called.
    """

    model_config = ConfigDict(frozen=True)

    step: PlanStep
    uid: str
    needs: tuple[str, ...]
    effect: Effect
    mode: Mode
    risk: Risk
    gated: bool
    reason: str = ""
    cascade: Cascade = "partial"
    policy: PolicyEvidence | None = None
    chain: Chain | None = None
    asks: bool = False
    tainted: bool = False
    pin: str = ""
    done_before: str = ""
    kept: str = ""
    asked_with: str = ""

    @property
    def gate_subject(self) -> str:
        """What its gate is about: the call itself, or the reply that asks for several at once."""
        return self.asked_with or self.uid
