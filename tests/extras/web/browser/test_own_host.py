"""The page has a host of its own in Chromium: another server of this machine sees no cookie that opens it."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.extras.web.browser.conftest import Served
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.enable_socket, pytest.mark.long]


@dataclass
class Neighbour:
    """Another server of this machine, and the cookies that a browser sent it, by the host it was asked by."""

    port: int = 0
    cookies: dict[str, str] = field(default_factory=dict)


@pytest.fixture
def neighbour() -> Iterator[Neighbour]:
    """Serve at another port of every name of this machine."""
    heard = Neighbour()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.cookies[self.headers["host"].rpartition(":")[0]] = self.headers.get("cookie", "")
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<p>hello")

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    heard.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield heard
    server.shutdown()
    server.server_close()
    thread.join(PATIENCE_S)


def status_with(served: Served, cookie: str) -> int:
    """Send a cookie to the page, by its own host, and return the status of the answer."""
    parts = urlsplit(served.origin)
    headers = {"Host": parts.netloc, "Cookie": cookie}
    url = f"http://127.0.0.1:{parts.port}/approvals"
    return httpx.get(url, headers=headers, trust_env=False).status_code


def test_another_port_of_this_machine_sees_no_cookie_that_opens_the_page(
    chromium: Browser, served: Served, neighbour: Neighbour
) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.goto(served.new_link())
    expect(page.get_by_role("heading", name="Approvals")).to_be_visible()
    own = str(urlsplit(served.origin).hostname)
    for host in ("127.0.0.1", "localhost", "planwright.localhost", own):
        page.goto(f"http://{host}:{neighbour.port}/")
    cookies = dict(neighbour.cookies)
    # The name is a secret, like the cookie; and this test does see cookies.
    assert status_with(served, cookies.pop(own)) == 200
    for host in ("127.0.0.1", "localhost", "planwright.localhost"):
        assert "planwright" not in cookies[host]
        assert status_with(served, cookies[host]) == 401
    context.close()


def test_a_link_in_a_file_signs_in_once(chromium: Browser, served: Served, tmp_path: Path) -> None:
    link, file = served.new_link(), tmp_path / "open.html"
    file.write_text(f'<meta http-equiv="refresh" content="0; url={link}">', "utf-8")
    for opened in (True, False):
        context = chromium.new_context()
        page = context.new_page()
        page.goto(file.as_uri())
        name = "Approvals" if opened else "Sign in"
        expect(page.get_by_role("heading", name=name)).to_be_visible()
        if not opened:
            expect(page.get_by_role("alert")).to_contain_text("planwright web --link")
        context.close()
