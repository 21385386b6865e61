"""A new request: what to do in plain words, by which agent, and when to plan."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from planwright.domain.errors import PlanwrightError, SetupError
from planwright.domain.run_context import PlanningMode, RunContext
from planwright.extras.web.forms import FilledForm, field, form_route, page_route
from planwright.extras.web.parts import WebParts, run_options, shared, visitor_of
from planwright.extras.web.uploads import put_into_workspace, take_back
from planwright.language.first_person import FILES
from planwright.records.history.run_pages import completed_requests
from planwright.records.history.run_records import run_named

NEWEST, LONGEST, MOST_EXAMPLES = 20, 200, 4


async def serve_new(request: Request) -> Response:
    """Show the form of a new request."""
    parts = shared(request)
    agents = [(name, agent.description) for name, agent in sorted(parts.settings.agents.items())]
    values = {
        "agents": agents,
        "modes": get_args(PlanningMode),
        "request": request.query_params.get("request", ""),
        "examples": await _examples(request),
    }
    return parts.pages.page(request, "new.html", values)


async def _examples(request: Request) -> list[str]:
    """List sentences that work here: those that were given, and the newest that have completed."""
    parts = shared(request)
    before = await parts.read(completed_requests, visitor_of(request).tenant, LONGEST, NEWEST)
    return list(dict.fromkeys((*parts.examples, *before)))[: max(MOST_EXAMPLES, len(parts.examples))]


async def take_request(request: Request, form: FilledForm) -> Response:
    """Begin a run, here or in the background, and lead to its page."""
    from planwright.graph.call_context import workspace_jail  # here: reading needs no LangGraph

    parts, text = shared(request), field(form, "request").replace("\r\n", "\n").strip()
    if not text:
        raise SetupError("a request without words says nothing", "write what is to be done")
    mode = next((mode for mode in get_args(PlanningMode) if mode == field(form, "planning")), None)
    agent = field(form, "agent") or None
    context = replace(
        run_options(request), agent=agent, planning_mode=mode, dry_run=field(form, "dry_run") == "yes"
    )
    thread = str(uuid.uuid4())
    jail = await asyncio.to_thread(workspace_jail, parts.settings)
    paths = await asyncio.to_thread(put_into_workspace, jail, form.files, thread)
    queued = field(form, "background") == "yes"
    try:
        await _begin(parts, with_files(text, paths), thread, context, queued=queued)
    except PlanwrightError:
        await asyncio.to_thread(take_back, jail, paths)
        raise
    run = await parts.read(run_named, thread, visitor_of(request).tenant)
    return shared(request).pages.lead(f"/runs/{run.run_id}" if run else "/runs")


def with_files(text: str, paths: Sequence[str]) -> str:
    """Name in a request the files that came with it."""
    return f"{text}\n\n{FILES} {', '.join(paths)}" if paths else text


async def _begin(parts: WebParts, text: str, thread: str, context: RunContext, *, queued: bool) -> None:
    if queued:
        await parts.agent.aenqueue(text, thread_id=thread, context=context)
    else:
        await parts.here.enter({"messages": [{"role": "user", "content": text}]}, thread, context)


ROUTES: list[BaseRoute] = [
    page_route("/new", serve_new),
    form_route("/new", take_request, "request", files=True),
]
