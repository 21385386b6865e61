"""The short form of `make bench NAME=intruder`: everybody at every route, and nothing is read or decided."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from benchmarks.intruder import LEAST_ROUTES, approve, play
from benchmarks.intruder_routes import routes
from benchmarks.intruder_stage import Stage, open_stage
from planwright.graph.serving.requests import LOOPBACK_NAMES, OPEN_PATHS
from planwright.settings.server import STUDIO_ORIGINS

pytestmark = [pytest.mark.enable_socket, pytest.mark.long]
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """`planwright studio` over a workspace where two runs wait."""
    with open_stage(tmp_path_factory.mktemp("stage")) as opened:
        yield opened


def test_no_intruder_reads_or_decides_anything_and_the_right_token_does(stage: Stage) -> None:
    figures, wrong = play(stage)
    assert wrong == []
    assert figures["routes"] >= LEAST_ROUTES
    assert approve(stage) == []


def test_the_routes_are_those_that_the_server_has(stage: Stage) -> None:
    with stage.client(stage.token) as client:
        listed = {(route.method, route.path) for route in routes(client.get("/openapi.json").json())}
    hidden = {("POST", "/internal/truncate"), ("POST", "/deploy"), ("GET", "/metrics"), ("GET", "/docs")}
    known = {("POST", "/threads/search"), ("WEBSOCKET", "/threads/{thread_id}/stream/events")}
    assert hidden | known <= listed


@pytest.mark.parametrize("origin", STUDIO_ORIGINS)
def test_the_page_of_studio_may_ask_and_read(stage: Stage, origin: str) -> None:
    with stage.client(stage.token) as client:
        asked = client.options("/threads/search", headers={"Origin": origin, **PREFLIGHT})
        assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (200, origin)
        assert "authorization" in asked.headers["access-control-allow-headers"]
        private = {"Origin": origin, **PREFLIGHT, "Access-Control-Request-Private-Network": "true"}
        asked = client.options("/threads/search", headers=private)
        assert asked.headers["access-control-allow-private-network"] == "true"
        read = client.post("/threads/search", json={}, headers={"Origin": origin})
        assert (read.status_code, read.headers["access-control-allow-origin"]) == (200, origin)


def test_a_page_without_a_token_is_told_so(stage: Stage) -> None:
    with stage.client() as client:
        refused = client.post("/threads/search", json={}, headers={"Origin": STUDIO_ORIGINS[0]})
    assert refused.status_code == 401
    assert refused.headers["access-control-allow-origin"] == STUDIO_ORIGINS[0]
    assert "Authorization: Bearer" in refused.json()["detail"]


def test_the_preflight_of_another_page_is_refused(stage: Stage) -> None:
    with stage.client(stage.token) as client:
        refused = client.options("/threads/search", headers={"Origin": "https://evil.example", **PREFLIGHT})
    assert refused.status_code == 403
    assert "access-control-allow-origin" not in refused.headers


@pytest.mark.parametrize("name", [name for name in LOOPBACK_NAMES if name != "[::1]"])
def test_the_server_goes_by_the_names_of_the_loopback_interface(stage: Stage, name: str) -> None:
    host = stage.netloc.replace("127.0.0.1", name)
    with stage.client(stage.token) as client:
        assert client.post("/threads/search", json={}, headers={"Host": host}).status_code == 200


def test_what_answers_everybody_tells_nothing(stage: Stage) -> None:
    (path,) = OPEN_PATHS
    said = httpx.get(f"{stage.url}{path}", trust_env=False)
    assert re.fullmatch(r"[\w\s{}\":,]*", said.text)
    assert said.json()["ok"] is True


def test_the_log_holds_no_token(stage: Stage) -> None:
    log = (stage.folder / ".planwright" / "studio.log").read_text("utf-8")
    assert "auth_handler" in log
    assert not {stage.token, stage.stranger} & set(re.findall(r"[\w-]+", log))
    assert (Path(stage.folder) / ".planwright").stat().st_mode & 0o077 == 0
