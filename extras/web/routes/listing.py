"""Lists: the runs of a tenant, and what they have done outside; searched, a page at a time."""

from __future__ import annotations

import asyncio
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from planwright.extras.web.forms import FilledForm, form_route, page_route
from planwright.extras.web.parts import shared, visitor_of
from planwright.extras.web.view_models.answer_form import effects_of
from planwright.extras.web.view_models.doubt_page import doubt_page
from planwright.extras.web.view_models.paging import Paging, paging
from planwright.records.history.effect_pages import EffectFilter, effect_page
from planwright.records.history.interrupted import interrupted_of, running_leases
from planwright.records.history.run_pages import RunFilter, run_choices, runs_page

PAGE = 50


async def serve_runs(request: Request) -> Response:
    """List runs, the newest first."""
    parts, wanted = shared(request), request.query_params
    names = {name: wanted.get(name, "") for name in ("text", "status", "agent")}
    page = _page(request)
    running = await parts.read(running_leases)
    # A process that has died tells no one: files of the system, or a server, say whether it lives.
    interrupted = await asyncio.to_thread(interrupted_of, running, parts.agent.stores.leases.is_leased)
    chosen = RunFilter(
        visitor_of(request).tenant,
        names["text"],
        names["status"],
        names["agent"],
        interrupted=interrupted,
    )
    rows = await parts.read(runs_page, chosen, PAGE, page.skipped)
    values = {
        "page": rows,
        "choices": await parts.read(run_choices, chosen),
        "wanted": names,
        "paging": page.of(rows.total),
        "query": _query(names),
    }
    return parts.pages.page(request, "runs.html", values)


async def serve_effects(request: Request) -> Response:
    """List effects, the newest first; those in doubt can be decided over where their run has ended."""
    parts, wanted = shared(request), request.query_params
    names = {name: wanted.get(name, "") for name in ("text", "status")}
    page = _page(request)
    chosen = EffectFilter(visitor_of(request).tenant, **names)
    rows = await parts.read(effect_page, chosen, PAGE, page.skipped)
    values = {"page": rows, "wanted": names, "paging": page.of(rows.total), "query": _query(names)}
    return parts.pages.page(request, "effects.html", values)


async def serve_doubts(request: Request) -> Response:
    """Show the effects that a run has left in doubt, one by one."""
    parts = shared(request)
    run = await parts.run(request)
    entries = await parts.agent.stores.doubts.of_run(run.run_id)
    return parts.pages.page(request, "doubts.html", {"run": run, "doubts": doubt_page(entries)})


async def take_doubts(request: Request, form: FilledForm) -> Response:
    """Say of each effect that an ended run left in doubt whether it happened."""
    parts = shared(request)
    run = await parts.run(request)
    entries = await parts.agent.stores.doubts.of_run(run.run_id)
    answers = effects_of(form, [doubt.key for doubt in entries])
    await parts.agent.adecide_effects(run.run_id, answers, visitor_of(request).person)
    return shared(request).pages.lead(f"/runs/{run.run_id}")


def _query(names: dict[str, str]) -> str:
    """Spell what is searched for, to be followed by the number of a page."""
    query = urlencode({name: value for name, value in names.items() if value})
    return f"{query}&" if query else ""


def _page(request: Request) -> Paging:
    return paging(request.query_params.get("page", "1"), PAGE)


ROUTES: list[BaseRoute] = [
    page_route("/runs", serve_runs),
    page_route("/effects", serve_effects),
    page_route("/runs/{run_id}/doubts", serve_doubts),
    form_route("/runs/{run_id}/doubts", take_doubts, "approve"),
]
