"""People: who is known here, with which rights, and who has signed in."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from planwright.extras.web.forms import page_route
from planwright.extras.web.parts import shared, visitor_of
from planwright.extras.web.view_models.paging import paging
from planwright.security.credentials import Caller

PAGE = 50


async def serve_people(request: Request) -> Response:
    """List the people of a tenant, and their sign-ins, the newest first."""
    parts, tenant = shared(request), visitor_of(request).tenant
    page = paging(request.query_params.get("page", "1"), PAGE)
    known = {*parts.people.callers(), *parts.credentials.callers()}
    values = {
        "people": sorted((caller for caller in known if caller.tenant == tenant), key=_name),
        "sign_ins": await parts.sign_ins.newest(tenant, PAGE, page.skipped),
        "paging": page.of(await parts.sign_ins.count(tenant)),
    }
    return parts.pages.page(request, "people.html", values)


def _name(caller: Caller) -> str:
    return caller.person.casefold()


ROUTES: list[BaseRoute] = [page_route("/workspace/people", serve_people, "audit", "operate")]
