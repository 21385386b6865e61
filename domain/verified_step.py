"""A step that passed verification: what may run, under which gates, and why."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from planwright.domain.chain import Chain
from planwright.domain.hashing import same
from planwright.domain.plan import Cascade, PlanStep
from planwright.domain.risk import Effect, Mode, Risk


class PolicyEvidence(BaseModel):
    """Which rule of which version of the policy asked about a call, who may answer, and how many must.

    `undecided` when it asks only because an argument was not known yet.
    """

    model_config = ConfigDict(frozen=True)
    rule: str
    """Where the rule stands, as `policy.toml:12`; "" when the mode decided."""
    version: str
    """Hash of the policy."""
    approvers: tuple[str, ...] = ()
    """Who may approve; empty for anybody."""
    quorum: int = 1
    """How many different people have to approve."""
    exclude_requester: bool = False
    """Whether who asked may not approve."""
    undecided: bool = False
    """Whether it asks only because an argument was not known yet."""


class OrderEdge(BaseModel):
    """A step that another one follows because both use a resource, and neither needs the other's result."""

    model_config = ConfigDict(frozen=True)
    uid: str
    """Uid of the earlier step."""
    resource: str
    """Name of what both use, as cards show it."""


class StepGate(BaseModel):
    """A gate that people open before a step begins, and nothing else does; set by verification."""

    model_config = ConfigDict(frozen=True)
    name: str
    """Its name in the policy, or that of the decision it stands for."""
    approvers: tuple[str, ...] = ()
    """Who may approve; empty for anybody."""
    quorum: int = 1
    """How many different people have to approve."""
    exclude_requester: bool = False
    """Whether who asked may not approve."""
    expires_s: float | None = None
    """How long it waits, in seconds; None for as long as other gates."""
    reason: str = ""
    """Why it is asked."""


class BoundDecision(BaseModel):
    """A decision of the catalog that comes before a step; set by verification."""

    model_config = ConfigDict(frozen=True)
    decision_id: str
    """Id of the decision in the catalog."""
    version: str
    """Version of its spec."""
    sources: dict[str, str] = {}
    """Uids of the steps that bring its evidence, by the name of the evidence."""


class VerifiedStep(BaseModel):
    """What verification found out about a step that may run."""

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
    """The chain that is called; None for a call of another kind."""
    asks: bool = False
    """Whether a person has to approve it, with its plan or at its own gate."""
    undeclared: bool = False
    """Whether its tool says nothing about what it may do, and nobody else has."""
    asks_once: bool = False
    """Whether a person has said that its tool asks once a run."""
    tainted: bool = False
    """Whether its arguments may hold what others wrote."""
    pin: str = ""
    """Hash of what it calls and of the policy when it was verified; another now means verify anew."""
    done_before: str = ""
    """Id of the run that has done the like, where that is why a person is asked; else ""."""
    kept: str = ""
    """Idempotency key of the effect whose record counts for it, or its uid; "" where it has to be called."""
    asked_with: str = ""
    """Hash of the reply whose one gate shows this call and others; "" for a gate of its own."""
    follows: tuple[OrderEdge, ...] = ()
    """Steps that have to end before it begins, however they end; no part of its uid."""
    gates: tuple[StepGate, ...] = ()
    """The gates it has to pass, one after another, before it begins; beside its own, if it is `gated`."""
    decisions: tuple[str, ...] = ()
    """The decisions that its plan says are to be taken before it."""
    bound: tuple[BoundDecision, ...] = ()
    """Those of them that the catalog has, with where their evidence comes from."""
    read_first: bool = False
    """Whether it is a read that asks nobody, and runs before a person is asked about its plan."""
    known: str = ""
    """Hash of its arguments, where its plan shows values that were read first; "" where it has none."""

    def is_as(self, other: VerifiedStep | None) -> bool:
        """Say whether another step is the same in all that it says, types of values included."""
        if other is None or self != other:
            return False
        return self is other or same(self.model_dump(mode="json"), other.model_dump(mode="json"))

    @property
    def gate_subject(self) -> str:
        """What its gate is about: the call itself, or the reply that asks for several at once."""
        return self.asked_with or self.uid
