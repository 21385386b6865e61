"""A run: its page, what changes on it, and what can be done with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute

from planwright.domain.errors import RunError
from planwright.extras.web.forms import FilledForm, form_route, page_route
from planwright.extras.web.parts import run_options, shared, visitor_of
from planwright.extras.web.view_models.run_state import run_state
from planwright.records.history.run_records import run_named, run_pulse
from planwright.records.ownership.cancelling import cancel as cancel_run


async def serve_run(request: Request) -> Response:
    """Show a run as it stands."""
    return shared(request).pages.page(request, "run.html", await _values(request, None))


async def serve_moment(request: Request) -> Response:
    """Render a run as it stood after one of its events, for the scrubber."""
    values = await _values(request, request.path_params["seq"])
    return shared(request).pages.page(request, "run_moment.html", values)


async def serve_log(request: Request) -> Response:
    """List the events of a run."""
    row = await shared(request).run(request)
    pulse = await shared(request).read(run_pulse, row.run_id)
    values = {"run": row, "events": pulse.events if pulse else []}
    return shared(request).pages.page(request, "run_log.html", values)


async def _values(request: Request, upto: int | None) -> dict[str, object]:
    parts = shared(request)
    row = await parts.run(request)
    pulse = await parts.read(run_pulse, row.run_id)
    events = pulse.events if pulse else []
    state = run_state(events, upto)
    past = bool(events) and state.seq < events[-1]["seq"]
    return await parts.live.values(state, row, past=past)


async def serve_run_events(request: Request) -> Response:
    """Stream the parts of a run's page as they change."""
    row = await shared(request).run(request)
    return stream(request, lambda: shared(request).live.run(row))


async def serve_waiting_events(request: Request) -> Response:
    """Stream how much waits for the people of a tenant."""
    return stream(request, lambda: shared(request).live.waiting(visitor_of(request).tenant))


def stream(request: Request, follow: Callable[[], AsyncIterator[str]]) -> Response:
    """Send the texts of what is followed as server-sent events (WHATWG HTML, 9.2)."""
    if request.method == "HEAD":  # a stream without a body would go on, and its connection be of no use
        return Response(media_type="text/event-stream")
    texts = follow()

    async def lines() -> AsyncIterator[str]:
        yield "retry: 1000\n\n"
        async for text in texts:
            yield f"data: {text}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


async def take_cancel(request: Request, form: FilledForm) -> Response:
    """Cancel a run: running calls finish, the rest is skipped."""
    parts = shared(request)
    row = await parts.run(request)
    await cancel_run(parts.agent.stores, row.run_id, visitor_of(request).person)
    return _to(request, row.run_id)


async def take_resume(request: Request, form: FilledForm) -> Response:
    """Go on with a run that was interrupted."""
    parts = shared(request)
    row = await parts.run(request)
    if row.ended:
        raise RunError(f"run {row.run_id} has ended", "begin a new one")
    await parts.here.enter(None, row.thread_id, run_options(request))
    return _to(request, row.run_id)


async def take_fork(request: Request, form: FilledForm) -> Response:
    """Begin a run with the plan and the results of another; chosen steps run again."""
    parts = shared(request)
    row = await parts.run(request)
    config = await parts.agent.afork(row.run_id, rerun=form.get("rerun", []), context=run_options(request))
    return await _begun(request, str(config["configurable"]["thread_id"]))


async def serve_undo(request: Request) -> Response:
    """Show what can be undone of a run, before anything is."""
    parts = shared(request)
    row = await parts.run(request)
    items = await parts.agent.undoing.look(row.run_id)
    return parts.pages.page(request, "undo.html", {"run": row, "items": items})


async def take_undo(request: Request, form: FilledForm) -> Response:
    """Begin the run that undoes a run; a person approves it."""
    parts = shared(request)
    row = await parts.run(request)
    config = await parts.agent.aundo(
        row.run_id, without=form.get("without", []), context=run_options(request)
    )
    return await _begun(request, str(config["configurable"]["thread_id"]))


async def _begun(request: Request, thread_id: str) -> Response:
    parts = shared(request)
    await parts.here.enter(None, thread_id, run_options(request))
    row = await parts.read(run_named, thread_id, visitor_of(request).tenant)
    return _to(request, row.run_id if row else thread_id)


def _to(request: Request, run_id: str) -> Response:
    return shared(request).pages.lead(f"/runs/{run_id}")


ROUTES: list[BaseRoute] = [
    page_route("/events", serve_waiting_events),
    page_route("/runs/{run_id}", serve_run),
    page_route("/runs/{run_id}/events", serve_run_events),
    page_route("/runs/{run_id}/at/{seq:int}", serve_moment),
    page_route("/runs/{run_id}/log", serve_log),
    page_route("/runs/{run_id}/undo", serve_undo),
    form_route("/runs/{run_id}/cancel", take_cancel, "request", "operate"),
    form_route("/runs/{run_id}/resume", take_resume, "request", "operate"),
    form_route("/runs/{run_id}/fork", take_fork, "request"),
    form_route("/runs/{run_id}/undo", take_undo, "operate"),
]
