"""Approvals: what waits for a person, and the answers that they give."""

from __future__ import annotations

from datetime import timedelta

from langgraph.types import Command
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute

from planwright.approvals.answers import signed
from planwright.checkpoints.consent.gate import Gate
from planwright.domain.errors import GateError, PlanwrightError
from planwright.web.forms import Form, field, form_route, page_route
from planwright.web.parts import WebParts, caller_of, context_of, parts_of
from planwright.web.view_models.answer_form import answer_of
from planwright.web.view_models.gate_page import gate_view


async def home(request: Request) -> Response:
    """Lead to what waits."""
    return RedirectResponse("/approvals", 303)


async def inbox(request: Request) -> Response:
    """List what waits, oldest first."""
    return parts_of(request).pages.page(request, "inbox.html", await _waiting(request))


async def inbox_list(request: Request) -> Response:
    """Render the list alone, for a page that is open."""
    return HTMLResponse(parts_of(request).pages.part("inbox_list.html", await _waiting(request)))


async def _waiting(request: Request) -> dict[str, object]:
    parts, caller = parts_of(request), caller_of(request)
    now = parts.agent.door.clock()
    gates = await parts.agent.stores.gates.waiting(now)
    since = (now - timedelta(seconds=parts.settings.sessions.gate_ttl_s)).isoformat()
    views = [gate_view(gate, caller) for gate in gates if gate.tenant == caller.tenant]
    return {"gates": views, "questions": await parts.run_pages.questions(caller.tenant, since)}


async def gate(request: Request) -> Response:
    """Show one gate, and the answers that it takes."""
    return parts_of(request).pages.page(request, "gate.html", await _shown(request))


async def gate_state(request: Request) -> Response:
    """Render how a gate stands alone, for a page that is open."""
    values = await _shown(request)
    return HTMLResponse(parts_of(request).pages.part("gate_state.html", values))


async def _shown(request: Request) -> dict[str, object]:
    row = await find_gate(request)
    run = await parts_of(request).history.run(row.tenant, row.run_id)
    return {"view": gate_view(row, caller_of(request)), "run": run, "visit": request.state.visit}


async def find_gate(request: Request) -> Gate:
    """Find the gate that a path names. Raises GateError for none, and for one of another tenant."""
    parts, which = parts_of(request), request.path_params["gate_id"]
    row = await parts.agent.stores.gates.read(which)
    if row.tenant != caller_of(request).tenant:
        raise GateError(f"there is no gate {which}", "choose one from the list of what waits")
    return row


async def decide(request: Request, form: Form) -> Response:
    """Take an answer to a gate, as the terminal does: through the door, bound to gate and hash."""
    row = await find_gate(request)
    return await answer(request, row, answer_of(form, row))


async def answer(request: Request, row: Gate, decision: dict[str, object]) -> Response:
    """Send an answer through the door in the name of who asks, and lead to the run. Raises what refuses it."""
    parts = parts_of(request)
    entry: Command[str] = Command(
        resume=signed({**decision, "gate_id": row.gate_id}, caller_of(request).person)
    )
    try:
        await parts.here.enter(entry, row.thread_id, context_of(request))
    except PlanwrightError as error:
        raise await _quicker(parts, row) or error from None
    return RedirectResponse(f"/runs/{row.run_id}", 303)


async def _quicker(parts: WebParts, row: Gate) -> GateError | None:
    """Say that somebody else was quicker; None where nobody was."""
    now = await parts.agent.stores.gates.read(row.gate_id)
    if now.status == row.status:
        return None
    who = f" by {now.decided_by} via {now.channel}" if now.decided_by else ""
    return GateError(f"this was decided in the meantime: {now.status}{who}", "look at the run")


async def reply(request: Request, form: Form) -> Response:
    """Answer the question that a run has ended with: the next message on its thread."""
    parts = parts_of(request)
    run = await parts.run(request)
    words = field(form, "message").strip()
    if not words:
        raise GateError("an answer without words says nothing", "write what you want to say")
    message = {"messages": [{"role": "user", "content": words}]}
    await parts.here.enter(message, run.thread_id, context_of(request))
    newest = await parts.history.run(run.tenant, run.thread_id)
    return RedirectResponse(f"/runs/{newest.run_id if newest else run.run_id}", 303)


ROUTES: list[BaseRoute] = [
    page_route("/", home),
    page_route("/approvals", inbox),
    page_route("/approvals/list", inbox_list),
    page_route("/approvals/{gate_id}", gate),
    page_route("/approvals/{gate_id}/state", gate_state),
    form_route("/approvals/{gate_id}", decide),
    form_route("/runs/{run_id}/reply", reply),
]
