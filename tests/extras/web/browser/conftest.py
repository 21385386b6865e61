"""Chromium on this machine, a demo workspace served by `planwright demo --web`, and axe-core from npm."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect, sync_playwright

from tests.patience import PATIENCE_S

HERE = Path(__file__).parent
# The program of a wheel, where `make web` has installed one; else that of the checkout.
PROGRAM = (
    [os.environ["PAGE_PROGRAM"]] if "PAGE_PROGRAM" in os.environ else [sys.executable, "-m", "planwright"]
)
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SERIOUS = ("serious", "critical")
WIDE = ViewportSize(width=1280, height=860)
PHONE = ViewportSize(width=375, height=760)


FOCUS = """() => {
  const at = document.activeElement, style = getComputedStyle(at), label = at.labels?.[0];
  if (at === document.body) return ["", true];
  const box = at.getBoundingClientRect(), inside = box.width > 0 && box.bottom > 0 && box.top < innerHeight;
  const marked = style.outlineStyle !== "none" || style.boxShadow !== "none";
  return [(label ?? at).textContent.trim(), marked && inside];
}"""


@dataclass
class Served:
    """A demo workspace and the process that serves its page."""

    folder: Path
    link: str
    began: float
    process: subprocess.Popen[str]
    opened: bool = False

    @property
    def origin(self) -> str:
        """Where the page is."""
        parts = urlsplit(self.link)
        return f"{parts.scheme}://{parts.netloc}"

    def new_link(self) -> str:
        """Take the link that was printed, and after it one that a command makes: each is good once."""
        if not self.opened:
            self.opened = True
            return self.link
        return self.command("web", "--link").stdout.strip()

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Type a command at a terminal of its own."""
        command = [*PROGRAM, *words, "--workspace", str(self.folder)]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


@dataclass
class Visitor:
    """A browser window, and all that it asked for and complained about."""

    page: Page
    served: Served
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        """Open a page."""
        self.page.goto(self.served.origin + path)
        return self.page


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Serve a demo workspace that was not there before."""
    folder = tmp_path / "demo"
    with serving(folder, tmp_path, "demo", "--web", "--folder", str(folder)) as workspace:
        yield workspace


@contextlib.contextmanager
def serving(folder: Path, tmp_path: Path, *words: str) -> Iterator[Served]:
    """Serve a page by a command; it is ended by its pid."""
    began, command = time.monotonic(), [*PROGRAM, *words, "--no-browser"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment) as process,
    ):
        assert process.stdout is not None
        first = process.stdout.readline()
        link = re.search(r"http://\S+", first)
        assert link, (first, (tmp_path / "log").read_text())
        try:
            yield Served(folder, link[0], began, process)
        finally:
            process.terminate()
            process.wait(PATIENCE_S)
    text = (tmp_path / "log").read_text("utf-8")
    assert "Traceback" not in text, text


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Start the Chromium of this machine; `make web` installs it."""
    program = next((path for name in NAMES if (path := shutil.which(name))), None)
    if program is None:
        pytest.skip("there is no Chromium here: make web installs it")
    options = [
        "--disable-background-networking",
        "--no-first-run",
        *(["--no-sandbox"] if os.geteuid() == 0 else []),
    ]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=options)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Browser, served: Served) -> Iterator[Callable[..., Visitor]]:
    """Sign in with a new browser, of its own cookies, by a link of its own."""
    contexts: list[BrowserContext] = []
    visitors: list[Visitor] = []

    def sign_in(link: str = "", **options: Any) -> Visitor:
        context = chromium.new_context(viewport=WIDE, locale="en-GB", timezone_id="UTC", **options)
        context.set_default_timeout(PATIENCE_S * 1000)
        contexts.append(context)
        visitor = Visitor(context.new_page(), served)
        visitors.append(visitor)
        visitor.page.on("request", lambda request: visitor.requests.append(request.url))
        visitor.page.on("pageerror", lambda error: visitor.complaints.append(str(error)))
        visitor.page.on(
            "console", lambda line: visitor.complaints.append(line.text) if line.type == "error" else None
        )
        visitor.page.goto(link or served.new_link())
        if not link:
            visitor.page.wait_for_url("**/approvals")
        return visitor

    yield sign_in
    for visitor in visitors:
        strangers = [url for url in visitor.requests if not url.startswith(served.origin)]
        assert strangers == [], "a request left the machine"
        assert visitor.complaints == []
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Read axe-core, as its lock file pins it, and install it where it is not."""
    script = HERE / "node_modules" / "axe-core" / "axe.min.js"
    npm = shutil.which("npm")
    assert npm, "the page is judged by axe-core from npm: install Node.js 20 or newer"
    with (tmp_path_factory.getbasetemp().parent / "npm.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not script.exists():
            options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
            subprocess.run([npm, "ci", *options], cwd=HERE, check=True, timeout=PATIENCE_S)
    return script.read_text("utf-8")


def findings(page: Page, axe: str) -> list[str]:
    """List what axe-core finds serious or critical on a page."""
    page.evaluate(axe + "; undefined")
    result = page.evaluate("axe.run({resultTypes: ['violations']})")
    return [
        f"{violation['id']}: {node['html'][:160]}"
        for violation in result["violations"]
        if violation["impact"] in SERIOUS
        for node in violation["nodes"]
    ]


def picture(page: Page, name: str) -> None:
    """Keep a picture of a page for the documents, where `make web` asks for it."""
    if folder := os.environ.get("PAGE_PICTURES"):
        page.screenshot(path=Path(folder) / f"{name}.png")


def tab_to(page: Page, name: str) -> None:
    """Press Tab until what has this name has the focus; whatever has it on the way can be seen to have it."""
    for _ in range(80):
        page.keyboard.press("Tab")
        text, visible = page.evaluate(FOCUS)
        assert visible, f"the focus is not seen at {text!r}"
        if text.startswith(name):
            return
    raise AssertionError(f"the keyboard does not reach {name!r}")


def press(page: Page, name: str, key: str = "Enter") -> None:
    """Reach something, and press a key on it."""
    tab_to(page, name)
    page.keyboard.press(key)


def begin_and_decide(page: Page) -> str:
    """Send the request that is written, go to its gate by keyboard, and return the address of its run."""
    press(page, "Begin")
    page.wait_for_url("**/runs/**")
    run = page.url
    decide(page)
    return run


def decide(page: Page) -> None:
    """Go from a run to its gate, by keyboard, once it waits."""
    expect(page.get_by_role("link", name="Decide").first).to_be_visible()
    press(page, "Decide")
    page.wait_for_url("**/approvals/**")
