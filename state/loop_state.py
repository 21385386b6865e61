"""The state of an agentic loop: a model, its tools, and the conversation between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict

from planwright.domain.hashing import canonical_json, sha256
from planwright.domain.plan import CheckedStep
from planwright.state.agent_state import ModelRoute
from planwright.state.compaction import Compaction
from planwright.state.lane_budget import LaneBudget


class LoopTask(BaseModel):
    """What a loop works on. `lane` names it within its run: `main`, or the uid of a step or call.

    `depth` counts the agents above it; `budgets` are those of its lane and of the lanes above it.
    """

    model_config = ConfigDict(frozen=True)
    lane: str
    plan_hash: str = ""
    goal: str
    route: ModelRoute
    tools: tuple[str, ...]
    depth: int = 0
    max_turns: int | None = None
    budgets: tuple[LaneBudget, ...] = ()


class ToolCall(BaseModel):
    """One call of a model's reply: verified, or with the reason why it will not be made.

    A text that it would remember, and that does not stand in the user's own words, is `proposed` instead.
    """

    model_config = ConfigDict(frozen=True)
    call_id: str
    index: int
    name: str
    checked: CheckedStep | None = None
    error: str = ""
    answer: str = ""
    proposed: str = ""

    @property
    def made(self) -> str:
        """The capability that is called; empty when none will be."""
        return (self.checked.step.capability or "") if self.checked and not self.error else ""

    @property
    def asks(self) -> bool:
        """Whether the call is a question to a person instead of an action."""
        return self.made == "clarify"

    @property
    def waits(self) -> bool:
        """Whether a person has to decide over the call, or answer it, first."""
        return bool(self.made) and (self.asks or (self.checked is not None and self.checked.gated))

    @property
    def signature(self) -> str:
        """The tool and its arguments, as one text that is the same for the same call."""
        said = canonical_json(self.checked.step.params) if self.checked else self.error or self.proposed
        short = said if len(said) <= 300 else f"{said[:200]}… {sha256(said)[:16]}"
        return f"{self.name}({short})"


class CallDoubt(BaseModel):
    """That nobody knows whether a call happened: still `open`, `decided` by a person, or `left` by them.

    `uid` is that of the call, or of the part of a chain, which has the effect.
    """

    model_config = ConfigDict(frozen=True)
    call_id: str
    uid: str
    status: Literal["open", "decided", "left"] = "open"


def merge_doubts(left: dict[str, CallDoubt], right: dict[str, CallDoubt]) -> dict[str, CallDoubt]:
    """Join doubts by the id of their call; the newest word on each counts."""
    return {**left, **right}


class LoopOutcome(BaseModel):
    """How a loop ended: the model's last words, or the reason why it was stopped."""

    model_config = ConfigDict(frozen=True)
    status: Literal["completed", "failed", "budget_exceeded", "timeout", "cancelled", "escalated"]
    text: str
    code: str = ""


class LoopInput(TypedDict):
    """What opens a loop."""

    loop: LoopTask
    conversation: Annotated[list[AnyMessage], add_messages]
    compacted: NotRequired[Compaction | None]


class LoopOutput(TypedDict, total=False):
    """What a loop returns."""

    outcome: LoopOutcome
    doubts: Annotated[dict[str, CallDoubt], merge_doubts]
    conversation: Annotated[list[AnyMessage], add_messages]
    tripped: list[str]


class LoopState(TypedDict, total=False):
    """One turn after another; `batch` is the hash under which the calls of a reply are on record.

    A turn that is too long for the model is `crowded`; it is `fitted` once.
    """

    loop: LoopTask
    conversation: Annotated[list[AnyMessage], add_messages]
    compacted: Compaction | None
    crowded: bool
    fitted: int
    turn: int
    calls: list[ToolCall]
    batch: str
    made: list[str]
    refused: list[str]
    tripped: list[str]
    steering: str
    doubts: Annotated[dict[str, CallDoubt], merge_doubts]
    outcome: LoopOutcome


def in_doubt(state: LoopState) -> dict[str, CallDoubt]:
    """Map the uids of effects that wait for a person's word to their calls."""
    return {doubt.uid: doubt for doubt in state.get("doubts", {}).values() if doubt.status == "open"}


class CallTask(TypedDict):
    """What is sent to the node that makes one call."""

    loop: LoopTask
    batch: str
    call: ToolCall


class ApprovalTask(TypedDict):
    """What is sent to the node that asks: the calls that share a gate, and the others of the same reply."""

    loop: LoopTask
    batch: str
    calls: list[ToolCall]
    others: list[str]


def calls_of(task: ApprovalTask) -> list[ToolCall]:
    """List the calls that a gate asks about; a checkpoint of November 2026 names one `call` instead."""
    older: Mapping[str, Any] = task
    return task["calls"] if "calls" in task else [older["call"]]
