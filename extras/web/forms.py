"""Forms: what a page sends to change something, read only where the token of the visit comes with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from planwright.domain.errors import PlanwrightError
from planwright.extras.web.parts import shared, visitor_of
from planwright.extras.web.rate_limits import FORMS
from planwright.extras.web.uploads import Upload, read_uploads
from planwright.extras.web.visits import Visit
from planwright.settings.server import Right

MOST_BYTES = 4_000_000
URL_ENCODED, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"


class FilledForm(dict[str, list[str]]):
    """What a form brings, by the name of its field; a name may come several times."""

    files: tuple[Upload, ...] = ()
    """Files that came with it."""


Handler = Callable[[Request], Awaitable[Response]]
FormHandler = Callable[[Request, FilledForm], Awaitable[Response]]


def page_route(path: str, handler: Handler, *rights: Right) -> Route:
    """Make the route of a page for people with one of the rights, or for all who are known if there are none.

    A refusal of ours is shown with its cause and the next step.
    """

    async def serve(request: Request) -> Response:
        if refusal := _not_theirs(request, rights):
            return refusal
        try:
            return await handler(request)
        except PlanwrightError as error:
            return refusal_page(request, error, 404)

    return Route(path, serve, methods=["GET"], name=handler.__name__)


def form_route(path: str, handler: FormHandler, *rights: Right, files: bool = False) -> Route:
    """Make the route of a form for people with one of the rights, or for all who are known if there are none.

    It is handled only with the token of the visit in it. Only where `files` says so may files come with it.
    """
    read = read_form_with_files if files else read_form

    async def serve(request: Request) -> Response:
        visit: Visit | None = request.state.visit
        try:
            form = await read(request)
        except PlanwrightError as error:
            return refusal_page(request, error, 413)
        if visit is None or form is None or not visit.sent(field(form, "csrf")):
            return shared(request).pages.refusal(
                403, "this form is not from your visit", "load the page again"
            )
        if refusal := _not_theirs(request, rights) or _too_many(request, visit):
            return refusal
        try:
            return await handler(request, form)
        except PlanwrightError as error:
            return refusal_page(request, error, 409)

    return Route(path, serve, methods=["POST"], name=handler.__name__)


def _not_theirs(request: Request, rights: tuple[Right, ...]) -> Response | None:
    caller = visitor_of(request)
    if caller.may(*rights):
        return None
    cause = f"this is for people who may {' or '.join(rights)}; you may {', '.join(sorted(caller.rights))}"
    next_step = "ask one of them, or whoever keeps [people] in planwright.toml"
    return shared(request).pages.refusal(403, cause, next_step)


def _too_many(request: Request, visit: Visit) -> Response | None:
    wait_s = shared(request).rate_limits.add(FORMS, f"{visit.caller.tenant}/{visit.caller.person}")
    return shared(request).pages.too_many(wait_s) if wait_s else None


def refusal_page(request: Request, error: PlanwrightError, status: int) -> Response:
    """Show a refusal of ours."""
    return shared(request).pages.page(
        request, "refused.html", {"cause": error.cause, "next_step": error.next_step}, status
    )


async def read_form_with_files(request: Request) -> FilledForm | None:
    """Read a form that files may come with; None for what is none.

    Raises SetupError for files that are too many or too large.
    """
    if _kind(request) != MULTIPART:
        return await read_form(request)
    fields, files = await read_uploads(request)
    form = FilledForm(fields)
    form.files = files
    return form


async def read_form(request: Request) -> FilledForm | None:
    """Read a form of at most 4 MB; None for what is none."""
    if _kind(request) != URL_ENCODED:
        return None
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            return None
    try:
        text = body.decode()
        return FilledForm(
            parse_qs(text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=10_000)
        )
    except ValueError:
        return None


def _kind(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0]


def field(form: FilledForm, name: str) -> str:
    """Read the one value of a field; "" where it is not there or there several times."""
    values = form.get(name, [])
    return values[0] if len(values) == 1 else ""
