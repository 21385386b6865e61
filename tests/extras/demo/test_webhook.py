"""The webhook, as the real process it is: HTTP over loopback, its log read from SQLite."""

from __future__ import annotations

import http.client
import json
import os
import re
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from planwright.extras.demo import service
from planwright.extras.demo.service import Webhook
from planwright.extras.demo.webhook import HOOK_PATH
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.enable_socket

GOOD = json.dumps({"text": "Invoice: EUR 4,310.50", "channel": "team"}).encode()


@pytest.fixture
def webhook(tmp_path: Path) -> Iterator[Webhook]:
    with Webhook(tmp_path / "hook.db", faults=0) as running:
        yield running


def call(url: str, body: bytes, key: str | None, path: str = HOOK_PATH) -> tuple[int, dict[str, object]]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE_S)
    with closing(connection):
        connection.request("POST", path, body, {} if key is None else {"Idempotency-Key": key})
        response = connection.getresponse()
        return response.status, json.loads(response.read())


def connect(url: str) -> socket.socket:
    return socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), timeout=PATIENCE_S)


def get(url: str, path: str) -> int:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE_S)
    with closing(connection):
        connection.request("GET", path)
        return connection.getresponse().status


def rows(log: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(log)) as db:
        return db.execute(query).fetchall()


def gone_within(seconds: float, url: str) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            get(url, "/health")
        except ConnectionError:
            return True
        time.sleep(0.05)
    return False


@contextmanager
def start(log: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "planwright.extras.demo.webhook", "--log", str(log), *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline()
        finally:
            process.kill()


def ends_quietly(process: subprocess.Popen[str]) -> bool:
    return (process.wait(timeout=PATIENCE_S), *process.communicate()) == (0, "", "")


def test_the_first_requests_fail_and_the_next_is_kept(tmp_path: Path) -> None:
    with Webhook(tmp_path / "hook.db", faults=2) as webhook:
        answers = [call(webhook.url, GOOD, "k1") for _ in range(3)]
    assert [status for status, _ in answers] == [503, 503, 200]
    assert answers[2][1] == {"ok": True, "message_id": 1, "duplicate": False}
    assert rows(webhook.log, "SELECT path, idempotency_key, body, status FROM requests ORDER BY id") == [
        ("/hooks/team", "k1", GOOD.decode(), status) for status in (503, 503, 200)
    ]
    assert rows(webhook.log, "SELECT idempotency_key, channel, text FROM messages") == [
        ("k1", "team", "Invoice: EUR 4,310.50")
    ]


def test_one_fault_is_the_default_and_asks_to_retry_at_once(tmp_path: Path) -> None:
    with Webhook(tmp_path / "hook.db") as webhook:
        connection = http.client.HTTPConnection(urlsplit(webhook.url).netloc, timeout=PATIENCE_S)
        with closing(connection):
            connection.request("POST", "/hooks/team", GOOD, {"Idempotency-Key": "k"})
            response = connection.getresponse()
            assert (response.status, response.headers["Retry-After"]) == (503, "0")
        assert call(webhook.url, GOOD, "k")[0] == 200


def test_a_key_is_kept_once(webhook: Webhook) -> None:
    first = call(webhook.url, GOOD, "k1")
    again = call(webhook.url, GOOD, "k1")
    other = call(webhook.url, GOOD, "k2")
    assert first == (200, {"ok": True, "message_id": 1, "duplicate": False})
    assert again == (200, {"ok": True, "message_id": 1, "duplicate": True})
    assert other == (200, {"ok": True, "message_id": 2, "duplicate": False})
    assert rows(webhook.log, "SELECT count(*) FROM messages") == [(2,)]
    assert rows(webhook.log, "SELECT count(*) FROM requests") == [(3,)]


def test_a_key_is_kept_once_under_concurrency(webhook: Webhook) -> None:
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: call(webhook.url, GOOD, "same"), range(32)))
    assert [status for status, _ in answers] == [200] * 32
    assert [content["duplicate"] for _, content in answers].count(False) == 1
    assert rows(webhook.log, "SELECT count(*) FROM messages") == [(1,)]
    assert rows(webhook.log, "SELECT count(*) FROM requests") == [(32,)]


def test_a_key_is_still_known_after_a_restart(tmp_path: Path) -> None:
    for expected in (False, True):
        with Webhook(tmp_path / "hook.db", faults=0) as webhook:
            assert call(webhook.url, GOOD, "k1")[1]["duplicate"] is expected


@pytest.mark.parametrize("key", [None, "", "  "])
def test_a_missing_key_is_refused(webhook: Webhook, key: str | None) -> None:
    assert call(webhook.url, GOOD, key)[0] == 400
    assert rows(webhook.log, "SELECT idempotency_key, status FROM requests") == [("", 400)]
    assert rows(webhook.log, "SELECT * FROM messages") == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b'"text"',
        b'{"text": "no channel"}',
        b'{"text": 1, "channel": "team"}',
        b'{"text": "\\ud800", "channel": "team"}',
        b"[" * 60_000,
    ],
)
def test_a_bad_body_is_refused_and_logged(webhook: Webhook, body: bytes) -> None:
    assert call(webhook.url, body, "k")[0] == 400
    logged = body.decode("utf-8", "replace")
    assert rows(webhook.log, "SELECT body, status FROM requests") == [(logged, 400)]
    assert rows(webhook.log, "SELECT * FROM messages") == []


