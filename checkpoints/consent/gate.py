"""One gate and one answer to it, as values: what is asked, which answers it takes, how it was decided."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from planwright.checkpoints.consent.approval_scope import Remember
from planwright.checkpoints.consent.approvers import Approval, quorum_of
from planwright.domain.doubt import Doubt, EffectAnswer
from planwright.domain.hashing import sha256
from planwright.domain.plan import Plan

GateKind = Literal["plan", "step", "info", "escalation"]
GateStatus = Literal["open", "approved", "rejected", "expired", "cancelled", "edited", "responded"]
Answer = Literal["approve", "edit", "reject", "respond"]
STATUS_AFTER: dict[Answer, GateStatus] = {
    "approve": "approved",
    "edit": "edited",
    "reject": "rejected",
    "respond": "responded",
}
# By the number of effects on the card; one that is older than their list can only be closed.
_OVER_DOUBTS: dict[int, tuple[Answer, ...]] = {0: ("reject",), 1: ("approve", "reject", "respond")}


class Gate(BaseModel):
    """One decision a person is asked for; `shown` is its card, and `card_hash` the hash of all of that.

    `shown_hash` is the hash that an answer may name: that of the plan, or of the card of a call.
    """

    model_config = ConfigDict(frozen=True)
    gate_id: str
    thread_id: str
    run_id: str
    tenant: str
    kind: GateKind
    step_uid: str | None
    shown_hash: str
    shown: dict[str, JsonValue]
    card_hash: str | None = None
    requested_at: datetime
    expires_at: datetime
    status: GateStatus
    decided_at: datetime | None = None
    decided_by: str | None = None
    channel: str | None = None
    reason: str | None = None
    edited: Plan | None = None
    remembered: Remember | None = None
    approvals: tuple[Approval, ...] = ()
    effects: tuple[EffectAnswer, ...] = ()

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """The effects in doubt that its card shows."""
        listed = self.shown.get("effects")
        return tuple(Doubt.model_validate(entry) for entry in listed) if isinstance(listed, list) else ()

    @property
    def calls(self) -> list[dict[str, JsonValue]]:
        """The cards of the calls that it asks about: its own, or those of a reply."""
        listed = self.shown.get("calls")
        return (
            [call for call in listed if isinstance(call, dict)] if isinstance(listed, list) else [self.shown]
        )

    @property
    def quorum(self) -> int:
        """How many people have to approve."""
        return quorum_of(self.shown)

    @property
    def may_be_remembered(self) -> bool:
        """Whether its approval may hold for more than this once: for one call, never a destructive one.

        Where several people have to approve, or a plan names the gate, each call needs them.
        """
        again = self.shown.get("mode") not in (None, "destructive") and "gate" not in self.shown
        return self.kind == "step" and again and self.quorum == 1

    @property
    def allowed(self) -> tuple[Answer, ...]:
        """The answers this gate takes. Feedback needs a re-plan that is left, an edit no fixed plan."""
        if self.kind == "step" or self.shown.get("fixed"):
            return ("approve", "reject")
        if self.kind == "info":
            return ("respond", "reject")
        if self.shown.get("in_doubt"):
            return _OVER_DOUBTS.get(len(self.doubts), ("respond", "reject"))
        left = self.shown.get("replans_left")
        again = isinstance(left, int) and left > 0
        if self.kind == "escalation":
            approve: tuple[Answer, ...] = () if self.shown.get("approve") == "" else ("approve",)
            return (*approve, "reject", "respond") if again else (*approve, "reject")
        return ("approve", "edit", "reject", "respond") if again else ("approve", "edit", "reject")


class Decision(BaseModel):
    """An answer to one gate; `plan` is the next revision, when the answer is an edit."""

    model_config = ConfigDict(frozen=True)
    answer: Answer
    decided_by: str
    channel: str
    reason: str = ""
    shown_hash: str | None = None
    plan: Plan | None = None
    remember: Remember | None = None
    effects: tuple[EffectAnswer, ...] = ()


def gate_id(run_id: str, kind: GateKind, subject: str) -> str:
    """Name the gate of a run and a plan (its hash and round) or step: the same after a crash."""
    return "gate_" + sha256([run_id, kind, subject])[:16]
