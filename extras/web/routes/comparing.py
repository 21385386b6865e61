"""Two runs side by side: how each went, and what differs between their records."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from planwright.domain.errors import RunError
from planwright.extras.audit.run_diff import diff_runs
from planwright.extras.web.forms import page_route
from planwright.extras.web.parts import shared, visitor_of
from planwright.extras.web.view_models.run_page import RunPageView, StepRow
from planwright.extras.web.view_models.run_state import run_state
from planwright.extras.web.view_models.step_pairs import step_pairs
from planwright.records.history.run_pages import RunFilter, runs_page
from planwright.records.history.run_records import run_named, run_pulse
from planwright.records.runs import Run

OFFERED = 30


async def serve_comparison(request: Request) -> Response:
    """Compare a run with another of the tenant; without another, show those that may be chosen."""
    parts, tenant = shared(request), visitor_of(request).tenant
    before, which = await parts.run(request), request.query_params.get("with", "")
    after = await parts.read(run_named, which, tenant) if which else None
    if which and after is None:
        raise RunError(f"there is no run {which}", "choose one from the list")
    sides = [await _side(request, run) for run in (before, after) if run and after]
    page = await parts.read(runs_page, RunFilter(tenant), OFFERED, 0)
    values = {
        "run": before,
        "choices": [row for row in page.rows if row["run_id"] != before.run_id],
        "other": after,
        "sides": sides,
        "pairs": step_pairs(*map(_steps, sides)) if sides else [],
        "differences": await _differences(request, before, after) if after else [],
    }
    return parts.pages.page(request, "comparison.html", values)


def _steps(side: dict[str, object]) -> Sequence[StepRow]:
    view = side["view"]
    return view.steps if isinstance(view, RunPageView) else ()


async def _differences(request: Request, before: Run, after: Run) -> list[str]:
    return await shared(request).read(diff_runs, before.run_id, after.run_id)


async def _side(request: Request, run: Run) -> dict[str, object]:
    parts = shared(request)
    pulse = await parts.read(run_pulse, run.run_id)
    return await parts.live.values(run_state(pulse.events if pulse else ()), run)


ROUTES: list[BaseRoute] = [page_route("/runs/{run_id}/compare", serve_comparison)]
