"""Serve the page of a workspace until it is told to end."""

from __future__ import annotations

import contextlib
import ipaddress
import secrets
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import cast

import uvicorn
from starlette.types import ASGIApp, Scope
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from planwright.domain.errors import SetupError
from planwright.extras.web.application import build_application
from planwright.extras.web.served_pages import NAMED_ADDRESSES, announced, hold_port, page_here
from planwright.graph.building import build_graph, log_problems
from planwright.graph.serving.requests import HttpRefusal, Refusing
from planwright.security.credentials import read_credentials
from planwright.settings.server import WebSettings
from planwright.settings.settings import Settings

PORT = 2025
STOP_S = 2


def serve_workspace(
    settings: Settings, port: int | None, begun: Callable[[str], None], examples: tuple[str, ...] = ()
) -> None:
    """Serve until Ctrl-C; `begun` is told the link that opens the page, on this machine once.

    Raises SetupError where the port cannot be had, or people would come from elsewhere without being known.
    """
    web = settings.web
    check_doors(settings)
    token = secrets.token_urlsafe(32) if web.on_this_machine else None
    credentials, (certificate, key) = read_credentials(settings, token), certificate_files(settings)
    by_name = token is not None and not certificate
    with contextlib.ExitStack() as while_served:
        listener, *_ = map(while_served.enter_context, listen(web.host, port or web.port, by_name=by_name))
        agent = build_graph(settings)
        log_problems(agent)
        application = build_application(settings, agent, credentials, examples)
        config = uvicorn.Config(
            behind_proxies(application, web),
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=STOP_S,
            ssl_certfile=certificate,
            ssl_keyfile=key,
        )
        if token is not None:
            page = page_here(listener.getsockname()[1], token, host=certified_host(settings))
            while_served.enter_context(announced(settings, page))
        begun(page.link() if token is not None else f"https://{settings.server.hosts[0]}/")
        uvicorn.Server(config).run(sockets=[listener])


def check_doors(settings: Settings) -> None:
    """Raise SetupError for a page that others could reach without being known, or could be listened to."""
    web, server = settings.web, settings.server
    if web.on_this_machine:
        if not (web.certificate or web.host in NAMED_ADDRESSES):
            cause = f"a browser does not find the page at {web.host}: its name stands for 127.0.0.1 and ::1"
            raise SetupError(cause, "listen at one of them, or name certificate and key in [web]")
        return
    where = f"{web.host} can be reached from elsewhere"
    if not (settings.people or server.tokens):
        names = "name people: [people.NAME] or [server.tokens.NAME]"
        raise SetupError(f"{where}, and nobody is known", names)
    if not (web.certificate or web.proxies):
        raise SetupError(
            f"{where}, and there is no TLS",
            "name certificate and key in [web], or the reverse proxy that has them: [web] proxies",
        )
    if not server.hosts:
        raise SetupError(f"{where}, by no name", 'name the host of its address: [server] hosts = ["NAME"]')


def certified_host(settings: Settings) -> str:
    """Spell the address that a certificate of this machine is for; "" where the page has no certificate."""
    if not settings.web.certificate:
        return ""
    address = ipaddress.ip_address(settings.web.host)
    return f"[{address}]" if address.version == 6 else str(address)


def behind_proxies(application: ASGIApp, web: WebSettings) -> ASGIApp:
    """Believe what the named proxies say of a sender, and let in nobody else; without any change nothing."""
    if not web.proxies:
        return application
    # uvicorn and Starlette have types of their own for one protocol.
    inner = cast("ASGIApp", ProxyHeadersMiddleware(_over_tls(application), list(web.proxies)))  # type: ignore[arg-type]

    def from_proxy(scope: Scope) -> HttpRefusal | None:
        client = scope.get("client")
        sender = client[0] if isinstance(client, tuple) else ""
        return None if sender in web.proxies else HttpRefusal(403, "the way to this page is its proxy")

    return Refusing(inner, rule=from_proxy)


def _over_tls(application: ASGIApp) -> ASGIApp:
    """Refuse what has come to a proxy without TLS, or whose proxy does not say."""

    def over_tls(scope: Scope) -> HttpRefusal | None:
        if scope.get("scheme") in ("https", "wss"):
            return None
        return HttpRefusal(403, "this page is for https alone; its proxy has to send X-Forwarded-Proto")

    return Refusing(application, rule=over_tls)


def listen(host: str, port: int | None, *, by_name: bool = False) -> list[socket.socket]:
    """Listen at the port that is asked for, else at 2025, else at any that is free.

    The first socket listens. A page that goes `by_name` holds its port at the other address of the name, too.
    """
    family = socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET
    for candidate in (port or PORT, 0, 0):
        listener = socket.socket(family)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, candidate))
            holder = hold_port(host, listener.getsockname()[1]) if by_name else None
        except OSError as error:
            listener.close()
            if port:
                cause = f"port {port} cannot be used: {error.strerror}"
                raise SetupError(cause, "choose another with --port") from error
            continue
        listener.listen()
        return [listener, *([holder] if holder else [])]
    raise SetupError(f"there is no free port at {host}", "end a program that listens, or name another host")


def certificate_files(settings: Settings) -> tuple[Path | None, Path | None]:
    """Name the files of certificate and key, once they have been read. Raises SetupError."""
    web = settings.web
    if web.certificate is None or web.key is None:
        return None, None
    certificate, key = settings.workspace / web.certificate, settings.workspace / web.key
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
    except OSError as error:  # ssl.SSLError is one, too
        cause = f"certificate and key of [web] cannot be used: {error.strerror or error}"
        raise SetupError(cause, f"look at {certificate} and {key}") from error
    return certificate, key
