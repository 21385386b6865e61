"""The state of an agentic loop: a model, its tools, and the conversation between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypeAlias

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict

from planwright.domain.errors import RunError
from planwright.domain.hashing import canonical_json, sha256
from planwright.domain.verified_step import VerifiedStep
from planwright.state.agent_state import ModelRoute
from planwright.state.compaction import Compaction
from planwright.state.loop_budget import LoopBudget


class LoopTask(BaseModel):
    """What a loop works on. `lane` names it within its run: `main`, or the uid of a step or call.

    `depth` counts the agents above it; `budgets` are those of its lane and of the lanes above it.
    """

    model_config = ConfigDict(frozen=True)
    lane: str
    """Name of the loop within its run: `main`, or the uid of the step or call that it serves."""
    plan_hash: str = ""
    """Hash of the plan, or of the calls, that opened the loop; "" for the main loop."""
    goal: str
    """What the loop is to do, in the words of the user, the plan or the model above it."""
    route: ModelRoute
    """Provider and model that the loop asks."""
    tools: tuple[str, ...]
    """Names of the capabilities that it may call."""
    depth: int = 0
    """How many agents are above it; 0 for the main loop and for a step of a plan."""
    max_turns: int | None = None
    """Most turns it may take; None for as many as its agent may."""
    budgets: tuple[LoopBudget, ...] = ()
    """Limits of its own lane and of those above it, from the outermost."""


class ToolCall(BaseModel):
    """One call of a model's reply: verified, or with the reason why it will not be made.

    A text that it would remember, and that does not stand in the user's own words, is `proposed` instead.
    """

    model_config = ConfigDict(frozen=True)
    call_id: str
    """Id of the call in the model's reply; its answer carries the same."""
    index: int
    """Position of the call in the reply, counted from 0."""
    name: str
    """Name of the tool as the model wrote it."""
    checked: VerifiedStep | None = None
    """The call as a verified step; None where it will not be made."""
    error: str = ""
    """Why the call is not made, as the model is told; "" where it is."""
    answer: str = ""
    """Reply to a call that is not made: a person's to `clarify`, what a search for tools brought; else ""."""
    proposed: str = ""
    """Text that is proposed as a memory instead of being remembered; else ""."""
    unverified: str = ""
    """Why it could not be verified before the effects in front of it are made: then it is tried again."""
    edited: bool = False
    """Whether a person gave it other arguments than its model, at its gate."""
    words: str = ""
    """What a person said who let it be made; else ""."""
    left_out: bool = False
    """Whether a person left it out and let others of its reply be made: those do not wait for it."""
    reads: bool = False
    """Whether its tool only reads, as it is declared; False for a tool that nobody knows."""
    stage: int = 0
    """When it is made: after the calls of its reply with a smaller number, beside those with the same."""

    @property
    def changes(self) -> bool:
        """Whether the call may change something; a call of an unknown tool may."""
        return self.checked.effect != "pure" if self.checked else not self.reads

    @property
    def late(self) -> bool:
        """Whether it is verified at its turn, when what stands before it in its reply has been made."""
        return bool(self.unverified) and not self.error and not self.answer

    @property
    def to_make(self) -> bool:
        """Whether it is to be made, as far as is known."""
        return self.late or (bool(self.capability) and not self.asks)

    @property
    def step(self) -> VerifiedStep:
        """The verified step of a call that is made. Raises RunError for one that is not."""
        if self.checked is None:
            cause = (
                f"the call {self.call_id} of {self.name} was not verified: the state was changed from outside"
            )
            raise RunError(cause, "begin a new run")
        return self.checked

    @property
    def capability(self) -> str:
        """The capability that is called; empty when none will be."""
        return (self.checked.step.capability or "") if self.checked and not self.error else ""

    @property
    def asks(self) -> bool:
        """Whether the call is a question to a person instead of an action."""
        return self.capability == "clarify"

    @property
    def waits(self) -> bool:
        """Whether a person has to decide over the call, or answer it, first."""
        return bool(self.capability) and (self.asks or (self.checked is not None and self.checked.gated))

    @property
    def signature(self) -> str:
        """The tool and its arguments, as one text that is the same for the same call."""
        content = (
            canonical_json(self.checked.step.params)
            if self.checked
            else self.error or self.unverified or self.proposed or self.answer
        )
        short = content if len(content) <= 300 else f"{content[:200]}… {sha256(content)[:16]}"
        return f"{self.name}({short})"


class CallDoubt(BaseModel):
    """That nobody knows whether a call happened: still `open`, `decided` by a person, or `left` by them.

    `uid` is that of the call, or of the part of a chain, which has the effect.
    """

    model_config = ConfigDict(frozen=True)
    call_id: str
    """Id of the call in the model's reply."""
    uid: str
    """Uid of the call, or of the part of a chain, that has the effect."""
    status: Literal["open", "decided", "left"] = "open"
    """Where the doubt stands: nobody has said, a person has decided, or a person left it open."""


