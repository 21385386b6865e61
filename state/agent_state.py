"""The state that flows through the graph, and what goes in and comes out."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypeAlias

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from pydantic import BaseModel, ConfigDict, JsonValue
from typing_extensions import TypedDict

from planwright.domain.errors import RunError
from planwright.domain.model_hint import HintField
from planwright.domain.plan import Plan
from planwright.domain.results import Finding, RunStatus, RunVerdict, StepResult
from planwright.domain.verified_step import VerifiedStep
from planwright.state.compaction import Compaction


class ModelRoute(BaseModel):
    """The provider and model that serve this run; `can_call` when the model can call tools.

    It does so `in_words` when it knows no function calling. `chosen` by the request or its agent, or
    given in code: then no other takes its place. Else only one does that has what its step's `hint` requires.
    """

    model_config = ConfigDict(frozen=True)
    provider: str
    """Name of the provider in the settings; `embedded`: the planner built in, `given`: a model from code."""
    model: str
    """Name of the model as its provider knows it."""
    embedded: bool = False
    """Whether the planner that is built in serves, which needs no network and makes no second plan."""
    can_call: bool = False
    """Whether the model can call tools, by function calling or in words."""
    chosen: bool = False
    """Whether the request, its agent or code named it; then no other takes its place when it fails."""
    context: int = 128_000
    """Size of the model's context in tokens, from the settings."""
    in_words: bool = False
    """Whether it calls tools by blocks of text in its reply, for want of function calling."""
    hint: HintField = None
    """What the step asks of its model; None for no wish. A model that takes its place has to meet it, too."""

    @property
    def native(self) -> bool:
        """Whether the model knows function calling."""
        return self.can_call and not self.in_words


class PlanningDecision(BaseModel):
    """Whether a request is planned as complex, by which mode, and what it scored."""

    model_config = ConfigDict(frozen=True)
    mode: str
    """Planning mode of the run: `auto`, `llm_decides`, `always` or `never`."""
    score: int
    """Points for signs of complexity in the request; 0 where a plan was given."""
    planned: bool
    """Whether a plan is made."""
    complex: bool
    """Whether the request is held for complex: by mode, score, or the vote of a model."""
    agentic: bool = False
    """Whether a loop with tools serves the request instead of a plan."""
    signals: tuple[str, ...] = ()
    """What the points were given for, in words, and what a model voted."""


class Task(BaseModel):
    """One self-contained task, as the planner sees it."""

    model_config = ConfigDict(frozen=True)
    task: str
    """The request, in words that need no earlier message to be understood."""
    depends_on_chat_history: bool = False
    """Whether a model says that the messages before matter; then the planner is shown them."""
    depends_on_memory: bool = False
    """Whether memories were found that fit the request."""
    memories: tuple[str, ...] = ()
    """Texts of the memories that fit the request, shown to the planner."""


class Attempts(BaseModel):
    """How often this run has planned again, of what its budgets allow, and been talked over.

    `retries` counts how often the critic had steps run again. A plan that is `fixed` was not proposed by a
    model, and no model makes another in its place.
    """

    model_config = ConfigDict(frozen=True)
    replans: int = 0
    """How often the planner was asked again: by `verify`, by the critic, or by a person."""
    reclassifications: int = 0
    """How often the shortlist was drawn up again because a plan named an unknown capability."""
    plans: int = 0
    """How many plans were proposed; `planner` counts each time it was heard, also when it had no plan."""
    edits: int = 0
    """How many edits of a plan by people were accepted."""
    responses: int = 0
    """How often a person answered a gate with words instead of a decision."""
    escalations: int = 0
    """How often a person was asked what is to become of the run as it stands."""
    fixed: bool = False
    """Whether the plan is not of a model's making (an undo), so that no model makes another."""
    retries: int = 0
    """How often the critic had steps run again."""

    def replans_left(self, budget: int) -> int:
        """Say how often the planner may be asked again."""
        return 0 if self.fixed else max(budget - self.replans, 0)

    @property
    def revision(self) -> int:
        """The number of the newest plan: every proposal and every edit makes one."""
        return self.plans + self.edits


def merge_results(left: dict[str, StepResult], right: dict[str, StepResult]) -> dict[str, StepResult]:
    """Join settled steps by their uid, which is unique to a run and a step."""
    return {**left, **right}


class InputState(TypedDict):
    """What a caller sends: the new messages of a conversation."""

    messages: Annotated[list[AnyMessage], add_messages]
    """New messages of the caller; LangGraph adds them to the thread by their ids."""


class OutputState(TypedDict, total=False):
    """What a caller gets back."""

    messages: Annotated[list[AnyMessage], add_messages]
    """The whole conversation of the thread, with the answer as its last message."""
    answer: str
    """The words that the run ended with."""
    answer_value: dict[str, JsonValue] | None
    """The typed answer, by the `answer_schema` of the run; None where it has none, or ended without one."""
    status: RunStatus | Literal["interrupted"]
    """How the run ended; `interrupted` while it waits for a person."""
    plan: Plan | None
    """The newest plan; None where none was made."""
    verdict: RunVerdict | None
    """The critic's last ruling; None before one, and in runs without a plan."""


