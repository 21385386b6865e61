"""The plan: a typed DAG of steps, frozen and hashed. Other spellings of its keys are accepted on input."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
)

from planwright.domain.chain import CREATE_CHAIN
from planwright.domain.declared_returns import read_returns
from planwright.domain.hashing import sha256
from planwright.domain.model_hint import HintField, ModelHint
from planwright.domain.references import cel_paths, step_references
from planwright.domain.risk import Mode, Risk

Cascade = Literal["partial", "skip"]
OnEmpty = Literal["skip", "end", "go_on"]
CLOSING = ("respond", "clarify")
DELEGATE = "agent.delegate"
WHOLE = "results.read"  # shows a run its own results, whatever it may use
AGENT = "agent"  # what a step without a capability of its own is shown as


def _risk_word(value: object) -> object:
    return "None" if value is None else value.capitalize() if isinstance(value, str) else value


class Criterion(BaseModel):
    """A CEL expression over `output` that has to hold, or a rubric in words."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    cel: str | None = None
    """CEL expression over `output` that has to hold; None where the criterion is in words."""
    rubric: str | None = None
    """The criterion in words; None where it is an expression."""

    @model_serializer(mode="wrap")
    def _format(self, fields: SerializerFunctionWrapHandler) -> dict[str, JsonValue]:
        """Keep the fields of one that says nothing: left out, it would be read back as none."""
        return fields(self) or {"cel": None, "rubric": None}


