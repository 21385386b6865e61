"""Signing in: by a link that is good once, a token, or at the provider; signing out. Each is recorded."""

from __future__ import annotations

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from planwright.domain.errors import PlanwrightError
from planwright.extras.web.forms import FilledForm, field, form_route, read_form
from planwright.extras.web.guard import BACK, begun_cookie, cookie_name, cookie_of, is_secure
from planwright.extras.web.openid import LASTS_S, OpenIdProvider, SignInFailed
from planwright.extras.web.parts import shared, visitor_of
from planwright.extras.web.rate_limits import BEGUN_SIGN_INS, FAILED_SIGN_INS, client_site
from planwright.graph.serving.requests import by_address, on_loopback
from planwright.records.sign_ins import Outcome, SignIn, Way
from planwright.security.credentials import Caller, login_name
from planwright.security.tickets import TicketState

_ANOTHER = "make another on its machine: planwright web --link"
_PROBLEMS: dict[TicketState, str] = {
    "used": f"this link was used, and a link is good once; {_ANOTHER}",
    "unknown": f"this is no link of this start; {_ANOTHER}",
}


async def serve_sign_in(request: Request) -> Response:
    """Take the ticket of a link, once; without one show the form.

    Nobody becomes another person by a link alone: whoever has signed in is asked.
    """
    parts, visit = shared(request), request.state.visit
    ticket = request.query_params.get("ticket", "")
    if not ticket or request.method == "HEAD":  # what only looks at a link does not use it up
        return parts.pages.sign_in(200)
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return parts.pages.lead_on(
            f"/sign-in?ticket={quote(ticket)}"
        )  # then the cookie of a visit comes, too
    state = _state_of(request, ticket)
    if state == "used" and visit is not None:
        return parts.pages.lead("/")
    if state == "good" and visit is not None and visit.caller != Caller(login_name()):
        return parts.pages.other_person(visit, login_name(), ticket)
    return await _by_ticket(request, ticket)


async def take_token(request: Request) -> Response:
    """Take the token that somebody typed, or the ticket of a link for whose person they go on."""
    form = await read_form(request) or FilledForm()
    if not (ticket := field(form, "ticket")):
        return await _by_token(request, field(form, "token").strip())
    visit = request.state.visit
    if visit is None or not visit.sent(field(form, "csrf")):
        return shared(request).pages.refusal(403, "this form is not from your visit", "open the link again")
    return await _by_ticket(request, ticket)


async def _by_token(request: Request, token: str) -> Response:
    parts = shared(request)
    if wait_s := parts.rate_limits.wait_s(FAILED_SIGN_INS, client_site(client_address(request))):
        return parts.pages.too_many(wait_s)
    caller = parts.credentials.caller(token, loopback=on_loopback(request.scope))
    if caller is None:
        return await _refused(request, "token", "", "this is no token of this server")
    answer = shared(request).pages.lead("/")
    await let_in(request, answer, caller, "token")
    return answer


async def _by_ticket(request: Request, ticket: str) -> Response:
    """Use a ticket up, and let in whoever brings it as the person at this machine."""
    parts = shared(request)
    if wait_s := parts.rate_limits.wait_s(FAILED_SIGN_INS, client_site(client_address(request))):
        return parts.pages.too_many(wait_s)
    if (state := _state_of(request, ticket, use=True)) != "good":
        return await _refused(request, "link", "", _PROBLEMS[state])
    answer = parts.pages.lead_on("/")
    await let_in(request, answer, Caller(login_name()), "link")
    return answer


def _state_of(request: Request, ticket: str, *, use: bool = False) -> TicketState:
    """Say how a ticket stands, and use it up; none counts from elsewhere than this machine."""
    parts = shared(request)
    tickets = parts.credentials.tickets
    if tickets is None or not on_loopback(request.scope):
        return "unknown"
    take = tickets.use if use else tickets.look
    return take(ticket)


async def serve_provider(request: Request) -> Response:
    """Send the browser to the provider."""
    parts, who = shared(request), client_site(client_address(request))
    failed_s = parts.rate_limits.wait_s(FAILED_SIGN_INS, who)
    if wait_s := failed_s or parts.rate_limits.add(BEGUN_SIGN_INS, who):
        return parts.pages.too_many(wait_s)
    try:
        url, cookie = await _provider(request).begin(_way_back(request))
    except SignInFailed as error:
        return await _refused(request, "provider", "", error.cause)
    answer = RedirectResponse(url, 303)
    # The way back is a link from another site, with which a browser sends no cookie that is Strict.
    answer.set_cookie(
        begun_cookie(request.scope),
        cookie,
        max_age=LASTS_S,
        httponly=True,
        samesite="lax",
        secure=is_secure(request.scope),
        path="/",
    )
    return answer


