"""Links of messages: each leads to one gate, and takes one answer there in the name of a person.

Opening one begins a visit that sees that gate and nothing else; an answer goes the way of all others.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from planwright.domain.errors import GateError, PlanwrightError
from planwright.extras.web.parts import shared
from planwright.extras.web.rate_limits import BEGUN_SIGN_INS, FAILED_SIGN_INS, client_site
from planwright.extras.web.routes.sign_in import client_address, let_in
from planwright.records.consent.answer_links import AnswerLink
from planwright.security.credentials import Caller


async def serve_link(request: Request) -> Response:
    """Ask whether the question of a link is to be opened: what only looks, as a mail server, changes nothing.

    A browser whose person has signed in is led to it, and stays who it is.
    """
    parts, visit = shared(request), request.state.visit
    link = await _link_of(request)
    if isinstance(link, Response):
        return link
    if visit is None or visit.gate_id:
        return parts.pages.answer_link(link.person, f"/answer/{request.path_params['token']}")
    if (visit.caller.person, visit.caller.tenant) == (link.person, link.gate.tenant):
        return parts.pages.lead(f"/approvals/{link.gate.gate_id}")
    cause = f"this link is for {link.person}, and you have signed in as {visit.caller.person}"
    return parts.pages.refusal(403, cause, "sign out first, or open it in a private window")


async def take_link(request: Request) -> Response:
    """Begin the visit of a link, and lead to its gate."""
    parts, who = shared(request), client_site(client_address(request))
    if request.state.visit is not None and not request.state.visit.gate_id:
        return await serve_link(request)
    if wait_s := parts.rate_limits.add(BEGUN_SIGN_INS, who):
        return parts.pages.too_many(wait_s)
    link = await _link_of(request)
    if isinstance(link, Response):
        return link
    answer = parts.pages.lead(f"/approvals/{link.gate.gate_id}")
    caller = Caller(link.person, link.gate.tenant, frozenset(("approve",)))
    await let_in(request, answer, caller, "answer", link.gate.gate_id)
    return answer


async def _link_of(request: Request) -> AnswerLink | Response:
    """Find what a link is good for; for none say so, and count the attempt."""
    parts, who = shared(request), client_site(client_address(request))
    if wait_s := parts.rate_limits.wait_s(FAILED_SIGN_INS, who):
        return parts.pages.too_many(wait_s)
    try:
        now = parts.agent.door.clock()
        return await parts.agent.stores.answer_links.find(request.path_params["token"], now)
    except GateError as error:
        parts.rate_limits.add(FAILED_SIGN_INS, who)
        return parts.pages.refusal(404, error.cause, error.next_step)
    except PlanwrightError as error:
        return parts.pages.refusal(503, error.cause, error.next_step)


ROUTES: list[BaseRoute] = [
    Route("/answer/{token}", serve_link, methods=["GET"]),
    Route("/answer/{token}", take_link, methods=["POST"]),
]
