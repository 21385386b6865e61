"""Signing in: by the link of a start, a token, or at the provider; signing out. Each is recorded."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from planwright.checkpoints.sign_ins import Outcome, SignIn, Way
from planwright.domain.errors import PlanwrightError
from planwright.graph.server_doors.requests import on_loopback
from planwright.security.credentials import Caller
from planwright.web.forms import FilledForm, field, form_route, read_form
from planwright.web.guard import begun_cookie, cookie_name, cookie_of, is_secure
from planwright.web.openid import LASTS_S, OpenIdProvider, SignInFailed
from planwright.web.parts import shared, visitor_of
from planwright.web.rate_limits import BEGUN_SIGN_INS, FAILED_SIGN_INS, client_site

BACK = "/sign-in/back"


async def serve_sign_in(request: Request) -> Response:
    """Take the token out of a link, and the link out of the address bar; without one show the form."""
    token = request.query_params.get("token", "")
    if not token:
        return shared(request).pages.sign_in(200)
    return await _by_token(request, token, "link")


async def take_token(request: Request) -> Response:
    """Take the token that somebody typed."""
    form = await read_form(request) or FilledForm()
    return await _by_token(request, field(form, "token").strip(), "token")


async def _by_token(request: Request, token: str, way: Way) -> Response:
    parts = shared(request)
    if wait_s := parts.rate_limits.wait_s(FAILED_SIGN_INS, client_site(client_address(request))):
        return parts.pages.too_many(wait_s)
    caller = parts.credentials.caller(token, loopback=on_loopback(request.scope))
    if caller is None:
        return await _refused(request, way, "", "this is no token of this server")
    answer = shared(request).pages.lead("/")
    await _let_in(request, answer, caller, way)
    return answer


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
    cookie = request.cookies.get(begun_cookie(request.scope), "")
    try:
        identity = await _provider(request).identity(cookie, request.query_params, _way_back(request))
    except SignInFailed as error:
        return await _refused(request, "provider", "", error.cause)
    caller = parts.people.caller(identity)
    if caller is None:
        return await _refused(request, "provider", identity, f"{identity} is not among the people here")
    answer = parts.pages.signed_in()
    answer.delete_cookie(begun_cookie(request.scope), path="/", secure=is_secure(request.scope))
    await _let_in(request, answer, caller, "provider")
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
    return str(request.url.replace(path=request.scope.get("root_path", "") + BACK, query="", fragment=""))


async def _let_in(request: Request, answer: Response, caller: Caller, way: Way) -> None:
    """Begin a visit, once that is on record."""
    await _record(request, way, "signed in", caller)
    answer.set_cookie(
        cookie_name(request.scope),
        shared(request).visits.begin(caller, way),
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
