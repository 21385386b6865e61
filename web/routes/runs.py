"""A run: its page, what changes on it, and what can be done with it."""

from __future__ import annotations

from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute

from planwright.checkpoints.ownership.cancelling import cancel as cancel_run
from planwright.domain.errors import RunError
from planwright.web.forms import Form, form_route, page_route
from planwright.web.parts import caller_of, context_of, parts_of
from planwright.web.view_models.run_state import run_state


async def run(request: Request) -> Response:
    """Show a run as it stands."""
    return parts_of(request).pages.page(request, "run.html", await _values(request, None))


async def moment(request: Request) -> Response:
    """Render a run as it stood after one of its events, for the scrubber."""
    values = await _values(request, request.path_params["seq"])
    return parts_of(request).pages.page(request, "run_moment.html", values)


async def log(request: Request) -> Response:
    """List the events of a run."""
    row = await parts_of(request).run(request)
    pulse = await parts_of(request).history.pulse(row.run_id)
    values = {"run": row, "events": pulse.events if pulse else []}
    return parts_of(request).pages.page(request, "run_log.html", values)


async def _values(request: Request, upto: int | None) -> dict[str, object]:
    parts = parts_of(request)
    row = await parts.run(request)
    pulse = await parts.history.pulse(row.run_id)
    events = pulse.events if pulse else []
    state = run_state(events, upto)
    past = bool(events) and state.seq < events[-1]["seq"]
    return await parts.live.values(state, row, past=past)


async def run_events(request: Request) -> Response:
    """Stream the parts of a run's page as they change."""
    row = await parts_of(request).run(request)
    return stream(parts_of(request).live.run(row))


async def waiting_events(request: Request) -> Response:
    """Stream how much waits for the people of a tenant."""
    return stream(parts_of(request).live.waiting(caller_of(request).tenant))


def stream(texts: AsyncIterator[str]) -> StreamingResponse:
    """Send texts as server-sent events (WHATWG HTML, 9.2)."""

    async def lines() -> AsyncIterator[str]:
        yield "retry: 1000\n\n"
        async for text in texts:
            yield f"data: {text}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


async def cancel(request: Request, form: Form) -> Response:
    """Cancel a run: running calls finish, the rest is skipped."""
    parts = parts_of(request)
    row = await parts.run(request)
    await cancel_run(parts.agent.stores, row.run_id, caller_of(request).person, parts.agent.door.clock())
    return _to(row.run_id)


async def resume(request: Request, form: Form) -> Response:
    """Go on with a run that was interrupted."""
    parts = parts_of(request)
    row = await parts.run(request)
    if row.ended:
        raise RunError(f"run {row.run_id} has ended", "begin a new one")
    await parts.here.enter(None, row.thread_id, context_of(request))
    return _to(row.run_id)


async def fork(request: Request, form: Form) -> Response:
    """Begin a run with the plan and the results of another; chosen steps run again."""
    parts = parts_of(request)
    row = await parts.run(request)
    config = await parts.agent.afork(row.run_id, rerun=form.get("rerun", []), context=context_of(request))
    return await _begun(request, str(config["configurable"]["thread_id"]))


async def undo_look(request: Request) -> Response:
    """Show what can be undone of a run, before anything is."""
    parts = parts_of(request)
    row = await parts.run(request)
    items = await parts.agent.undoing.look(row.run_id)
    return parts.pages.page(request, "undo.html", {"run": row, "items": items})


async def undo(request: Request, form: Form) -> Response:
    """Begin the run that undoes a run; a person approves it."""
    parts = parts_of(request)
    row = await parts.run(request)
    config = await parts.agent.aundo(row.run_id, without=form.get("without", []), context=context_of(request))
    return await _begun(request, str(config["configurable"]["thread_id"]))


async def _begun(request: Request, thread_id: str) -> Response:
    parts = parts_of(request)
    await parts.here.enter(None, thread_id, context_of(request))
    row = await parts.history.run(caller_of(request).tenant, thread_id)
    return _to(row.run_id if row else thread_id)


def _to(run_id: str) -> Response:
    return RedirectResponse(f"/runs/{run_id}", 303)


ROUTES: list[BaseRoute] = [
    page_route("/events", waiting_events),
    page_route("/runs/{run_id}", run),
    page_route("/runs/{run_id}/events", run_events),
    page_route("/runs/{run_id}/at/{seq:int}", moment),
    page_route("/runs/{run_id}/log", log),
    page_route("/runs/{run_id}/undo", undo_look),
    form_route("/runs/{run_id}/cancel", cancel),
    form_route("/runs/{run_id}/resume", resume),
    form_route("/runs/{run_id}/fork", fork),
    form_route("/runs/{run_id}/undo", undo),
]
