"""Signing in with a token: the link of a start, or the form that takes one; signing out."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from planwright.graph.server_middleware import on_loopback
from planwright.web.forms import Form, field, form_route, read_form
from planwright.web.guard import cookie_name, cookie_of
from planwright.web.parts import shared


async def serve_sign_in(request: Request) -> Response:
    """Take the token out of a link, and the link out of the address bar; without one show the form."""
    token = request.query_params.get("token", "")
    return _signed_in(request, token) if token else shared(request).pages.sign_in(request, 200)


async def take_token(request: Request) -> Response:
    """Take the token that somebody typed."""
    form = await read_form(request) or {}
    return _signed_in(request, field(form, "token").strip())


def _signed_in(request: Request, token: str) -> Response:
    parts = shared(request)
    caller = parts.credentials.caller(token, loopback=on_loopback(request.scope))
    if caller is None:
        return parts.pages.sign_in(request, 401, "this is no token of this server")
    answer = RedirectResponse("/", 303)
    answer.set_cookie(
        cookie_name(request.scope), parts.visits.begin(caller), httponly=True, samesite="strict", path="/"
    )
    return answer


async def take_sign_out(request: Request, form: Form) -> Response:
    """End the visit of this browser."""
    shared(request).visits.end(cookie_of(request.scope))
    answer = RedirectResponse("/sign-in", 303)
    answer.delete_cookie(cookie_name(request.scope), path="/")
    return answer


ROUTES: list[BaseRoute] = [
    Route("/sign-in", serve_sign_in, methods=["GET"]),
    Route("/sign-in", take_token, methods=["POST"]),
    form_route("/sign-out", take_sign_out),
]
