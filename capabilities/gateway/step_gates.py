"""The gates that a step has to pass before it begins, checked on record in front of what it does."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from planwright.capabilities.gateway.permit import GateCalls
from planwright.checkpoints.consent.approvers import check_approvals
from planwright.checkpoints.consent.gate import Gate, gate_id
from planwright.checkpoints.consent.gates import Gates
from planwright.domain.errors import CapabilityForbidden, GateError
from planwright.domain.verified_step import StepGate, VerifiedStep


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
            check_approvals(row.gate_id, row.approvals, gate.approvers, gate.quorum)
        except GateError as error:
            raise CapabilityForbidden(f"the gate {gate.name} is not passed: {error.cause}") from error
    return row
