"""`planwright web`: a browser is opened with nothing that signs in, and a command makes another link."""

from __future__ import annotations

import os
import re
import shlex
import signal
import stat
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from planwright.security.tickets import own_host
from tests.cli.desk import wait_until
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.enable_socket, pytest.mark.long]
BROWSER = """#!/bin/sh
printf '%s\\n' "$0" "$@" > "$(dirname "$0")/opened.tmp"
mv "$(dirname "$0")/opened.tmp" "$(dirname "$0")/opened"
"""


def said(words: list[str]) -> subprocess.CompletedProcess[str]:
    """Type a command, and read what it says."""
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def test_what_a_browser_is_opened_with_signs_nobody_in(tmp_path: Path) -> None:
    workspace, browser = tmp_path / "desk", tmp_path / "browser"
    workspace.mkdir()
    browser.write_text(BROWSER, "utf-8")
    browser.chmod(0o700)
    words = [sys.executable, "-m", "planwright", "web", "--workspace", str(workspace)]
    environment = {**os.environ, "BROWSER": f"{shlex.quote(str(browser))} %s", "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        (link,) = re.findall(r"http://\S+", process.stdout.readline())
        assert wait_until((tmp_path / "opened").exists)
        opened = (tmp_path / "opened").read_text("utf-8").split()[1:]
        file = Path(unquote(urlsplit(opened[0]).path))
        ticket = link.rpartition("=")[2]
        assert [urlsplit(word).scheme for word in opened] == ["file"]
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert link in file.read_text("utf-8")
        assert not any(ticket in word or str(urlsplit(link).hostname) in word for word in opened)
        another = said([*words, "--link"])
        assert urlsplit(another.stdout.strip()).netloc == urlsplit(link).netloc
        assert ticket not in another.stdout
        (page,) = file.parent.glob("*.json")
        assert own_host(re.findall(r'"token":"([^"]+)"', page.read_text("utf-8"))[0]) in link
        process.send_signal(signal.SIGTERM)
        assert "good once" in process.stdout.read()
    assert process.returncode == 0
    assert list(file.parent.iterdir()) == []
    none = said([*words, "--link"])
    assert (none.returncode != 0, "no page of this workspace is served here" in none.stderr) == (True, True)