@pytest.mark.parametrize(("size", "status"), [(64 * 1024, 200), (64 * 1024 + 1, 413), (900_000, 413)])
def test_a_body_over_64_kib_is_refused(webhook: Webhook, size: int, status: int) -> None:
    body = GOOD + b" " * (size - len(GOOD))
    assert call(webhook.url, body, "k")[0] == status
    assert rows(webhook.log, "SELECT status FROM requests") == [(status,)]
    assert rows(webhook.log, "SELECT count(*) FROM messages") == [(int(status == 200),)]


def test_a_large_body_is_read_before_it_is_refused(webhook: Webhook) -> None:
    with connect(webhook.url) as client:
        client.sendall(b"POST /hooks/team HTTP/1.0\r\nContent-Length: 200000\r\n\r\n" + b"x" * 100_000)
        answered_early, _, _ = select.select([client], [], [], 0.3)
        assert not answered_early
        client.sendall(b"x" * 100_000)
        assert client.recv(4096).startswith(b"HTTP/1.0 413 ")


def test_other_paths_are_not_found_and_use_up_no_fault(tmp_path: Path) -> None:
    with Webhook(tmp_path / "hook.db", faults=1) as webhook:
        assert call(webhook.url, GOOD, "k", path="/hooks/other")[0] == 404
        assert get(webhook.url, "/hooks/team") == 404
        assert get(webhook.url, "/health") == 200
        assert call(webhook.url, GOOD, "k")[0] == 503
    assert rows(webhook.log, "SELECT path, status FROM requests ORDER BY id") == [
        ("/hooks/other", 404),
        ("/hooks/team", 404),
        ("/hooks/team", 503),
    ]


def test_the_process_says_one_line_and_ends_when_stdin_closes(tmp_path: Path) -> None:
    with start(tmp_path / "hook.db", "--faults", "0") as (process, line):
        assert re.fullmatch(r"listening on http://127\.0\.0\.1:\d+\n", line)
        url = line.split()[-1]
        # A client that hangs up before its answer must not make noise either.
        with connect(url) as rude:
            rude.sendall(b"POST /hooks/team HTTP/1.0\r\nContent-Length: 9\r\n\r\n{")
        assert call(url, GOOD, "k")[0] == 200
        assert process.poll() is None
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
        assert ends_quietly(process)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_quietly(tmp_path: Path, number: signal.Signals) -> None:
    with start(tmp_path / "hook.db") as (process, _):
        process.send_signal(number)
        assert ends_quietly(process)


def test_the_given_port_is_used(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with start(tmp_path / "hook.db", "--port", str(port)) as (_, line):
        assert line == f"listening on http://127.0.0.1:{port}\n"


def test_the_program_fails_one_request_unless_told_otherwise(tmp_path: Path) -> None:
    with start(tmp_path / "hook.db") as (_, line):
        assert [call(line.split()[-1], GOOD, "k")[0] for _ in range(2)] == [503, 200]


def test_nothing_listens_after_the_block(tmp_path: Path) -> None:
    webhook = Webhook(tmp_path / "sub" / "hook.db")
    with pytest.raises(RuntimeError, match="not running"):
        _ = webhook.url
    with webhook:
        url = webhook.url
        assert url.endswith("/hooks/team")
        assert get(url, "/health") == 200
    with pytest.raises(ConnectionRefusedError):
        get(url, "/health")
    with pytest.raises(RuntimeError, match="not running"):
        _ = webhook.url


def test_a_webhook_that_cannot_start_is_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "hook.db").mkdir()
    with pytest.raises(RuntimeError, match="did not start"), Webhook(tmp_path / "hook.db"):
        pass
    assert "unable to open database file" in capfd.readouterr().err


def test_a_webhook_that_stays_silent_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexec sleep 3600\n")
    silent.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(silent))
    monkeypatch.setattr(service, "START_SECONDS", 0.2)
    began = time.monotonic()
    with pytest.raises(RuntimeError, match="did not start"), Webhook(tmp_path / "hook.db"):
        pass
    assert time.monotonic() - began < PATIENCE_S


def test_the_webhook_dies_with_its_parent(tmp_path: Path) -> None:
    script = (
        "import pathlib, sys\n"
        "from planwright.extras.demo.service import Webhook\n"
        f"with Webhook(pathlib.Path({str(tmp_path / 'hook.db')!r})) as webhook:\n"
        "    print(webhook.url, flush=True)\n"
        "    sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        url = parent.stdout.readline().strip()
        assert get(url, "/health") == 200
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait(timeout=PATIENCE_S)
    assert gone_within(PATIENCE_S, url)