def merge_doubts(left: dict[str, CallDoubt], right: dict[str, CallDoubt]) -> dict[str, CallDoubt]:
    """Join doubts by the id of their call; the newest word on each counts."""
    return {**left, **right}


class LoopOutcome(BaseModel):
    """How a loop ended: the model's last words, or the reason why it was stopped."""

    model_config = ConfigDict(frozen=True)
    status: Literal[
        "completed", "needs_input", "failed", "budget_exceeded", "timeout", "cancelled", "escalated"
    ]
    """How the loop ended; only the main one asks the user and ends with that."""
    text: str
    """Last words of the model, or why the loop was stopped."""
    code: str = ""
    """What kind of failure or limit ended it, such as `loop_guard` or a limit's setting; "" for success."""


class LoopInput(TypedDict):
    """What opens a loop."""

    loop: LoopTask
    """What the loop is to do, and with what."""
    conversation: Annotated[list[AnyMessage], add_messages]
    """Messages that the loop begins with."""
    compacted: NotRequired[Compaction | None]
    """What is left out of the conversation already; left out itself where nothing is."""


class LoopOutput(TypedDict, total=False):
    """What a loop returns."""

    outcome: LoopOutcome
    """How the loop ended."""
    doubts: Annotated[dict[str, CallDoubt], merge_doubts]
    """Calls of which nobody knows whether they happened, by the id of the call."""
    conversation: Annotated[list[AnyMessage], add_messages]
    """All messages of the loop."""
    tripped: list[str]
    """Keys of the patterns that the loop guard has found."""


class LoopState(TypedDict, total=False):
    """One turn after another; `batch` is the hash under which the calls of a reply are on record.

    A turn that is too long for the model is `crowded`; it is `fitted` once.
    """

    loop: LoopTask
    """What the loop is to do, and with what."""
    conversation: Annotated[list[AnyMessage], add_messages]
    """Messages of the loop: the model's replies and what its calls returned."""
    compacted: Compaction | None
    """What is left out when the model is shown the conversation; None while all of it fits."""
    crowded: bool
    """Whether the next turn is too long for the model and has to be shortened first."""
    fitted: int
    """Number of the turn for which the conversation was shortened; it is shortened once a turn."""
    turn: int
    """Number of the last reply, counted from 1."""
    calls: list[ToolCall]
    """Calls of the last reply, in its order."""
    stage: int
    """Stage of the calls of the last reply that are being made."""
    added: list[str]
    """Names of the tools that the model searched for and is offered beside its first ones."""
    batch: str
    """Hash under which the calls of the last reply are on record, as the gateway looks them up."""
    asked_anew: list[str]
    """Ids of its calls that were approved, have changed since, and are asked about once more."""
    made: list[str]
    """Signatures of all calls so far, the oldest first, for the loop guard."""
    refused: list[str]
    """Signatures of calls that the loop guard no longer lets pass."""
    tripped: list[str]
    """Keys of the patterns that the loop guard has found, so that it speaks of each once."""
    steering: str
    """What the loop guard tells the model before its next reply; "" where it has nothing to say."""
    doubts: Annotated[dict[str, CallDoubt], merge_doubts]
    """Calls of which nobody knows whether they happened, by the id of the call."""
    outcome: LoopOutcome
    """How the loop ended; it stands there only at the end."""


LoopUpdate: TypeAlias = LoopState  # what a node changes: every key may be left out


def calls_in_doubt(state: LoopState) -> dict[str, CallDoubt]:
    """Map the uids of effects that wait for a person's word to their calls."""
    return {doubt.uid: doubt for doubt in state.get("doubts", {}).values() if doubt.status == "open"}


class CallTask(TypedDict):
    """What is sent to the node that makes one call."""

    loop: LoopTask
    """The loop that the call belongs to."""
    batch: str
    """Hash under which the calls of the reply are on record."""
    call: ToolCall
    """The call that the node makes."""
    calls: NotRequired[list[ToolCall]]
    """All calls of the reply: not sent, but read from the state by the edge behind the node."""
    stage: NotRequired[int]
    """Stage of the calls that are being made; for that edge as well."""


class ApprovalTask(TypedDict):
    """What is sent to the node that asks: the calls that share a gate, and the others of the same reply."""

    loop: LoopTask
    """The loop that the calls belong to."""
    batch: str
    """Hash under which the calls of the reply are on record."""
    calls: list[ToolCall]
    """Calls that one gate asks about together."""
    others: list[str]
    """Signatures of the other calls of the same reply, for the card."""


def calls_to_approve(task: ApprovalTask) -> list[ToolCall]:
    """List the calls that a gate asks about; a checkpoint of November 2026 names one `call` instead."""
    older: Mapping[str, Any] = task
    return task["calls"] if "calls" in task else [older["call"]]
