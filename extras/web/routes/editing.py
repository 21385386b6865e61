"""Editing the plan of a gate: field by field or as YAML, checked by all the rules before it is sent."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from planwright.domain.errors import GateError
from planwright.domain.plan import Plan
from planwright.domain.plan_diff import changes
from planwright.extras.web.forms import FilledForm, field, form_route, page_route
from planwright.extras.web.parts import shared, visitor_of
from planwright.extras.web.routes.approvals import named_gate, send_answer
from planwright.extras.web.view_models.edit_form import edit_of, edited_steps
from planwright.extras.web.view_models.gate_page import gate_page
from planwright.presentation.plan_text import parse_plan, plan_for_editor
from planwright.records.consent.gate import Gate


@dataclass(frozen=True)
class EditPage:
    """What the page of an edit shows beside the gate."""

    text: str
    """The plan as YAML, as it was typed."""
    form: FilledForm
    """Fields as they were typed; empty at first."""
    changes: tuple[str, ...] = ()
    """What the edit would change; empty before it is checked."""
    error: GateError | None = None
    """Why the edit is refused; None where it is not."""


async def serve_edit(request: Request) -> Response:
    """Show the plan of a gate, to be changed."""
    row = await named_gate(request)
    plan = await _plan(request, row)
    return _page(
        request,
        row,
        EditPage(plan_for_editor(plan.model_dump(mode="json"), row.card, row.gate_id), FilledForm()),
    )


async def take_check(request: Request, form: FilledForm) -> Response:
    """Check an edit by all the rules, and show what it would change; nothing is recorded."""
    row = await named_gate(request)
    base = await _plan(request, row)
    text = field(form, "yaml").replace("\r\n", "\n")
    from planwright.graph.entry.checks import read_state  # here: reading needs no LangGraph

    try:
        snapshot = await read_state(shared(request).agent, {"configurable": {"thread_id": row.thread_id}})
        plan = await shared(request).agent.door.answering.preview(row, _edit(form, row), snapshot)
    except GateError as error:
        return _page(request, row, EditPage(text, form, error=error), 409)
    return _page(request, row, EditPage(text, form, tuple(changes(base, plan))))


async def take_edit(request: Request, form: FilledForm) -> Response:
    """Answer a gate with an edit: it is verified, and asked for again as it is then."""
    row = await named_gate(request)
    text = field(form, "yaml").replace("\r\n", "\n")
    try:
        action = {"name": "approve_plan", "args": {"plan": _edit(form, row)}}
        decision = {"type": "edit", "edited_action": action, "plan_hash": field(form, "plan_hash")}
        return await send_answer(request, row, decision)
    except GateError as error:
        return _page(request, row, EditPage(text, form, error=error), 409)


def _edit(form: FilledForm, row: Gate) -> object:
    """Read an edit, as YAML or from the fields of its steps. Raises GateError for what cannot be read."""
    if field(form, "way") == "yaml":
        return parse_plan(field(form, "yaml").replace("\r\n", "\n"))
    return edit_of(form, row.card)


async def _plan(request: Request, row: Gate) -> Plan:
    """Read the plan that a gate shows. Raises GateError for what is not edited."""
    if row.kind != "plan" or row.status != "open" or "edit" not in row.allowed:
        raise GateError(f"gate {row.gate_id} takes no edit", "look at what it takes")
    recorded = await shared(request).agent.stores.plans.read(row.run_id, row.shown_hash)
    if recorded is None:
        raise GateError(f"the plan of gate {row.gate_id} is not on record", "reject it, then ask again")
    return recorded


def _page(request: Request, row: Gate, page: EditPage, status: int = 200) -> Response:
    values = {
        "view": gate_page(row, visitor_of(request), shared(request).agent.door.clock()),
        "page": page,
        "steps": edited_steps(row.card, page.form),
        "way": field(page.form, "way") or "fields",
    }
    return shared(request).pages.page(request, "edit.html", values, status)


ROUTES: list[BaseRoute] = [
    page_route("/approvals/{gate_id}/edit", serve_edit),
    form_route("/approvals/{gate_id}/edit", take_edit, "approve"),
    form_route("/approvals/{gate_id}/check", take_check, "approve"),
]
