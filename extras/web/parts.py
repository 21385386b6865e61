"""What the routes share while the page is served."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from starlette.requests import Request

from planwright.domain.errors import RunError
from planwright.domain.run_context import RunContext
from planwright.extras.web.live import Live
from planwright.extras.web.openid import OpenIdProvider
from planwright.extras.web.pages import Pages
from planwright.extras.web.rate_limits import RateLimits
from planwright.extras.web.visits import Visits
from planwright.records.history.run_records import run_named
from planwright.records.runs import Run
from planwright.records.sign_ins import SignIns
from planwright.security.credentials import Caller, Credentials
from planwright.security.people import People
from planwright.settings.settings import Settings

if TYPE_CHECKING:  # they load LangGraph, which reading needs not
    from planwright.extras.web.runs_here import RunsHere
    from planwright.graph.agent import Agent

CHANNEL = "web"
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class WebParts:
    """Agent, records and pages, as the routes use them."""

    settings: Settings
    """Settings of the workspace."""
    agent: Agent
    """The agent behind its door."""
    credentials: Credentials
    """Tokens that open the page."""
    own_host: str
    """Name that nothing else on this machine goes by; "" where a certificate or `[server] hosts` name it."""
    people: People
    """People who may sign in at the provider."""
    provider: OpenIdProvider | None
    """Where people sign in; None where there are tokens alone."""
    sign_ins: SignIns
    """The record of who has signed in."""
    rate_limits: RateLimits
    """How often somebody has tried."""
    visits: Visits
    """Browsers that have signed in."""
    pages: Pages
    """Templates."""
    here: RunsHere
    """Runs that this process works on."""
    live: Live
    """What viewers are told while something changes."""
    examples: tuple[str, ...] = ()
    """Sentences that work in this workspace."""

    async def read(
        self, job: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Do a job that reads the records."""
        return await self.agent.stores.database.read(lambda c: job(c, *args, **kwargs))

    async def run(self, request: Request) -> Run:
        """Find the run that a path names. Raises RunError for none, and for one of another tenant."""
        which = request.path_params["run_id"]
        run = await self.read(run_named, which, visitor_of(request).tenant)
        if run is None:
            raise RunError(f"there is no run {which}", "choose one from the list of runs")
        return run


def shared(request: Request) -> WebParts:
    """Read what the routes share."""
    parts: WebParts = request.app.state.parts
    return parts


def visitor_of(request: Request) -> Caller:
    """Read who asks: what the token of the visit says, and nothing else."""
    caller: Caller = request.state.visit.caller
    return caller


def run_options(request: Request) -> RunContext:
    """Make the options with which somebody goes on with a run."""
    caller = visitor_of(request)
    return RunContext(tenant=caller.tenant, channel=CHANNEL, requested_by=caller.person)
