"""`planwright studio`: LangGraph's development server over a workspace, for Studio and the SDKs.

The server is a process of its own on 127.0.0.1; it ends with the command. Each start makes a token, and
nobody gets in without it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import secrets
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx

from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.views import rendering as views
from planwright.cli.views.agent_views import open_checked
from planwright.cli.views.run_list import recorded_runs
from planwright.domain.errors import SetupError
from planwright.domain.hashing import sha256
from planwright.domain.plugins import how_to_install
from planwright.extras.web.served_pages import announced, hold_port, page_here
from planwright.extras.web.web_command import PAGE_MODULES
from planwright.security.credentials import Caller, read_credentials
from planwright.settings.server import START_TOKEN, WORKSPACE
from planwright.settings.settings import Settings, child_environment, state_folder
from planwright.store.private_files import close_to_others, open_private, private_folder

CONFIG = Path(__file__).with_name("langgraph.json")
GRAPH = "planwright"
HOST, PORT = "127.0.0.1", 2024
START_S, STOP_S = 60, 10
LOG_LINES = 12
SERVER_FOLDER = "server"
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STUDIO = "https://smith.langchain.com/studio/?baseUrl="
QUIET = {"LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGGRAPH_NO_VERSION_CHECK": "true"}


def open_studio(workspace: Path, port: int | None, browser: bool) -> int:
    """Serve a workspace until Ctrl-C. Returns 0; raises SetupError when the server cannot be had."""
    _check_installed()
    from planwright.graph.serving.requests import PAGE  # needs what may not be installed

    settings = load_trusted(workspace)
    open_checked(settings)
    token = secrets.token_urlsafe(32)
    read_credentials(settings, token)
    chosen, holder = _port(port)
    url = f"http://{HOST}:{chosen}"
    log = settings.store_folder / "studio.log"
    try:
        with holder or contextlib.nullcontext(), _server(settings, chosen, log, token) as process:
            _await_answer(process, url, log)
            page = page_here(chosen, token, root=PAGE)
            with announced(settings, page):
                _say(url, page.link(), token, log, waiting_threads(settings))
                if browser:
                    webbrowser.open(STUDIO + url)
                process.wait()
    except KeyboardInterrupt:
        views.console().print(views.label("studio", "ended; nothing is lost"))
        return 0
    raise _ended(process, log)


def waiting_threads(settings: Settings) -> list[tuple[str, bool]]:
    """List the threads that wait for whoever has the token, and whether the server can take their ids."""
    from planwright.graph.serving.threads import is_uuid  # needs what may not be installed

    runs = [run for run in recorded_runs(settings, waiting=True).rows if run["tenant"] == Caller("").tenant]
    return [(str(run["thread_id"]), is_uuid(str(run["thread_id"]))) for run in runs]


def _check_installed() -> None:
    if not all(importlib.util.find_spec(name) for name in ("langgraph_cli", "langgraph_api", *PAGE_MODULES)):
        raise SetupError(
            "LangGraph's development server, or what its page needs, is not installed",
            how_to_install("studio"),
        )


def _port(wanted: int | None) -> tuple[int, socket.socket | None]:
    """Choose a port: the one asked for, else 2024, else any free one; hold it for the name of the page."""
    for candidate in (wanted or PORT, 0, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, candidate))
                holder = hold_port(HOST, int(probe.getsockname()[1]))
            except OSError as error:
                if wanted:
                    raise SetupError(
                        f"port {wanted} cannot be used: {error.strerror}", "choose another with --port"
                    ) from error
                continue
            return int(probe.getsockname()[1]), holder
    raise SetupError("there is no free port", "end a program that listens, then try again")


@contextlib.contextmanager
def _server(settings: Settings, port: int, log: Path, token: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run `langgraph dev` over the workspace; it has ended when the block is left.

    It runs in a folder of its own, because it puts its folder on the import path, and reads its list of
    threads there as pickles. -P: nor does Python put it there, first. A session of its own: Ctrl-C is for
    this program, which then ends the server by its pid. Blocking calls of the user's capabilities are
    allowed, as they are in the terminal.
    """
    command = [sys.executable, "-P", "-m", "langgraph_cli", "dev", "--config", str(CONFIG)]
    options = ["--host", HOST, "--port", str(port), "--no-browser", "--no-reload", "--allow-blocking"]
    lists = sha256(str(settings.store_folder.resolve()))[:32]  # pickles: no folder may bring them along
    folder = private_folder(state_folder() / SERVER_FOLDER / lists)
    close_to_others(folder)
    handed = {WORKSPACE: str(settings.workspace), START_TOKEN: token}
    early: list[int] = []
    for name in ENDS:  # an exception in the middle of Popen would lose the process
        signal.signal(name, lambda number, _: early.append(number))
    with (
        open_private(log, "wb") as output,
        subprocess.Popen(
            [*command, *options],
            cwd=folder,
            env={**child_environment(QUIET), **handed},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            for name in ENDS:
                signal.signal(name, signal.default_int_handler)
            if early:
                raise KeyboardInterrupt
            yield process
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except (subprocess.TimeoutExpired, KeyboardInterrupt):
                process.kill()  # an open stream keeps it; what runs is recorded
            close_to_others(folder)


def _await_answer(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + START_S
    with httpx.Client(trust_env=False, timeout=5) as client:
        while process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(httpx.TransportError):
                if client.get(f"{url}/ok").is_success:
                    return
            time.sleep(0.1)
    raise _ended(process, log)


def _ended(process: subprocess.Popen[bytes], log: Path) -> SetupError:
    last_lines = log.read_text("utf-8", errors="replace").splitlines()[-LOG_LINES:]
    how = f"ended with code {process.returncode}" if process.poll() is not None else "does not answer"
    return SetupError(
        "\n  ".join([f"LangGraph's development server {how}; it said:", *map(views.safe, last_lines)]),
        f"read all of it in {log}",
    )


def _say(url: str, link: str, token: str, log: Path, waiting: Sequence[tuple[str, bool]]) -> None:
    screen = views.console()
    screen.print(views.label("studio", STUDIO + url))
    screen.print(views.label("page", link))
    screen.print(views.label("", "good once; another: planwright web --link"))
    screen.print(views.label("api", f"{url} (graph {GRAPH})"))
    screen.print(views.label("token", token))
    screen.print(views.label("", "send it as Authorization: Bearer …, or as api_key of the SDKs;"))
    screen.print(views.label("", "in Studio: connect with this URL and that header, under Advanced settings"))
    screen.print(views.label("log", str(log)))
    for thread_id, taken in waiting:
        hint = "" if taken else ": no UUID, so not in Studio; answer it with planwright approve"
        screen.print(views.label("waiting", f"thread {thread_id}{hint}"))
    screen.print(views.label("end", "Ctrl-C"))
