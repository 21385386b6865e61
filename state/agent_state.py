"""The state that flows through the graph, and what goes in and comes out."""

from __future__ import annotations

from typing import Annotated, Any

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict

from planwright.domain.model_hint import HintField
from planwright.domain.plan import CheckedStep, Plan
from planwright.domain.results import Finding, RunStatus, StepResult, Verdict
from planwright.state.compaction import Compaction


class ModelRoute(BaseModel):
    """The provider and model that serve this run; `can_call` when the model can call tools.

    It does so `in_words` when it knows no function calling. `chosen` by the request or its agent, or
    given in code: then no other takes its place. Else only one does that has what its step's `hint` requires.
    """

    model_config = ConfigDict(frozen=True)
    provider: str
    model: str
    embedded: bool = False
    can_call: bool = False
    chosen: bool = False
    context: int = 128_000
    in_words: bool = False
    hint: HintField = None

    @property
    def native(self) -> bool:
        """Whether the model knows function calling."""
        return self.can_call and not self.in_words


class PlanningDecision(BaseModel):
    """Whether a request is planned as complex, by which mode, and what it scored."""

    model_config = ConfigDict(frozen=True)
    mode: str
    score: int
    planned: bool
    complex: bool
    agentic: bool = False
    signals: tuple[str, ...] = ()


class Task(BaseModel):
    """One self-contained task, as the planner sees it."""

    model_config = ConfigDict(frozen=True)
    task: str
    depends_on_chat_history: bool = False
    depends_on_memory: bool = False
    memories: tuple[str, ...] = ()


class Attempts(BaseModel):
    """How often this run has planned again, of what its budgets allow, and been talked over.

    `retries` counts how often the critic had steps run again. A plan that is `fixed` was not proposed by a
    model, and no model makes another in its place.
    """

    model_config = ConfigDict(frozen=True)
    replans: int = 0
    reclassifications: int = 0
    plans: int = 0
    edits: int = 0
    responses: int = 0
    escalations: int = 0
    fixed: bool = False
    retries: int = 0

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


class OutputState(TypedDict, total=False):
    """What a caller gets back."""

    messages: Annotated[list[AnyMessage], add_messages]
    answer: str
    status: RunStatus
    plan: Plan | None
    verdict: Verdict | None


class AgentState(TypedDict, total=False):
    """Everything one run knows; when a run begins, `session_event` clears all but the conversation."""

    messages: Annotated[list[AnyMessage], add_messages]
    compacted: Compaction | None
    run_id: str
    request: str
    route: ModelRoute
    benched: list[str]
    tools: list[str]
    decision: PlanningDecision
    task: Task
    shortlist: list[str]
    context_hash: str
    plan: Plan | None
    checked: list[CheckedStep]
    changes: list[str]
    draft: Plan | None
    findings: list[Finding]
    attempts: Attempts
    gate_id: str
    estimate: dict[str, Any]
    approved: bool
    results: Annotated[dict[str, StepResult], merge_results]
    verdict: Verdict | None
    escalates: bool
    executed: Plan | None
    status: RunStatus
    answer: str


class StepTask(TypedDict):
    """What `dispatch` sends to the node or lane that runs one step."""

    run_id: str
    plan_id: str
    plan_hash: str
    plan_gate: str
    goal: str
    route: ModelRoute
    index: int
    total: int
    checked: CheckedStep
    awaits: tuple[str, ...]
