"""Runs in the background: how far they are, who takes them up, and what is asked of them."""

from __future__ import annotations

from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from planwright.domain.run_context import RunContext, read_context
from planwright.extras.web.forms import FilledForm, form_route, page_route
from planwright.extras.web.parts import shared, visitor_of
from planwright.extras.web.view_models.paging import paging
from planwright.extras.web.view_models.session_row import FIELDS, amounts_of, session_view
from planwright.records.history.session_pages import SessionFilter, SessionRow, session_page
from planwright.records.queue.progress import Progress, read_progress
from planwright.settings.profile import RunProfile, in_force, with_more
from planwright.settings.settings import Settings

PAGE = 20


async def serve_sessions(request: Request) -> Response:
    """List sessions, the newest first, and the workers that are there."""
    parts, stores = shared(request), shared(request).agent.stores
    page = paging(request.query_params.get("page", "1"), PAGE)
    open_only = request.query_params.get("open") == "yes"
    wanted = SessionFilter(visitor_of(request).tenant, open=open_only)
    rows = await parts.read(session_page, wanted, page.size, page.skipped)
    values = {
        "views": [session_view(row.session, await _progress(request, row)) for row in rows.rows],
        "paging": page.of(rows.total),
        "open_only": open_only,
        "workers": await stores.workers.living(),
        "fields": FIELDS,
    }
    return parts.pages.page(request, "sessions.html", values)


async def _progress(request: Request, row: SessionRow) -> Progress:
    """Read how far a session is, within the limits that are in force for it."""
    parts, run_id = shared(request), row.session.run_id
    profile = with_more(_profile(parts.settings, read_context(row.context)), row.extended)
    return await parts.read(read_progress, run_id, profile.limits, parts.agent.door.clock())


def _profile(settings: Settings, context: RunContext) -> RunProfile:
    """Find what is in force for a run; without its agent, where that is not set any more."""
    known = context.agent in settings.agents
    return in_force(settings, context if known else replace(context, agent=None))


async def take_pause(request: Request, form: FilledForm) -> Response:
    """Pause a run: what has begun is finished, and nothing more begins."""
    parts, run = shared(request), await shared(request).run(request)
    stores, person = parts.agent.stores, visitor_of(request).person
    await stores.sessions.pause(run.run_id, person)
    if await stores.sessions.of(run.run_id) is None:
        return shared(request).pages.lead(f"/runs/{run.run_id}")
    return _back(request, run.run_id)


async def take_queue_again(request: Request, form: FilledForm) -> Response:
    """Queue a paused session again, for a worker to go on with."""
    parts, run = shared(request), await shared(request).run(request)
    await parts.agent.stores.sessions.resume(run.run_id, visitor_of(request).person)
    return _back(request, run.run_id)


async def take_extension(request: Request, form: FilledForm) -> Response:
    """Give a run more than its limits, or a session more time."""
    parts, run = shared(request), await shared(request).run(request)
    person = visitor_of(request).person
    await parts.agent.stores.sessions.extend(run.run_id, amounts_of(form), person)
    return _back(request, run.run_id)


def _back(request: Request, run_id: str) -> Response:
    return shared(request).pages.lead(f"/workspace/sessions#{run_id}")


ROUTES: list[BaseRoute] = [
    page_route("/workspace/sessions", serve_sessions),
    form_route("/runs/{run_id}/pause", take_pause, "operate"),
    form_route("/runs/{run_id}/queue", take_queue_again, "operate"),
    form_route("/runs/{run_id}/extend", take_extension, "operate"),
]
