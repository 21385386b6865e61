"""The page as one Starlette application: guarded routes over the agent of a workspace."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from planwright.extras.web.guard import HEADERS, Guard
from planwright.extras.web.live import Live
from planwright.extras.web.openid import OpenIdProvider
from planwright.extras.web.pages import STATIC, Pages
from planwright.extras.web.parts import WebParts, shared
from planwright.extras.web.rate_limits import RateLimits
from planwright.extras.web.routes import (
    answer_link,
    approvals,
    bulk,
    capabilities,
    comparing,
    compose,
    editing,
    listing,
    memory,
    people,
    policy,
    runs,
    sessions,
    sign_in,
    usage,
    workspace,
)
from planwright.extras.web.runs_here import RunsHere
from planwright.extras.web.visits import Visits
from planwright.graph.agent import Agent
from planwright.records.sign_ins import SignIns
from planwright.security.credentials import Credentials
from planwright.security.people import read_people
from planwright.settings.settings import Settings, from_environment

_LOG = logging.getLogger("planwright.web")
SUBJECTS = (sign_in, answer_link, bulk, approvals, editing, listing, runs, comparing, compose)
WORKSPACE_SUBJECTS = (usage, sessions, memory, capabilities, policy, workspace, people)


def build_application(
    settings: Settings,
    agent: Agent,
    credentials: Credentials,
    examples: tuple[str, ...] = (),
    root: str = "",
) -> Starlette:
    """Build the page of a workspace, with sentences that work there. It closes the agent when it ends.

    `root` is the path under which another application mounts it.
    """
    parts = _parts(settings, agent, credentials, examples, root)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await parts.here.close()
        await agent.aclose()

    routes: list[BaseRoute] = [
        route for subject in (*SUBJECTS, *WORKSPACE_SUBJECTS) for route in subject.ROUTES
    ]
    routes.append(Mount("/static", StaticFiles(directory=STATIC), name="static"))
    guard = Middleware(
        Guard, server=settings.server, visits=parts.visits, pages=parts.pages, own_host=parts.own_host
    )
    application = Starlette(
        routes=routes,
        middleware=[guard],
        lifespan=lifespan,
        exception_handlers={404: _absent, 405: _absent, 500: _broken},
    )
    application.state.parts = parts
    return application


def _parts(
    settings: Settings, agent: Agent, credentials: Credentials, examples: tuple[str, ...], root: str
) -> WebParts:
    clock, database = agent.door.clock, agent.stores.database
    sign_in = settings.sign_in
    secret = from_environment(sign_in.client_secret_env) if sign_in.client_secret_env else ""
    pages = Pages(agent.door.redactor, settings.workspace.resolve().name, sign_in.issuer, root)
    live = Live(agent.stores, pages)
    here = RunsHere(agent, live.hear)
    live.problem_of = here.problem
    return WebParts(
        settings=settings,
        agent=agent,
        credentials=credentials,
        own_host="" if settings.web.certificate and not root else credentials.own_host,
        people=read_people(settings),
        provider=OpenIdProvider(sign_in, secret, clock) if sign_in.issuer else None,
        sign_ins=SignIns(database),
        rate_limits=RateLimits(),
        visits=Visits(clock),
        pages=pages,
        here=here,
        live=live,
        examples=examples,
    )


async def _absent(request: Request, _: Exception) -> Response:
    pages = shared(request).pages
    return pages.refusal(404, "there is no such page", "go on with the list of runs")


async def _broken(request: Request, error: Exception) -> Response:
    """Say that a bug of ours was met; it is logged, and nothing of it is shown."""
    _LOG.error("%s %s", request.method, request.url.path, exc_info=error)
    pages = shared(request).pages
    answer = pages.refusal(500, "this page could not be made: a bug", "look at the log of planwright web")
    answer.headers.update(HEADERS)  # it is made outside of the guard
    return answer
