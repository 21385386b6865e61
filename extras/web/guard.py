"""What every request to the page has to be, on every route, before any of them sees it.

It names this host, it comes from no other page, and its cookie names a visit; what changes something comes
from a form of ours, with the token of that visit. Each answer forbids all that the page does not need.

On this machine the page has a host of its own: a cookie of 127.0.0.1 goes to every port of it.
"""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from planwright.extras.web.pages import Pages
from planwright.extras.web.visits import Visit, Visits
from planwright.graph.serving.requests import LOOPBACK_NAMES, HttpRefusal, by_address, from_elsewhere
from planwright.settings.server import ServerSettings

COOKIE = "planwright"
BACK = "/sign-in/back"
OPEN_PATHS = ("/static/", "/sign-in", "/answer/")
# Static files hold no secret; a provider sends people back to an address that was told to it.
PATHS_BY_ADDRESS = ("/static/", BACK)
NEW_LINK = "open the link that was printed at the start; another: planwright web --link"
SAFE_METHODS = ("GET", "HEAD")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",  # with no-referrer a browser would send its own forms as Origin: null
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
TLS_HEADERS = {"Strict-Transport-Security": "max-age=31536000"}  # RFC 6797


class Guard:
    """Let in who has signed in, from a page of ours; put the visit into `request.state.visit`."""

    def __init__(
        self, app: ASGIApp, *, server: ServerSettings, visits: Visits, pages: Pages, own_host: str
    ) -> None:
        self._app = app
        self._own_host = own_host
        self._server = server
        self._visits = visits
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection of ASGI."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008, "reason": "there is no such route"})
            return
        visit = self._visits.of(cookie_of(scope))
        scope.setdefault("state", {})["visit"] = visit
        answer = self._refusal(scope, visit)
        await (answer or self._app)(scope, receive, _hardened(scope, send))

    def _refusal(self, scope: Scope, visit: Visit | None) -> Response | None:
        """Make the answer to a request that is not let in; None for one that is."""
        names = self._names(scope)
        if names == (self._own_host,) and by_address(scope):
            return self._pages.refusal(421, "at this address other programs would see your visit", NEW_LINK)
        refusal = from_elsewhere(scope, self._server, names=names) or _from_another_page(scope)
        if refusal is not None:
            return self._pages.refusal(refusal.status, refusal.detail)
        if visit is None and not path_of(scope).startswith(OPEN_PATHS):
            return self._pages.sign_in(401)
        if visit is not None and not visit.sees(path_of(scope)):
            return self._pages.refusal(
                403, "the link of a message opens its question alone", "sign in for more"
            )
        return None

    def _names(self, scope: Scope) -> tuple[str, ...]:
        """List the names by which a request may reach the page on the loopback interface."""
        if not self._own_host:
            return LOOPBACK_NAMES
        both = path_of(scope).startswith(PATHS_BY_ADDRESS)
        return (self._own_host, *(LOOPBACK_NAMES if both else ()))


def _from_another_page(scope: Scope) -> HttpRefusal | None:
    """Refuse what another site sends or embeds, by what browsers say of it (W3C, Fetch Metadata)."""
    headers = Headers(scope=scope)
    site, mode = headers.get("sec-fetch-site", "none"), headers.get("sec-fetch-mode", "")
    opened = scope["method"] in SAFE_METHODS and mode == "navigate"
    if site not in ("none", "same-origin") and not opened:
        return HttpRefusal(403, "another web page has sent this request")
    if scope["method"] not in SAFE_METHODS and "origin" not in headers:
        return HttpRefusal(403, "a form has to come from a page of this server, and this request names none")
    return None


def path_of(scope: Scope) -> str:
    """Read which page is asked for, wherever the page is mounted."""
    return str(scope["path"]).removeprefix(scope.get("root_path", ""))


def is_secure(scope: Scope) -> bool:
    """Say whether a request came over TLS, to us or to a proxy that is named."""
    return str(scope.get("scheme")) == "https"


def cookie_name(scope: Scope) -> str:
    """Name the cookie of a visit; one host shares its cookies between ports.

    Over TLS its prefix forbids that a page of another host sets it (RFC 6265bis, "__Host-").
    """
    prefix = "__Host-" if is_secure(scope) else ""
    return f"{prefix}{COOKIE}-{(scope.get('server') or ('', 0))[1]}"


def begun_cookie(scope: Scope) -> str:
    """Name the cookie of a sign-in that has begun."""
    return f"{cookie_name(scope)}-begun"


def cookie_of(scope: Scope) -> str:
    """Read the cookie that names a visit; "" for none."""
    return Request(scope).cookies.get(cookie_name(scope), "")


def _hardened(scope: Scope, send: Send) -> Send:
    headers = {**HEADERS, **(TLS_HEADERS if is_secure(scope) else {})}

    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(headers)
        await send(message)

    return with_headers
