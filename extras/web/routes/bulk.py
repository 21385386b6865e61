"""Approving several gates at once: a look at exactly which, then each is decided alone, through the door."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from planwright.approvals.pending import pending_approvals
from planwright.domain.errors import GateError, PlanwrightError
from planwright.extras.web.forms import FilledForm, field, form_route, page_route
from planwright.extras.web.parts import shared, visitor_of
from planwright.extras.web.routes.approvals import send_answer
from planwright.extras.web.view_models.bulk_page import (
    GateReference,
    GateResult,
    capabilities_of,
    check_same,
    check_together,
    listed_gate,
    named_gates,
)
from planwright.records.consent.gate import Decision, Gate
from planwright.records.history.open_gates import open_gate_ids

MOST = 50  # each begins to run at once, in this process
LOOKED_AT = 500


async def serve_bulk(request: Request) -> Response:
    """Show which gates ask about a capability and nothing else, and which have to be looked at alone."""
    decision, gates = _decision(request), await _open_gates(request)
    capability = request.query_params.get("capability", "").strip()
    pending = pending_approvals(gates, capability, decision) if capability else None
    plans = {gate.gate_id for gate in gates if gate.kind == "plan"}
    first = pending.gates[:MOST] if pending else ()
    rows = [listed_gate(gate, planned=gate.gate_id in plans) for gate in first]
    values = {
        "capability": capability,
        "capabilities": capabilities_of(gates, decision),
        "pending": pending,
        "rows": rows,
        "looked_at": LOOKED_AT if len(gates) == LOOKED_AT else 0,
        "more": len(pending.gates) - len(rows) if pending else 0,
    }
    return shared(request).pages.page(request, "bulk.html", values)


async def take_bulk(request: Request, form: FilledForm) -> Response:
    """Approve the gates that a form names, one by one; one that has changed since is refused by its name."""
    wanted = named_gates(form.get("gate", []))
    if len(wanted) > MOST:
        raise GateError(f"at most {MOST} gates are approved at once", "choose fewer")
    results = [await _approve(request, gate, field(form, "capability")) for gate in wanted]
    return shared(request).pages.page(request, "bulk_results.html", {"results": results})


async def _approve(request: Request, wanted: GateReference, capability: str) -> GateResult:
    """Approve one gate, and say what became of that; whatever it meets, the next has its turn."""
    gates, run_id = shared(request).agent.stores.gates, ""
    try:
        row = await gates.read(wanted.gate_id)
        if row.tenant != visitor_of(request).tenant:
            raise GateError(f"there is no gate {wanted.gate_id}", "look at what waits")
        run_id = row.run_id
        check_same(wanted, row)
        check_together(row, capability, _decision(request))
        await send_answer(request, row, {"type": "approve", "plan_hash": wanted.shown_hash})
        now = await gates.read(wanted.gate_id)
    except PlanwrightError as error:
        return GateResult(wanted.gate_id, run_id, "refused", error.cause)
    counted = now.status == "open"
    return GateResult(wanted.gate_id, run_id, "counted" if counted else "approved")


async def _open_gates(request: Request) -> list[Gate]:
    """List the oldest gates that wait for the people of a tenant; one whose time is up counts as expired."""
    parts = shared(request)
    now, late = parts.agent.door.clock(), {"status": "expired"}
    ids = await parts.read(open_gate_ids, visitor_of(request).tenant, LOOKED_AT, 0)
    gates = [await parts.agent.stores.gates.read(id_) for id_ in ids]
    return [gate.model_copy(update=late if gate.expires_at <= now else {}) for gate in gates]


def _decision(request: Request) -> Decision:
    return Decision(answer="approve", decided_by=visitor_of(request).person, channel="web")


ROUTES: list[BaseRoute] = [
    page_route("/approvals/together", serve_bulk),
    form_route("/approvals/together", take_bulk, "approve"),
]