class Compensation(BaseModel):
    """The call that undoes another; `{{input.…}}` is what that was given, `{{output.…}}` what it returned."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    capability: str = Field(validation_alias=AliasChoices("capability", "tool", "toolName"))
    """Name of the capability that undoes; set by the plan or by the capability that is undone."""
    params: dict[str, JsonValue] = Field(
        default_factory=dict, validation_alias=AliasChoices("params", "arguments", "args")
    )
    """Arguments of that call; texts in them may refer to the call that is undone."""


def _criterion(value: object) -> object:
    return {"rubric": value} if isinstance(value, str) and value else value or None


def _no_flag(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("a time is a number of seconds")
    return value


class DecisionCheckpoint(BaseModel):
    """A decision that has to be taken before what builds on a step has an effect."""

    model_config = ConfigDict(frozen=True, populate_by_name=True, extra="forbid")
    decision_id: str = Field(min_length=1, validation_alias=AliasChoices("decision_id", "decisionId"))
    """The name of the decision."""
    after_step: str = Field(min_length=1, validation_alias=AliasChoices("after_step", "afterStep"))
    """The id of the step whose result the decision is about."""


class PlanStep(BaseModel):
    """One node of the plan: a single capability call, its inputs and what counts as success."""

    model_config = ConfigDict(frozen=True, populate_by_name=True, extra="forbid")

    id: str = Field(min_length=1, max_length=64, coerce_numbers_to_str=True)
    """Name of the step within its plan, as others depend on it."""
    capability: str | None = Field(None, validation_alias=AliasChoices("capability", "tool", "toolName"))
    """Name of the capability that is called; None for a step that a model does."""
    params: dict[str, JsonValue] = Field(
        default_factory=dict, validation_alias=AliasChoices("params", "arguments", "args")
    )
    """Arguments of the call; texts in them may refer to results of earlier steps."""
    description: str = Field("", validation_alias=AliasChoices("description", "task_objective"))
    """What the step is for, in words; an agentic step is told it."""
    depends_on: tuple[str, ...] = Field((), validation_alias=AliasChoices("depends_on", "dependsOn"))
    """Ids of the steps that have to end before it begins."""
    inputs: tuple[str, ...] = ()
    """Context keys of earlier steps whose output it uses."""
    tool_hints: tuple[str, ...] = Field((), validation_alias=AliasChoices("tool_hints", "toolHints"))
    """Names of the capabilities that a model may use where the step has none of its own; it may need none."""
    context_key: str = Field("", validation_alias=AliasChoices("context_key", "contextKey"))
    """Name under which its output is published to `inputs` of later steps; "" for its id."""
    returns: Annotated[dict[str, JsonValue] | None, BeforeValidator(read_returns)] = None
    """JSON Schema of what a model returns that does the step; None for its words, as `text`."""
    expected_output: str = Field("", validation_alias=AliasChoices("expected_output", "expectedOutput"))
    """What the step should bring, in words, for the model that does it and for the critic; else ""."""
    success_criteria: Annotated[Criterion | None, BeforeValidator(_criterion)] = Field(
        None, validation_alias=AliasChoices("success_criteria", "successCriteria")
    )
    """What its output has to meet; None for nothing beyond its end."""
    estimated_risk: Annotated[Risk, BeforeValidator(_risk_word)] = Field(
        "Low", validation_alias=AliasChoices("estimated_risk", "estimatedRisk")
    )
    """Risk as the planner sees it; the capability's own counts where it is higher."""
    approval_mode: Mode | None = Field(None, validation_alias=AliasChoices("approval_mode", "approvalMode"))
    """Mode that the planner takes the call for; one looser than the capability declares is a finding."""
    model_hint: HintField = Field(None, validation_alias=AliasChoices("model_hint", "modelHint"))
    """What an agentic step asks of its model; None for no wish."""
    on_failed_dependency: Cascade | None = Field(
        None, validation_alias=AliasChoices("on_failed_dependency", "onFailedDependency")
    )
    """Whether it runs with what is left when a step it needs brings nothing; None for as the plan says."""
    on_empty: OnEmpty | None = Field(None, validation_alias=AliasChoices("on_empty", "onEmpty"))
    """What becomes of it where it refers to an item of a list that is empty; None is `skip`.

    `skip`: it is left out, with what needs it. `end`: the plan ends there, and what has not begun is left
    out. `go_on`: it runs, with null or an empty text in that place.
    """
    when: Annotated[str, StringConstraints(strip_whitespace=True)] = ""
    """CEL over `steps.<id>.output` of earlier steps; it is left out where that is false. "" for always."""
    compensation: Compensation | None = None
    """The call that undoes it, where the plan names one; None for what its capability declares."""
    timeout_s: Annotated[float | None, BeforeValidator(_no_flag)] = Field(
        None, gt=0, allow_inf_nan=False, validation_alias=AliasChoices("timeout_s", "timeoutS")
    )
    """Most seconds that it may take; None for as long as the settings allow."""
    requires: tuple[Annotated[str, Field(min_length=1)], ...] = Field((), max_length=8)
    """The named gates of the policy that people have to open before the step begins; set by the plan."""

    @property
    def key(self) -> str:
        """The name its output is published under."""
        return self.context_key or self.id

    @property
    def agentic(self) -> bool:
        """Whether a model does the step, with the tools of its hints or with none, and not one fixed call."""
        return not self.capability

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
    def conditions(self) -> tuple[str, ...]:
        """The ids of the steps that its condition reads."""
        return tuple(dict.fromkeys(path[1] for path in cel_paths(self.when, "steps") if len(path) > 1))

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

    model_config = ConfigDict(frozen=True, populate_by_name=True, extra="forbid")

    plan_id: str = Field("", validation_alias=AliasChoices("plan_id", "id"))
    """Id of the plan, made by the planner; no part of the hash."""
    revision: int = 1
    """Number of the plan within its run, counted from 1; no part of the hash."""
    goal: str = ""
    """What the plan is for, in words, by the planner."""
    intent: str = ""
    """What the planner took the request to mean; no part of the hash."""
    cannot: str = ""
    """What of the request it leaves undone, and why, by the planner; "" for nothing."""
    steps: tuple[PlanStep, ...] = ()
    """Steps in the order in which they were written; dependencies decide when they run."""
    on_failed_dependency: Cascade = Field(
        "partial", validation_alias=AliasChoices("on_failed_dependency", "onFailedDependency")
    )
    """What steps do that say nothing themselves when a step they need brings nothing."""
    decision_checkpoints: tuple[DecisionCheckpoint, ...] = Field(
        (), validation_alias=AliasChoices("decision_checkpoints", "decisionCheckpoints")
    )
    """Decisions that steps wait for; set by the plan."""

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
        content = self.model_dump(mode="json", exclude={"plan_id", "revision", "intent"})
        for step, fields in zip(self.steps, content["steps"], strict=True):
            if step.routed_by is None:
                del fields["model_hint"]
            if step.compensation is None:
                del fields["compensation"]
            if not step.requires:
                del fields["requires"]
            if step.returns is None:
                del fields["returns"]
            if step.on_empty is None:
                del fields["on_empty"]
            if not step.when:
                del fields["when"]
        if not self.decision_checkpoints:
            del content["decision_checkpoints"]
        if not self.cannot:
            del content["cannot"]
        return sha256(content)

    @cached_property
    def producers(self) -> Mapping[str, str]:
        """Map each context key to the id of the step that publishes it."""
        return {step.key: step.id for step in self.steps}

    def dependencies(self, step: PlanStep) -> tuple[str, ...]:
        """List the ids a step waits for: declared, by context key, by reference, and by its condition."""
        by_key = (self.producers[key] for key in step.inputs if key in self.producers)
        return tuple(dict.fromkeys((*step.depends_on, *by_key, *step.references, *step.conditions)))

    @property
    def work(self) -> tuple[PlanStep, ...]:
        """The steps that call a capability (all but `respond` and `clarify`)."""
        return tuple(step for step in self.steps if not step.closing)
