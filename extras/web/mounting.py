"""The page within LangGraph's server (`http.app` in `langgraph.json`): one origin, and the same tokens."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.middleware import Middleware

from planwright.extras.web.application import build_application
from planwright.graph.server import agent, credentials, settings
from planwright.graph.serving.requests import PAGE, build_app
from planwright.graph.serving.stateless import KeepingThreads
from planwright.graph.serving.threads import ThreadsOfStore

page = build_application(settings, agent, credentials, root=PAGE)


@contextlib.asynccontextmanager
async def _lifespan(_: Starlette) -> AsyncIterator[None]:
    """Stop what the page works on: Starlette does not run the lifespan of what is mounted."""
    yield
    await page.state.parts.here.close()


app = build_app(
    settings.server,
    credentials,
    Middleware(KeepingThreads),
    Middleware(ThreadsOfStore, stores=agent.stores, credentials=credentials),
    page=page,
    lifespan=_lifespan,
)
