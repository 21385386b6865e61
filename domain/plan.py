"""The plan: a typed DAG of steps, frozen and hashed. Other spellings of its keys are accepted on input."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from planwright.domain.chain import CREATE_CHAIN, Chain
from planwright.domain.hashing import sha256
from planwright.domain.model_hint import HintField, ModelHint
from planwright.domain.references import step_references
from planwright.domain.risk import Effect, Mode, Risk

Cascade = Literal["partial", "skip"]
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


class Compensation(BaseModel):
    """The call that undoes another; `{{input.…}}` is what that was given, `{{output.…}}` what it returned."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    capability: str = Field(validation_alias=AliasChoices("capability", "tool", "toolName"))
    params: dict[str, JsonValue] = Field(
        default_factory=dict, validation_alias=AliasChoices("params", "arguments", "args")
    )


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
    """Name of the capability that is called; None for a step that a model does with `tool_hints`."""
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
    """Names of the capabilities that a model may use where the step has no capability of its own."""
    context_key: str = Field("", validation_alias=AliasChoices("context_key", "contextKey"))
    """Name under which its output is published to `inputs` of later steps; "" for its id."""
    expected_output: str = Field("", validation_alias=AliasChoices("expected_output", "expectedOutput"))
    success_criteria: Annotated[Criterion | None, BeforeValidator(_criterion)] = Field(
        None, validation_alias=AliasChoices("success_criteria", "successCriteria")
    )
    """What its output has to meet; None for nothing beyond its end."""
    estimated_risk: Annotated[Risk, BeforeValidator(_risk_word)] = Field(
        "Low", validation_alias=AliasChoices("estimated_risk", "estimatedRisk")
    )
    approval_mode: Mode | None = Field(None, validation_alias=AliasChoices("approval_mode", "approvalMode"))
    model_hint: HintField = Field(None, validation_alias=AliasChoices("model_hint", "modelHint"))
    on_failed_dependency: Cascade | None = Field(
        None, validation_alias=AliasChoices("on_failed_dependency", "onFailedDependency")
    )
    compensation: Compensation | None = None
    timeout_s: Annotated[float | None, BeforeValidator(_no_flag)] = Field(
        None, gt=0, allow_inf_nan=False, validation_alias=AliasChoices("timeout_s", "timeoutS")
    )
    requires: tuple[Annotated[str, Field(min_length=1)], ...] = Field((), max_length=8)
    """The named gates of the policy that people have to open before the step begins; set by the plan."""

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

    model_config = ConfigDict(frozen=True, populate_by_name=True, extra="forbid")

    plan_id: str = Field("", validation_alias=AliasChoices("plan_id", "id"))
    """Id of the plan, made by the planner; no part of the hash."""
    revision: int = 1
    goal: str = ""
    intent: str = ""
    steps: tuple[PlanStep, ...] = ()
    on_failed_dependency: Cascade = Field(
        "partial", validation_alias=AliasChoices("on_failed_dependency", "onFailedDependency")
    )
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
        if not self.decision_checkpoints:
            del content["decision_checkpoints"]
        return sha256(content)

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


class OrderEdge(BaseModel):
    """A step that another one follows because both use a resource, and neither needs the other's result.

    `uid` is the earlier step's; `resource` is the name of what both use, as cards show it.
    """

    model_config = ConfigDict(frozen=True)
    uid: str
    resource: str


class StepGate(BaseModel):
    """A gate that people open before a step begins, and nothing else does; set by verification."""

    model_config = ConfigDict(frozen=True)
    name: str
    """Its name in the policy, or that of the decision it stands for."""
    approvers: tuple[str, ...] = ()
    """Who may approve; empty for anybody."""
    quorum: int = 1
    """How many different people have to approve."""
    expires_s: float | None = None
    """How long it waits, in seconds; None for as long as other gates."""
    reason: str = ""
    """Why it is asked."""


class VerifiedStep(BaseModel):
    """What verification found out about a step that may run; `chain` is what it calls, where that is one.

    `asks`: a person has to approve it, with its plan or, where it is `gated`, at a gate of its own.
    `tainted`: its arguments may hold what others wrote. `pin` names what it calls, and the policy, as they
    were then. `asked_with` names the reply whose one gate shows this call and others. `done_before` says
    which run has done the like, where that is why a person is asked. `kept` is the key of the effect of this
    run whose record counts for the step, or its own uid where it ended before: nothing is called. `follows`
    are the steps that have to end before it begins, however they end; they are no part of its uid.
    """

    model_config = ConfigDict(frozen=True)

    step: PlanStep
    """The step as planned, closed and repaired by verification."""
    uid: str
    """Id of the step within its run; the same for the same step after a crash."""
    needs: tuple[str, ...]
    """Uids of the steps whose results it needs; it is skipped where one brought none, by its cascade."""
    effect: Effect
    """Effect class of the call, narrowed to these arguments."""
    mode: Mode
    """Mode of the call, from its declaration."""
    risk: Risk
    """Risk of the call, narrowed to these arguments."""
    gated: bool
    """Whether a person decides at a gate of its own, beside that of the plan."""
    reason: str = ""
    """Why a person is asked, for the card; "" where nobody is."""
    cascade: Cascade = "partial"
    """Whether it runs with what is left when some step it needs brings nothing, or is skipped."""
    policy: PolicyEvidence | None = None
    """What the policy said where it asks; None where no rule did."""
    chain: Chain | None = None
    asks: bool = False
    """Whether a person has to approve it, with its plan or at its own gate."""
    tainted: bool = False
    pin: str = ""
    """Hash of what it calls and of the policy when it was verified; another now means verify anew."""
    done_before: str = ""
    kept: str = ""
    """Idempotency key of the effect whose record counts for it, or its uid; "" where it has to be called."""
    asked_with: str = ""
    follows: tuple[OrderEdge, ...] = ()
    gates: tuple[StepGate, ...] = ()
    """The gates it has to pass, one after another, before it begins; beside its own, if it is `gated`."""
    decisions: tuple[str, ...] = ()
    """The decisions that its plan says are to be taken before it."""

    @property
    def gate_subject(self) -> str:
        """What its gate is about: the call itself, or the reply that asks for several at once."""
        return self.asked_with or self.uid
