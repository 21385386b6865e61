"""Approvals: what waits for a person, and the answers that they give."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute

from planwright.domain.errors import GateError, PlanwrightError, RunHeld
from planwright.extras.web.forms import FilledForm, field, form_route, page_route
from planwright.extras.web.parts import WebParts, run_options, shared, visitor_of
from planwright.extras.web.view_models.answer_form import answer_of
from planwright.extras.web.view_models.gate_page import gate_page
from planwright.extras.web.view_models.paging import paging
from planwright.records.consent.gate import Gate
from planwright.records.history.open_gates import gate_pulse, open_gate_ids
from planwright.records.history.run_pages import RunFilter, unanswered
from planwright.records.history.run_records import run_named

PAGE = 30
LOOKS, LOOK_S = 100, 0.1


async def serve_home(request: Request) -> Response:
    """Lead to what waits."""
    return shared(request).pages.lead("/approvals")


async def serve_inbox(request: Request) -> Response:
    """List what waits, oldest first."""
    return shared(request).pages.page(request, "inbox.html", await _waiting(request))


async def serve_inbox_list(request: Request) -> Response:
    """Render the list alone, for a page that is open."""
    return HTMLResponse(shared(request).pages.part("inbox_list.html", await _waiting(request)))


async def _waiting(request: Request) -> dict[str, object]:
    parts, caller = shared(request), visitor_of(request)
    now, page = parts.agent.door.clock(), paging(request.query_params.get("page", "1"), PAGE)
    ids = await parts.read(open_gate_ids, caller.tenant, page.size, page.skipped)
    gates = [await parts.agent.stores.gates.read(id_) for id_ in ids]
    since = (now - timedelta(seconds=parts.settings.sessions.gate_ttl_s)).isoformat()
    return {
        "gates": [gate_page(gate, caller, now) for gate in gates if gate.status == "open"],
        "paging": page.of((await parts.read(gate_pulse, caller.tenant)).count),
        "questions": await parts.read(unanswered, RunFilter(caller.tenant, asked_since=since)),
    }


async def serve_gate(request: Request) -> Response:
    """Show one gate, and the answers that it takes."""
    return shared(request).pages.page(request, "gate.html", await _gate_values(request))


async def serve_gate_state(request: Request) -> Response:
    """Render how a gate stands alone, for a page that is open."""
    values = await _gate_values(request)
    return HTMLResponse(shared(request).pages.part("gate_state.html", values))


async def _gate_values(request: Request) -> dict[str, object]:
    row = await named_gate(request)
    run = await shared(request).read(run_named, row.run_id, row.tenant)
    return {
        "view": gate_page(row, visitor_of(request), shared(request).agent.door.clock()),
        "run": run,
        "visit": request.state.visit,
    }


async def named_gate(request: Request) -> Gate:
    """Find the gate that a path names. Raises GateError for none, and for one of another tenant."""
    parts, which = shared(request), request.path_params["gate_id"]
    row = await parts.agent.stores.gates.read(which)
    if row.tenant != visitor_of(request).tenant:
        raise GateError(f"there is no gate {which}", "choose one from the list of what waits")
    return row


async def take_decision(request: Request, form: FilledForm) -> Response:
    """Take an answer to a gate, as the terminal does: through the door, bound to gate and hash."""
    row = await named_gate(request)
    return await send_answer(request, row, answer_of(form, row))


async def send_answer(request: Request, row: Gate, decision: Mapping[str, object]) -> Response:
    """Send an answer through the door in the name of who asks, and lead to the run. Raises its refusal."""
    from langgraph.types import Command  # here: reading what waits needs no LangGraph

    from planwright.approvals.answers.binding import signed

    parts, person = shared(request), visitor_of(request).person
    entry: Command[str] = Command(resume=signed({**decision, "gate_id": row.gate_id}, person))
    for left in reversed(range(LOOKS)):
        try:
            await parts.here.enter(entry, row.thread_id, run_options(request))
            break
        except PlanwrightError as error:
            if decided := await _decided(parts, row):
                raise decided from None
            if not isinstance(error, RunHeld) or not left:
                raise
        await asyncio.sleep(LOOK_S)  # another of its gates was answered: it waits again in a moment
    bound = request.state.visit.gate_id
    return parts.pages.lead(f"/approvals/{bound}" if bound else f"/runs/{row.run_id}")


async def _decided(parts: WebParts, row: Gate) -> GateError | None:
    """Say that somebody else was quicker; None where nobody was."""
    now = await parts.agent.stores.gates.read(row.gate_id)
    if now.status == "open":
        return None
    who = f" by {now.decided_by} via {now.channel}" if now.decided_by else ""
    return GateError(f"this was decided in the meantime: {now.status}{who}", "look at the run")


async def take_reply(request: Request, form: FilledForm) -> Response:
    """Answer the question that a run has ended with: the next message on its thread."""
    parts = shared(request)
    run = await parts.run(request)
    words = field(form, "message").strip()
    if not words:
        raise GateError("an answer without words says nothing", "write what you want to say")
    message = {"messages": [{"role": "user", "content": words}]}
    await parts.here.enter(message, run.thread_id, run_options(request))
    newest = await parts.read(run_named, run.thread_id, run.tenant)
    return shared(request).pages.lead(f"/runs/{newest.run_id if newest else run.run_id}")


ROUTES: list[BaseRoute] = [
    page_route("/", serve_home),
    page_route("/approvals", serve_inbox),
    page_route("/approvals/list", serve_inbox_list),
    page_route("/approvals/{gate_id}", serve_gate),
    page_route("/approvals/{gate_id}/state", serve_gate_state),
    form_route("/approvals/{gate_id}", take_decision, "approve"),
    form_route("/runs/{run_id}/reply", take_reply, "request"),
]