class AgentState(TypedDict, total=False):
    """Everything one run knows; when a run begins, `session_event` clears all but the conversation."""

    messages: Annotated[list[AnyMessage], add_messages]
    """The whole conversation of the thread; nothing is taken out of it."""
    compacted: Compaction | None
    """What is left out of the conversation when a model is shown it; None while all of it fits."""
    run_id: str
    """Id of the run, made by the door."""
    request: str
    """The newest message of the user, as text."""
    route: ModelRoute
    """Provider and model of the run; set by `capability_routing`."""
    benched: list[str]
    """Names of providers whose budget is used up, so that they are passed over; set by `budget`."""
    tools: list[str]
    """Names of the capabilities that a loop is offered, the best match first; set by `tool_filter`."""
    decision: PlanningDecision
    """Whether and how the run is planned; set by `planning`."""
    task: Task
    """The request as the planner sees it; set by `task_extraction`."""
    shortlist: list[str]
    """Names of the capabilities that the planner is shown; set by `classification`."""
    context_hash: str
    """Hash of what the planner was last shown, which lies in the blob store; "" before that."""
    plan: Plan | None
    """The newest plan, proposed or verified; None before one, and while another is asked for."""
    checked: list[VerifiedStep]
    """The steps of the plan that passed `verify`, in the order of their dependencies."""
    changes: list[str]
    """What a person changed of the plan before it, a sentence each; empty for a plan of the planner."""
    done: list[str]
    """Uids of the steps that earlier plans have done and the newest has in front; set by `planner`."""
    draft: Plan | None
    """The plan that a person commented on or rejected, for the planner to work on; else None."""
    findings: list[Finding]
    """What is wrong with the last plan or run; the planner is told when it is asked again."""
    attempts: Attempts
    """How often the run has planned, run steps again and been talked over."""
    gate_id: str
    """Id of the gate of the plan; "" where no person has to approve it."""
    estimate: dict[str, Any]
    """What the plan needs at least, as `in_all` spells it; set by `verify`."""
    reading: bool
    """Whether only the reads of the plan run, before a person is asked; set by `verify`."""
    approved: bool
    """Whether a person has approved the newest plan."""
    results: Annotated[dict[str, StepResult], merge_results]
    """How steps ended, by the uid of the step."""
    verdict: RunVerdict | None
    """The critic's last ruling over the run; None before one."""
    escalates: bool
    """Whether a person is asked what is to become of the run; set by `score` and `no_other_plan`."""
    executed: Plan | None
    """The plan that ran before a re-plan, to fall back on where no other is found; else None."""
    calls: list[AnyMessage]
    """Calls of the run's loop and what they brought; `session_close` adds them to the conversation."""
    status: RunStatus
    """How the run stands; set by the node that ends it, or makes it wait."""
    answer: str
    """The words that the run ends with; empty until a node has them."""
    answer_schema: dict[str, JsonValue] | None
    """JSON Schema of the typed answer that is wanted; None for words alone; set by `session_event`."""
    answer_value: dict[str, JsonValue] | None
    """The typed answer; None before one, and where none is wanted; set by `answer_value`."""
    tells_deeds: bool
    """Whether the answer tells by itself what was done and what was not."""


AgentUpdate: TypeAlias = AgentState  # what a node changes: every key may be left out


def plan_of(state: AgentState) -> Plan:
    """Read the plan of a run that has one. Raises RunError where its state was changed from outside."""
    if (plan := state["plan"]) is None:
        raise _changed(state, "plan")
    return plan


def verdict_of(state: AgentState) -> RunVerdict:
    """Read the verdict of a run that was scored. Raises RunError where its state was changed from outside."""
    if (verdict := state["verdict"]) is None:
        raise _changed(state, "verdict")
    return verdict


def _changed(state: AgentState, name: str) -> RunError:
    cause = f"run {state['run_id']} has no {name} where it needs one: its state was changed from outside"
    return RunError(cause, f"end it: planwright cancel {state['run_id']}")


class StepTask(TypedDict):
    """What `dispatch` sends to the node or lane that runs one step."""

    run_id: str
    """Id of the run that the step belongs to."""
    plan_id: str
    """Id of the verified plan."""
    plan_hash: str
    """Hash of the verified plan, 64 hex digits; the gateway lets only its steps pass."""
    plan_gate: str
    """Id of the gate of the plan; "" where no person had to approve it."""
    goal: str
    """Goal of the plan, in words."""
    route: ModelRoute
    """Provider and model of the run, which an agentic step uses unless its hint asks for another."""
    index: int
    """Position of the step in the plan, counted from 1, for progress."""
    total: int
    """Number of the steps of the plan."""
    checked: VerifiedStep
    """The step with all that verification found out about it."""
    awaits: tuple[str, ...]
    """Uids of the steps that have to end first: those it needs, or all earlier waves by order `waves`."""
    ends: tuple[str, ...]
    """Uids of the other steps with which the plan ends where they find nothing."""
    edited: NotRequired[dict[str, JsonValue] | None]
    """Arguments that a person gave the call at its gate; None where it is made as planned."""
