"""One gate and one answer to it, as values: what is asked, which answers it takes, how it was decided."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from planwright.domain.doubt import Doubt, EffectAnswer
from planwright.domain.hashing import sha256
from planwright.domain.plan import DELEGATE, Plan
from planwright.records.consent.approval_scope import ApprovalScope
from planwright.records.consent.approvers import Approval, any_one_may, quorum_of
from planwright.records.consent.rule_uses import RuleUse

GateKind = Literal["plan", "step", "info", "escalation", "limit"]
GateStatus = Literal["open", "approved", "rejected", "expired", "cancelled", "edited", "responded"]
GateAnswer = Literal["approve", "edit", "reject", "respond"]
STATUS_AFTER: dict[GateAnswer, GateStatus] = {
    "approve": "approved",
    "edit": "edited",
    "reject": "rejected",
    "respond": "responded",
}
# By the number of effects on the card; one that is older than their list can only be closed.
_OVER_DOUBTS: dict[int, tuple[GateAnswer, ...]] = {0: ("reject",), 1: ("approve", "reject", "respond")}


_OF_THE_WORLD = frozenset(("brought", "described", "rewrites"))
"""What a step of a plan shows that its plan does not say."""
UNASKED = frozenset(("plan", "policy", "rule"))
"""Channels of decisions that follow from one before: the words of such a decision are not a person's."""
EXTEND = "extend_budget"
"""What a gate asks for where a limit of a run is reached, as its card names it."""


class CallDecision(BaseModel):
    """What a person decides over one of the calls of a gate."""

    model_config = ConfigDict(frozen=True)
    answer: GateAnswer
    """What becomes of the call: made, made with other arguments, not made, or answered in its place."""
    reason: str = ""
    """Words that go with it; of `respond` what the model is told instead of a result."""
    args: dict[str, JsonValue] | None = None
    """All arguments of the call, where the answer is an edit; else None."""

    @property
    def makes_it(self) -> bool:
        """Whether the call is made."""
        return self.answer in ("approve", "edit")


