"""How the workspace is set up: settings and where they come from, MCP servers, and a check of everything."""

from __future__ import annotations

import asyncio
import sys

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from planwright.domain.errors import SetupError
from planwright.extras.mcp.servers import Servers
from planwright.extras.web.forms import FilledForm, form_route, page_route
from planwright.extras.web.parts import shared
from planwright.extras.web.view_models.check_rows import check_rows
from planwright.extras.web.view_models.setting_rows import setting_rows
from planwright.settings.settings import child_environment

CHECK_S = 120


async def serve_settings(request: Request) -> Response:
    """List the settings in force, each with where it comes from."""
    parts, text = shared(request), request.query_params.get("text", "")
    every = request.query_params.get("every") == "yes"
    rows = setting_rows(parts.settings, parts.agent.door.redactor, text, set_only=not (every or text))
    return parts.pages.page(request, "settings.html", {"rows": rows, "text": text, "every": every})


async def serve_servers(request: Request) -> Response:
    """List the MCP servers, how they stand, and what they start; trust is given at a terminal alone."""
    servers = shared(request).agent.servers
    values: dict[str, object] = {"standings": (), "unreadable": None}  # of a workspace that names no server
    if isinstance(servers, Servers):
        values = {"standings": servers.standings, "unreadable": servers.unreadable}
    return shared(request).pages.page(request, "servers.html", values)


async def serve_checks(request: Request) -> Response:
    """Offer to check everything that a run would need."""
    return shared(request).pages.page(request, "checks.html", {"rows": None})


async def take_check_up(request: Request, form: FilledForm) -> Response:
    """Check everything that a run would need, as `planwright doctor` does, in a process of its own."""
    folder = str(shared(request).settings.workspace)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "planwright", "doctor", "--workspace", folder),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=child_environment({}),
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), CHECK_S)
    except TimeoutError as error:
        raise SetupError("the check takes too long", "try at a terminal: planwright doctor") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    rows = check_rows(output.decode("utf-8", "replace"))
    return shared(request).pages.page(request, "checks.html", {"rows": rows})


ROUTES: list[BaseRoute] = [
    page_route("/workspace/settings", serve_settings, "audit", "operate"),
    page_route("/workspace/servers", serve_servers, "audit", "operate"),
    page_route("/workspace/checks", serve_checks, "audit", "operate"),
    form_route("/workspace/checks", take_check_up, "operate"),
]
