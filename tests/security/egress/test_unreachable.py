"""Why a connection could not be made, in words."""

from __future__ import annotations

import socket
import urllib.error
from contextlib import closing
from email.message import Message

import httpx
import pytest

from planwright.security.egress.unreachable import address_of, may_pass, why_unreachable


class Mute(Exception):
    """An error that does not say what it answers."""

    @property
    def response(self) -> object:
        """Fail to tell."""
        raise RuntimeError("no response was set")


def answered(status: int) -> httpx.HTTPStatusError:
    """Make the error of an answer with a status."""
    request = httpx.Request("GET", "http://a.example")
    return httpx.HTTPStatusError("no", request=request, response=httpx.Response(status, request=request))


@pytest.mark.enable_socket
async def test_a_closed_port_refuses() -> None:
    with closing(socket.socket()) as bound:  # nobody listens
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        async with httpx.AsyncClient(trust_env=False) as client:
            with pytest.raises(httpx.ConnectError) as failed:
                await client.get(f"http://127.0.0.1:{port}/x")
    assert why_unreachable(failed.value) == "the connection was refused"
    assert address_of(failed.value) == f"127.0.0.1:{port}"


def test_one_of_several_addresses_that_refused_is_enough() -> None:
    error = OSError("all failed")
    error.__cause__ = ExceptionGroup("many", [OSError("no route"), ConnectionRefusedError(111, "no")])
    assert why_unreachable(error) == "the connection was refused"


def test_else_the_deepest_words_are_said_and_without_words_the_kind_of_error() -> None:
    timeout, below = httpx.ConnectTimeout(""), TimeoutError()
    timeout.__cause__ = below
    assert why_unreachable(timeout) == "ConnectTimeout"
    below.__context__ = OSError("no route to host")
    assert why_unreachable(timeout) == "no route to host"
    assert address_of(timeout) == ""


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (ConnectionResetError("reset"), True),
        (socket.gaierror("no such host"), True),
        (urllib.error.URLError("unreachable"), True),
        (httpx.ConnectError("refused"), True),
        (httpx.ReadTimeout("late"), True),
        (httpx.UnsupportedProtocol("ftp"), False),
        (answered(503), True),
        (answered(429), True),
        (answered(404), False),
        (urllib.error.HTTPError("http://a.example", 404, "none", Message(), None), False),
        (PermissionError("no"), False),
        (ValueError("no"), False),
        (SystemExit(429), False),
        (Mute(), False),
    ],
    ids=repr,
)
def test_an_error_passes_by_its_class_or_its_status(error: BaseException, passes: bool) -> None:
    assert may_pass(error) is passes
