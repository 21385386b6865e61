"""Capabilities: what can be done here, and a form that begins a run of one call."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from planwright.capabilities.contract import Capability
from planwright.domain.errors import SetupError
from planwright.extras.web.forms import FilledForm, form_route, page_route
from planwright.extras.web.parts import run_options, shared, visitor_of
from planwright.extras.web.view_models.call_form import argument_fields, call_arguments
from planwright.records.history.run_records import run_named


async def serve_capabilities(request: Request) -> Response:
    """List the capabilities that hold some words, by name."""
    parts, text = shared(request), request.query_params.get("text", "")
    rows = [(each, capability_source(each)) for each in parts.agent.door.parts.registry if _holds(each, text)]
    rows.sort(key=lambda row: row[0].name)
    return parts.pages.page(request, "capabilities.html", {"rows": rows, "text": text})


async def serve_capability(request: Request) -> Response:
    """Show one capability, and the form that calls it."""
    return _page(request, FilledForm(), None, 200)


async def take_call(request: Request, form: FilledForm) -> Response:
    """Begin a run of one call: it passes policy, gate and ledger like any other."""
    parts, name = shared(request), request.path_params["capability"]
    try:
        args = call_arguments(parts.agent.single_calls.schema_of(name), form)
        config = await parts.agent.acall(name, args, context=run_options(request))
    except SetupError as error:
        return _page(request, form, error, 409)
    thread = str(config["configurable"]["thread_id"])
    await parts.here.enter(None, thread, run_options(request))
    run = await parts.read(run_named, thread, visitor_of(request).tenant)
    return shared(request).pages.lead(f"/runs/{run.run_id if run else thread}")


def capability_source(capability: Capability) -> str:
    """Say where a capability comes from."""
    if capability.server:
        return f"MCP server {capability.server}"
    return "built in" if capability.built_in else capability.function.__module__


def _page(request: Request, form: FilledForm, error: SetupError | None, status: int) -> Response:
    parts = shared(request)
    capability = parts.agent.door.parts.registry.require(request.path_params["capability"])
    values = {
        "capability": capability,
        "source": capability_source(capability),
        "fields": argument_fields(capability.args_schema, form),
        "error": error,
    }
    return parts.pages.page(request, "capability.html", values, status)


def _holds(capability: Capability, text: str) -> bool:
    whole = " ".join((capability.name, capability.description, *capability.tags, capability.server))
    return text.lower() in whole.lower()


ROUTES: list[BaseRoute] = [
    page_route("/workspace/capabilities", serve_capabilities),
    page_route("/workspace/capabilities/{capability}", serve_capability),
    form_route("/workspace/capabilities/{capability}", take_call, "request"),
]
