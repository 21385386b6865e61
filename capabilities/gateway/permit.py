"""Whether the gates of a call and of its step let it pass, checked on record in front of what it does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from planwright.capabilities.contract import Capability
from planwright.capabilities.gateway.read_files import FileContent, same_files
from planwright.domain.errors import CapabilityForbidden, GateError
from planwright.domain.hashing import same, sha256
from planwright.domain.verified_step import StepGate, VerifiedStep
from planwright.records.consent.approvers import check_approvals
from planwright.records.consent.gate import Gate, gate_id
from planwright.records.consent.gates import Gates


class Permit(NamedTuple):
    """That a call may be made: whether a person decided over it, and whether over doing it `again`."""

    by_person: bool
    """Whether a person decided over the call."""
    again: bool = False
    """Whether a person decided that it is done again."""


class Admitted(NamedTuple):
    """A call that may be made."""

    capability: Capability
    """Capability, narrowed to its arguments."""
    args: dict[str, JsonValue]
    """Arguments of the call, checked."""
    by_person: bool
    """Whether a person decided over it."""
    beside: frozenset[str]
    """Uids of the steps of its plan."""


class GateCalls:
    """A gate as it is on record, with the calls that may be made by the steps that they are of, as edited."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        card = sha256(gate.card)
        self._as_shown = gate.card_hash == card and all(approval.card == card for approval in gate.approvals)
        self._calls: dict[object, list[Mapping[str, JsonValue]]] = {}
        decisions = gate.by_call or [None] * len(gate.calls)
        for call, decision in zip(gate.calls, decisions, strict=True):
            edited = {} if decision is None or decision.args is None else {"args": decision.args}
            if decision is None or decision.makes_it:
                self._calls.setdefault(call.get("uid"), []).append({**call, **edited})

    @property
    def approved(self) -> bool:
        """Whether it was approved as it was shown."""
        return self.gate.status == "approved" and self._as_shown

    def opens(
        self, args: Mapping[str, JsonValue], checked: VerifiedStep, files: tuple[FileContent, ...] = ()
    ) -> bool:
        """Say whether it lets a call pass: approved as shown, with these arguments and files."""
        calls = [call for call in self._of(checked) if same_files(call, files)]
        exact = any(call.get("pin") == checked.pin and same(call.get("args"), args) for call in calls)
        return self.approved and exact

    def says_again(self, checked: VerifiedStep) -> bool:
        """Say whether its card shows that the like was done before in its run."""
        return any(call.get("done_before") == self.gate.run_id for call in self._of(checked))

    def _of(self, checked: VerifiedStep) -> list[Mapping[str, JsonValue]]:
        """List the calls of a step, and those that name no step: a gate of one call has one of them."""
        return self._calls.get(checked.uid, []) + self._calls.get(None, [])


def step_gate_id(run_id: str, checked: VerifiedStep, gate: StepGate) -> str:
    """Name the row of one of the gates of a step."""
    return gate_id(run_id, "step", f"{checked.uid}:{gate.name}")


async def check_step_gates(
    gates: Gates, run_id: str, checked: VerifiedStep, args: Mapping[str, JsonValue]
) -> Gate | None:
    """Look that people have opened every gate of a step for exactly this; return the last, if there is one.

    Raises CapabilityForbidden: no approval of a plan, rule or other gate takes the place of one of them.
    """
    row = None
    for gate in checked.gates:
        try:
            row = await gates.read(step_gate_id(run_id, checked, gate))
            if not (GateCalls(row).opens(args, checked) and row.card.get("gate") == gate.name):
                raise GateError(f"it was not opened for {checked.step.shown_name} with these arguments")
            check_approvals(row.gate_id, row.approvals, gate, row.card)
        except GateError as error:
            raise CapabilityForbidden(f"the gate {gate.name} is not passed: {error.cause}") from error
    return row
