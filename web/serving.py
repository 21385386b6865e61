"""Serve the page of a workspace on this machine, until it is told to end."""

from __future__ import annotations

import contextlib
import secrets
import socket
from collections.abc import Callable

import uvicorn

from planwright.domain.errors import SetupError
from planwright.graph.building import build_graph, log_problems
from planwright.security.credentials import read_credentials
from planwright.settings.settings import Settings
from planwright.web.application import build_application

HOST, PORT = "127.0.0.1", 2025
STOP_S = 2


def serve_workspace(
    settings: Settings, port: int | None, begun: Callable[[str], None], examples: tuple[str, ...] = ()
) -> None:
    """Serve until Ctrl-C; `begun` is told the link that opens the page. Raises SetupError for no port."""
    token = secrets.token_urlsafe(32)
    credentials = read_credentials(settings, token)
    with contextlib.closing(listen(port)) as listener:
        agent = build_graph(settings)
        log_problems(agent)
        application = build_application(settings, agent, credentials, examples)
        config = uvicorn.Config(
            application,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=STOP_S,
        )
        begun(f"http://{HOST}:{listener.getsockname()[1]}/sign-in?token={token}")
        uvicorn.Server(config).run(sockets=[listener])


def listen(port: int | None) -> socket.socket:
    """Listen on this machine alone: at the port that is asked for, else at 2025, else at any that is free."""
    for candidate in (port or PORT, 0):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, candidate))
        except OSError as error:
            listener.close()
            if port:
                cause = f"port {port} cannot be used: {error.strerror}"
                raise SetupError(cause, "choose another with --port") from error
            continue
        listener.listen()
        return listener
    raise SetupError("there is no free port", "end a program that listens, then try again")
