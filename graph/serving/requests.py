"""What every request to the server has to be, on every route, before LangGraph sees it.

A page in a browser on this machine can reach the loopback interface. It is kept out by the `Host` it names
(DNS rebinding), by its `Origin`, by the type of its body (what a page may send unasked is no JSON: Fetch
standard, "CORS-safelisted request-header") and, whatever it sends, by the token it does not have.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Lifespan, Receive, Scope, Send

from planwright.security.credentials import Caller, Credentials
from planwright.settings.server import ServerSettings

OPEN_PATHS = frozenset(("/ok",))  # says that the server is up, and nothing else
# Routes of the development server that skip its own authentication: they show any thread, drop all, deploy.
CLOSED_PATHS = re.compile(r"/(internal|deploy)(/|$)")
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
PAGE = "/page"  # what is below it is guarded by the page itself (extras/web/guard.py)
READABLE_HEADERS = ("x-pagination-total", "x-pagination-next", "content-location")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
POLICY_VIOLATION = 1008  # RFC 6455, 7.4.1


@dataclass(frozen=True)
class HttpRefusal:
    """Why a request is not answered, as an HTTP status and a sentence."""

    status: int
    """HTTP status of the reply."""
    detail: str
    """Why the request is refused, in a sentence."""


Rule = Callable[[Scope], HttpRefusal | None]


class Refusing:
    """Pass on the requests that a rule has nothing against."""

    def __init__(self, app: ASGIApp, rule: Rule) -> None:
        self._app = app
        self._rule = rule

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection of ASGI."""
        refusal = None if scope["type"] == "lifespan" else self._rule(scope)
        if refusal is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": refusal.detail})
        else:
            challenge = {"WWW-Authenticate": "Bearer"} if refusal.status == 401 else {}
            answer = JSONResponse({"detail": refusal.detail}, refusal.status, headers=challenge)
            await answer(scope, receive, send)


def build_app(
    server: ServerSettings,
    credentials: Credentials,
    *inner: Middleware,
    page: ASGIApp,
    lifespan: Lifespan[Starlette],
) -> Starlette:
    """Build what `http.app` in `langgraph.json` names: its middleware goes around all routes.

    The `inner` one sees what has been let in; `page` is the page, which is its own door.
    """

    async def pages(scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the page as one route: the server describes those it sees as its API."""
        await guarded_page(scope, receive, send)

    guarded_page = Refusing(page, rule=in_the_clear)
    cors = Middleware(
        CORSMiddleware,
        allow_origins=server.origins,
        allow_methods=METHODS,
        allow_headers=("*",),
        allow_private_network=True,
        expose_headers=READABLE_HEADERS,
    )
    return Starlette(
        routes=[Route(PAGE, _into_the_page, include_in_schema=False), Mount(PAGE, pages)],
        lifespan=lifespan,
        middleware=[
            Middleware(Refusing, rule=lambda scope: misdirected(scope, server)),
            cors,
            Middleware(Refusing, rule=lambda scope: unauthenticated(scope, credentials)),
            *inner,
        ],
    )


async def _into_the_page(_: Request) -> RedirectResponse:
    return RedirectResponse(f"{PAGE}/", 303)


def misdirected(scope: Scope, server: ServerSettings) -> HttpRefusal | None:
    """Refuse another host, another origin, a body that is not JSON, and routes that nobody needs."""
    if is_page(scope):
        return None
    if refusal := from_elsewhere(scope, server, server.origins):
        return refusal
    if not _is_json(Headers(scope=scope)):
        return HttpRefusal(415, "send the body as JSON, with Content-Type: application/json")
    if CLOSED_PATHS.match(scope["path"]):
        return HttpRefusal(404, "there is no such route")
    return None


def in_the_clear(scope: Scope) -> HttpRefusal | None:
    """Refuse the page from elsewhere without TLS: a cookie or a token could be read on the way."""
    if on_loopback(scope) or scope.get("scheme") in ("https", "wss"):
        return None
    return HttpRefusal(403, "from elsewhere this page is for https alone")


def is_page(scope: Scope) -> bool:
    """Say whether a request is for the page, as Starlette's routing sees it."""
    return not scope.get("root_path") and f"{scope['path']}/".startswith(f"{PAGE}/")


def from_elsewhere(
    scope: Scope,
    server: ServerSettings,
    origins: Sequence[str] = (),
    names: Sequence[str] = LOOPBACK_NAMES,
) -> HttpRefusal | None:
    """Refuse a request that names another host, or comes from a page of neither this server nor `origins`.

    `names` are those that it goes by on the loopback interface.
    """
    headers = Headers(scope=scope)
    hosts, senders = headers.getlist("host"), headers.getlist("origin")
    if len(hosts) != 1 or hosts[0].lower() not in _hosts(scope, server, names):
        return HttpRefusal(
            403, "this server does not go by that Host; names it goes by are listed in [server] hosts"
        )
    allowed = (*origins, f"http://{hosts[0].lower()}", f"https://{hosts[0].lower()}")
    if len(senders) > 1 or any(sender not in allowed for sender in senders):
        return HttpRefusal(
            403, "this web page may not use the server; those that may are in [server] origins"
        )
    return None


def unauthenticated(scope: Scope, credentials: Credentials) -> HttpRefusal | None:
    """Refuse a request without a token of ours, but for the one that asks whether the server is up."""
    if scope["path"] in OPEN_PATHS or is_page(scope) or caller_of(scope, credentials):
        return None
    return HttpRefusal(401, "send the token of this server: Authorization: Bearer … (or x-api-key)")


def caller_of(scope: Scope, credentials: Credentials) -> Caller | None:
    """Find who sent a request: by the bearer token (RFC 6750), or the API key that LangGraph's SDKs send."""
    headers = Headers(scope=scope)
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    tokens = [bearer.strip()] if scheme.lower() == "bearer" else []
    tokens += headers.getlist("x-api-key")
    callers = (credentials.caller(token, loopback=on_loopback(scope)) for token in tokens if token)
    return next((caller for caller in callers if caller), None)


def on_loopback(scope: Scope) -> bool:
    """Say whether a connection came in over the loopback interface, by the server's own address."""
    address = (scope.get("server") or ("", None))[0]
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def by_address(scope: Scope) -> bool:
    """Say whether a request names this machine by its address or as `localhost`, as for all its servers."""
    host = Headers(scope=scope).get("host", "").lower()
    return host in _hosts(scope, ServerSettings(), LOOPBACK_NAMES)


def _hosts(scope: Scope, server: ServerSettings, names: Sequence[str]) -> tuple[str, ...]:
    """List the values of Host that are ours: configured ones, and on the loopback interface these names."""
    if not on_loopback(scope):
        return server.hosts
    port = scope["server"][1]
    ours = [f"{name}:{port}" for name in names]
    return (*server.hosts, *ours, *(names if port == 80 else ()))


def _is_json(headers: Headers) -> bool:
    """Say whether a request has no body, or one that says it is JSON (RFC 8259)."""
    types = [value.partition(";")[0].strip().lower() for value in headers.getlist("content-type")]
    if types:
        return all(media_type == "application/json" for media_type in types)
    return "transfer-encoding" not in headers and headers.get("content-length", "0") == "0"
