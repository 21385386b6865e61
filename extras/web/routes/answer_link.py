"""Links of messages: each leads to one gate, and takes one answer there in the name of a person.

Opening one begins a visit that sees that gate and nothing else; an answer goes the way of all others.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from planwright.domain.errors import GateError, PlanwrightError
from planwright.extras.web.guard import cookie_of
from planwright.extras.web.parts import shared
from planwright.extras.web.rate_limits import FAILED_SIGN_INS, client_site
from planwright.extras.web.routes.sign_in import client_address, let_in
from planwright.records.consent.answer_links import AnswerLink
from planwright.security.credentials import Caller


async def serve_link(request: Request) -> Response:
    """Lead to the gate of a link; a browser whose person has signed in stays who it is.

    What only looks at a link, as a mail server does, changes nothing.
    """
    parts, visit = shared(request), request.state.visit
    who = client_site(client_address(request))
    if wait_s := parts.rate_limits.wait_s(FAILED_SIGN_INS, who):
        return parts.pages.too_many(wait_s)
    try:
        now = parts.agent.door.clock()
        link = await parts.agent.stores.answer_links.find(request.path_params["token"], now)
    except GateError as error:
        parts.rate_limits.add(FAILED_SIGN_INS, who)
        return parts.pages.refusal(404, error.cause, error.next_step)
    except PlanwrightError as error:
        return parts.pages.refusal(503, error.cause, error.next_step)
    if visit is None or visit.gate_id:
        return await _let_in(request, link)
    if (visit.caller.person, visit.caller.tenant) == (link.person, link.gate.tenant):
        return parts.pages.lead(f"/approvals/{link.gate.gate_id}")
    cause = f"this link is for {link.person}, and you have signed in as {visit.caller.person}"
    return parts.pages.refusal(403, cause, "sign out first, or open it in a private window")


async def _let_in(request: Request, link: AnswerLink) -> Response:
    parts, gate = shared(request), link.gate
    parts.visits.end(cookie_of(request.scope))
    answer = parts.pages.lead_on(f"/approvals/{gate.gate_id}")
    caller = Caller(link.person, gate.tenant, frozenset(("approve",)))
    await let_in(request, answer, caller, "answer", gate.gate_id)
    return answer


ROUTES: list[BaseRoute] = [Route("/answer/{token}", serve_link, methods=["GET"])]