class Gate(BaseModel):
    """One decision a person is asked for."""

    model_config = ConfigDict(frozen=True)
    gate_id: str
    """Id made of run, kind and subject, so that it is the same after a crash."""
    thread_id: str
    """Thread of the run, on which its answer resumes it."""
    run_id: str
    """Run that waits for the answer."""
    tenant: str
    """Tenant of the run: nobody else's people see the gate."""
    kind: GateKind
    """What is asked: a plan, a step, a question (`info`), what becomes of a run, or more of a `limit`."""
    step_uid: str | None
    """Uid of the step that it asks about, or of what asks for several; None for other kinds."""
    shown_hash: str
    """Hash that an answer may name: of the plan, or of the card of a call."""
    card: dict[str, JsonValue]
    """The card: all that a person is shown."""
    card_hash: str | None = None
    """SHA-256 of the card, written when the gate opens."""
    requested_at: datetime
    """When it was opened, in UTC."""
    expires_at: datetime
    """When it closes by itself, in UTC."""
    status: GateStatus
    """How it stands: open, or what ended it."""
    decided_at: datetime | None = None
    """When it was decided or closed by itself, in UTC; None while it is open."""
    decided_by: str | None = None
    """Who decided; None while it is open."""
    channel: str | None = None
    """Door that the run came through; once it is decided, that of the decision."""
    reason: str | None = None
    """Words of the decision, or the answer to a question; None while it is open."""
    edited: Plan | None = None
    """Plan that an edit put in the place of the shown one; None for other answers."""
    remembered: ApprovalScope | None = None
    """How widely its approval holds; None where it holds once."""
    approvals: tuple[Approval, ...] = ()
    """The approvals so far, where several people have to approve."""
    effects: tuple[EffectAnswer, ...] = ()
    """What a person said of each effect in doubt."""
    by_call: tuple[CallDecision, ...] = ()
    """What was decided over each of its calls, in their order; empty where the same over all, unchanged."""

    def over_call(self, uid: str) -> CallDecision | None:
        """Find what was decided over the call of a step alone; None where all were decided together."""
        decided = zip(self.calls, self.by_call, strict=False)
        return next((decision for call, decision in decided if call.get("uid") in (uid, None)), None)

    def words_with(self, uid: str) -> str:
        """Return what a person said who let the call of a step be made; "" where none said anything."""
        over = self.over_call(uid)
        words = (over.reason if over else self.reason) or ""
        return "" if self.channel in UNASKED else words.strip()

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """The effects in doubt that its card shows."""
        effects = self.card.get("effects")
        return tuple(Doubt.model_validate(entry) for entry in effects) if isinstance(effects, list) else ()

    @property
    def answer_hash(self) -> str:
        """Hash that an answer may name, so that it counts for nothing else than what was seen."""
        return answer_hash(self.kind, self.card, self.shown_hash)

    @property
    def calls(self) -> list[dict[str, JsonValue]]:
        """The cards of the calls that it asks about: its own, or those of a reply."""
        card_calls = self.card.get("calls")
        return (
            [call for call in card_calls if isinstance(call, dict)]
            if isinstance(card_calls, list)
            else [self.card]
        )

    @property
    def more(self) -> dict[str, float]:
        """How much more of a limit of its run it asks for, by unit; empty where it asks for another thing."""
        limit = self.card.get("limit")
        return {str(limit["unit"]): float(str(limit["amount"]))} if isinstance(limit, dict) else {}

    @property
    def quorum(self) -> int:
        """How many people have to approve."""
        return quorum_of(self.card)

    @property
    def may_be_remembered(self) -> bool:
        """Whether its approval may hold for more than this once: for one call, never a destructive one.

        Where several people have to approve, or others than who asked, or a plan names the gate, each call
        needs them.
        """
        again = self.card.get("mode") not in (None, "destructive") and "gate" not in self.card
        return self.kind == "step" and again and any_one_may(self.card)

    @property
    def decides_call_by_call(self) -> bool:
        """Whether each of its calls can be edited, answered or left out by itself.

        Not where several people, or some alone, decide over it, nor a chain, nor a task for another agent.
        """
        calls = (
            call for call in self.calls if call.get("steps") is not None or call.get("capability") == DELEGATE
        )
        return any_one_may(self.card) and "gate" not in self.card and not any(calls)

    @property
    def of_model(self) -> bool:
        """Whether it asks about calls of a model, which reads an answer in the place of their results."""
        return any("call_id" in call for call in self.calls)

    @property
    def takes_them_apart(self) -> bool:
        """Whether it asks about several calls of which a person may leave some out."""
        return self.kind == "step" and len(self.calls) > 1 and self.decides_call_by_call

    @property
    def shown_later(self) -> tuple[str, ...]:
        """The steps of a plan that ask again once their values are known, by id."""
        steps = self.card.get("steps")
        entries = steps if self.kind == "plan" and isinstance(steps, list) else []
        return tuple(
            str(step["id"]) for step in entries if isinstance(step, dict) and step.get("shown_later")
        )

    @property
    def undeclared(self) -> dict[str, str]:
        """The tools it shows that say nothing about what they may do: their digests, by name.

        Where several people have to approve, or others than who asked, or a plan names the gate, no one of
        them says it for good.
        """
        if not any_one_may(self.card) or "gate" in self.card:
            return {}
        steps = self.card.get("steps")
        entries = steps if self.kind == "plan" and isinstance(steps, list) else self.calls
        return {
            str(entry["capability"]): digest_on(entry)
            for entry in entries
            if isinstance(entry, dict) and entry.get("undeclared") and any_one_may(entry)
        }

    @property
    def allowed(self) -> tuple[GateAnswer, ...]:
        """The answers this gate takes. Feedback needs a re-plan that is left, an edit no fixed plan."""
        if self.kind == "step" and self.decides_call_by_call:
            return ("approve", "edit", "reject", "respond")
        if self.kind == "limit":
            return ("approve", "edit", "reject")
        if self.kind == "step" or self.card.get("fixed"):
            return ("approve", "reject")
        if self.kind == "info":
            return ("respond", "reject")
        if self.card.get("in_doubt"):
            return _OVER_DOUBTS.get(len(self.doubts), ("respond", "reject"))
        left = self.card.get("replans_left")
        again = isinstance(left, int) and left > 0
        if self.kind == "escalation":
            approve: tuple[GateAnswer, ...] = () if self.card.get("approve") == "" else ("approve",)
            return (*approve, "reject", "respond") if again else (*approve, "reject")
        return ("approve", "edit", "reject", "respond") if again else ("approve", "edit", "reject")


