"""A run without a thread keeps its own, unless the client says what is to become of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from planwright.graph.serving.stateless import KeepingThreads, keeping


async def echo(request: Request) -> JSONResponse:
    """Send a body back."""
    return JSONResponse({"length": request.headers["content-length"], "body": await request.json()})


def sent(path: str, content: Any) -> Any:
    app = Starlette(
        routes=[Route("/{path:path}", echo, methods=["POST"])], middleware=[Middleware(KeepingThreads)]
    )
    return TestClient(app).post(path, json=content).json()


@pytest.mark.parametrize("path", ["/runs", "/runs/wait", "/runs/stream"])
def test_the_thread_of_a_run_without_one_is_kept(path: str) -> None:
    assert sent(path, {"input": 1})["body"] == {"input": 1, "on_completion": "keep"}


def test_so_is_that_of_each_run_of_a_batch() -> None:
    assert [each["on_completion"] for each in sent("/runs/batch", [{}, {"input": 1}])["body"]] == ["keep"] * 2


@pytest.mark.parametrize("path", ["/threads/t/runs", "/threads", "/runs/crons", "/store/items"])
def test_other_requests_stay_as_they_are(path: str) -> None:
    assert sent(path, {"input": 1})["body"] == {"input": 1}


def test_a_client_may_have_it_deleted() -> None:
    assert sent("/runs", {"on_completion": "delete"})["body"] == {"on_completion": "delete"}


def test_the_length_is_that_of_what_goes_on() -> None:
    answer = sent("/runs", {"input": "ä"})
    assert int(answer["length"]) == len(json.dumps(answer["body"]))


@pytest.mark.parametrize("body", [b"", b"{", b"1", b"[1]"])
def test_what_is_no_request_goes_on_as_it_is(body: bytes) -> None:
    assert keeping(body) == body