async def serve_way_back(request: Request) -> Response:
    """Take whom the provider sends back; a page leads on, since a redirect would bring no Strict cookie."""
    parts = shared(request)
    if parts.own_host and by_address(request.scope):
        return await _to_own_host(request)
    cookie = request.cookies.get(begun_cookie(request.scope), "")
    try:
        identity = await _provider(request).identity(cookie, request.query_params, _way_back(request))
    except SignInFailed as error:
        return await _refused(request, "provider", "", error.cause)
    caller = parts.people.caller(identity)
    if caller is None:
        return await _refused(request, "provider", identity, f"{identity} is not among the people here")
    answer = parts.pages.lead_on("/")
    answer.delete_cookie(begun_cookie(request.scope), path="/", secure=is_secure(request.scope))
    await let_in(request, answer, caller, "provider")
    return answer


async def take_sign_out(request: Request, form: FilledForm) -> Response:
    """End the visit of this browser."""
    shared(request).visits.end(cookie_of(request.scope))
    await _record(request, request.state.visit.way, "signed out", visitor_of(request))
    answer = shared(request).pages.lead("/sign-in")
    answer.delete_cookie(cookie_name(request.scope), path="/", secure=is_secure(request.scope))
    return answer


def client_address(request: Request) -> str:
    """Read which address a request comes from; behind a proxy that is named, what the proxy says."""
    return request.client.host if request.client else ""


def _provider(request: Request) -> OpenIdProvider:
    provider = shared(request).provider
    if provider is None:
        raise SignInFailed("there is no provider to sign in at", "name one: [sign_in] issuer")
    return provider


def _way_back(request: Request) -> str:
    """Name the address that a provider sends people back to: on this machine one that it knows beforehand."""
    parts, path = shared(request), request.scope.get("root_path", "") + BACK
    back = request.url.replace(path=path, query="", fragment="")
    if back.hostname != parts.own_host:
        return str(back)
    address = str(request.scope["server"][0])
    return str(back.replace(hostname=f"[{address}]" if ":" in address else address))


async def _to_own_host(request: Request) -> Response:
    """Lead a browser with the answer of the provider to the host that began; nobody else learns its name."""
    parts = shared(request)
    provider, state = parts.provider, request.query_params.get("state", "")
    if provider is None or not provider.knows(state):
        return await _refused(request, "provider", "", "this sign-in was not begun here, or too long ago")
    return RedirectResponse(str(request.url.replace(hostname=parts.own_host)), 303)


async def let_in(request: Request, answer: Response, caller: Caller, way: Way, gate_id: str = "") -> None:
    """Begin a visit, of one gate alone where it is named, once that is on record; the one before is over."""
    await _record(request, way, "signed in", caller)
    shared(request).visits.end(cookie_of(request.scope))
    answer.set_cookie(
        cookie_name(request.scope),
        shared(request).visits.begin(caller, way, gate_id),
        httponly=True,
        samesite="strict",
        secure=is_secure(request.scope),
        path="/",
    )


async def _refused(request: Request, way: Way, identity: str, problem: str) -> Response:
    """Record a refusal, count it, and show why."""
    parts = shared(request)
    if wait_s := parts.rate_limits.add(FAILED_SIGN_INS, client_site(client_address(request))):
        return parts.pages.too_many(wait_s)
    try:
        await _record(request, way, "refused", Caller(identity, "", frozenset()))
    except PlanwrightError as error:
        problem = f"{problem}; {error.cause}"
    return parts.pages.sign_in(401, problem)


async def _record(request: Request, way: Way, outcome: Outcome, caller: Caller) -> None:
    parts = shared(request)
    row = SignIn(way, outcome, client_address(request), caller.person, caller.tenant)
    await parts.sign_ins.add(row, parts.agent.door.clock())


ROUTES: list[BaseRoute] = [
    Route("/sign-in", serve_sign_in, methods=["GET"]),
    Route("/sign-in", take_token, methods=["POST"]),
    Route("/sign-in/provider", serve_provider, methods=["GET"]),
    Route(BACK, serve_way_back, methods=["GET"]),
    form_route("/sign-out", take_sign_out),
]
