"""Memory: what is remembered, and what runs propose to remember. Each change is a run of one step."""

from __future__ import annotations

import json

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from planwright.domain.errors import RunError
from planwright.domain.memory_proposal import FORGET, WRITE, Proposal
from planwright.domain.plan import PlanStep
from planwright.domain.run_context import RunContext
from planwright.extras.web.forms import FilledForm, form_route, page_route
from planwright.extras.web.parts import CHANNEL, shared, visitor_of
from planwright.extras.web.view_models.paging import paging
from planwright.records.history.memory_pages import MemoryFilter, memory_page, proposal_rows
from planwright.records.history.run_records import run_named
from planwright.records.memory_proposals import not_open

PAGE, MOST_PROPOSALS = 50, 200


async def serve_memory(request: Request) -> Response:
    """List what is remembered, and what is proposed, the newest first."""
    parts, tenant = shared(request), visitor_of(request).tenant
    text, every = request.query_params.get("text", ""), request.query_params.get("every") == "yes"
    page = paging(request.query_params.get("page", "1"), PAGE)
    rows = await parts.read(memory_page, MemoryFilter(tenant, text), page.size, page.skipped)
    proposed = await parts.read(proposal_rows, MemoryFilter(tenant, every=every), MOST_PROPOSALS)
    values = {
        "page": rows,
        "text": text,
        "every": every,
        "paging": page.of(rows.total),
        "proposals": [Proposal.model_validate(row) for row in proposed],
    }
    return parts.pages.page(request, "memory.html", values)


async def take_forget(request: Request, form: FilledForm) -> Response:
    """Begin the run that deletes a memory, and lead to it."""
    tenant, id_ = visitor_of(request).tenant, request.path_params["memory_id"]
    page = await shared(request).read(memory_page, MemoryFilter(tenant, id=id_), 1)
    if not page.rows:
        raise RunError(f"there is no memory {id_}", "choose one from the list")
    step = PlanStep(id="forget", capability=FORGET, params={"id": id_}, description=f"Forget {id_} for good")
    return await _run(request, step, f"Forget memory {id_}", str(page.rows[0]["run_id"]))


async def take_accept(request: Request, form: FilledForm) -> Response:
    """Begin the run that remembers a proposal, and lead to it."""
    tenant, id_ = visitor_of(request).tenant, request.path_params["proposal_id"]
    rows = await shared(request).read(proposal_rows, MemoryFilter(tenant, id=id_, every=True), 1)
    proposal = Proposal.model_validate(rows[0]) if rows else None
    if proposal is None or proposal.status != "proposed":
        raise not_open(id_, proposal.status if proposal else None)
    args = {"text": proposal.text, "tags": list(proposal.tags)}
    step = PlanStep(id="remember", capability=WRITE, params=args, description=f"Remember what {id_} says")
    return await _run(request, step, f"Remember: {proposal.text}", proposal.run_id)


async def take_reject(request: Request, form: FilledForm) -> Response:
    """Turn a proposal down; it is never made again."""
    parts, caller = shared(request), visitor_of(request)
    id_ = request.path_params["proposal_id"]
    await parts.agent.stores.proposals.reject(id_, caller.tenant, caller.person, parts.agent.door.clock())
    return shared(request).pages.lead("/workspace/memory")


async def _run(request: Request, step: PlanStep, words: str, source: str) -> Response:
    """Begin the run of a step, or find the one that is open for it, and lead to it; it asks as any other."""
    from planwright.graph.entry.single_call import SingleCall, begin  # here: reading needs no LangGraph
    from planwright.models.providers.router import EMBEDDED

    parts, tenant = shared(request), visitor_of(request).tenant
    source_run = await parts.read(run_named, source, tenant)
    agent = source_run.context.get("agent") if source_run else None
    context = RunContext(
        agent=None if agent is None else str(agent),
        tenant=tenant,
        provider=EMBEDDED.provider,
        channel=CHANNEL,
        requested_by=visitor_of(request).person,
    )
    purpose = json.dumps([tenant, step.capability, step.params], sort_keys=True)
    call = SingleCall(step, words, source, purpose)
    thread = await begin(parts.agent.stores, call, context)
    run = await parts.read(run_named, thread, tenant)
    if run is None or run.status != "waiting":
        await parts.here.enter(None, thread, RunContext(tenant=tenant, channel=CHANNEL))
    return shared(request).pages.lead(f"/runs/{run.run_id if run else thread}")


ROUTES: list[BaseRoute] = [
    page_route("/workspace/memory", serve_memory),
    form_route("/workspace/memory/{memory_id}/forget", take_forget, "request"),
    form_route("/workspace/proposals/{proposal_id}/accept", take_accept, "approve"),
    form_route("/workspace/proposals/{proposal_id}/reject", take_reject, "approve"),
]