class Decision(BaseModel):
    """An answer to one gate."""

    model_config = ConfigDict(frozen=True)
    answer: GateAnswer
    """What the person answers."""
    decided_by: str
    """Who answers: a person by a token, a login name, or the name a caller gives."""
    channel: str
    """Door that the answer came through, such as `cli` or `server`."""
    reason: str = ""
    """Words that go with it: why not, feedback on a plan, or the answer to a question."""
    shown_hash: str | None = None
    """Hash of what the person looked at; None where the answer does not name it."""
    plan: Plan | None = None
    """Next revision of the plan, where the answer is an edit."""
    remember: ApprovalScope | None = None
    """How widely the approval is to hold; None for this once."""
    effects: tuple[EffectAnswer, ...] = ()
    """What became of each effect in doubt, where the gate asks about them."""
    by_call: tuple[CallDecision, ...] = ()
    """What becomes of each call of the gate, in their order; empty where the same of all, as they are."""
    more: float | None = None
    """How much more of a limit is given; None for as much as the gate asks for."""
    by_rules: tuple[RuleUse, ...] = ()
    """Rules that made it; empty where a person did."""


def answer_hash(kind: str, card: Mapping[str, JsonValue], shown_hash: str) -> str:
    """Choose the hash that an answer names: that of the card for a plan that shows more than it says.

    The hash of a plan says nothing of what was read first, of the ticket that a number stands for, or of the
    file that is replaced.
    """
    steps = card.get("steps")
    entries = steps if kind == "plan" and isinstance(steps, list) else []
    more = any(isinstance(step, dict) and not step.keys().isdisjoint(_OF_THE_WORLD) for step in entries)
    return sha256(dict(card)) if more else shown_hash


def digest_on(card: Mapping[str, JsonValue]) -> str:
    """Read the digest of a capability off the pin that the card of its call shows."""
    return str(card.get("pin") or "").partition(".")[0]


def gate_id(run_id: str, kind: GateKind, subject: str) -> str:
    """Name the gate of a run and a plan (its hash and round) or step: the same after a crash."""
    return "gate_" + sha256([run_id, kind, subject])[:16]


def request_data(gate: Gate) -> dict[str, JsonValue]:
    """Make the data of `approval_requested` from the row alone; `step_id` is the first it asks about."""
    step_id = gate.calls[0].get("step_id")
    return {
        "gate_id": gate.gate_id,
        "kind": gate.kind,
        **({} if step_id is None else {"step_id": step_id}),
        "plan_hash": gate.shown_hash,
        "expires_at": gate.expires_at.isoformat(),
    }


def decision_data(gate: Gate) -> dict[str, JsonValue]:
    """Make the data of `approval_resolved` from the row alone."""
    effects: list[JsonValue] = [effect.model_dump(mode="json") for effect in gate.effects]
    calls: list[JsonValue] = [decision.model_dump(mode="json") for decision in gate.by_call]
    return {
        "gate_id": gate.gate_id,
        "decision": gate.status,
        "reason": gate.reason,
        **({"effects": effects} if effects else {}),
        **({"calls": calls} if calls else {}),
        "by": gate.decided_by,
        "channel": gate.channel,
    }
