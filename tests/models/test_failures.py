"""Failures of a provider, sorted by what to do next."""

from __future__ import annotations

import json
from typing import Any

import httpx
import openai
import pytest

from planwright.graph.errors import ModelError, ModelRejected, ModelUnavailable
from planwright.models.failures import classify

REQUEST: Any = httpx.Request("POST", "http://provider.example/v1/chat/completions")
GARBLED: Any = httpx.Response(200, request=REQUEST)


class Foreign(Exception):
    """An error with a status that some other library might raise."""

    def __init__(self, status_code: object) -> None:
        super().__init__("it said\n  something   odd")
        self.status_code = status_code


def answered(status: int) -> openai.APIStatusError:
    response: Any = httpx.Response(status, request=REQUEST)
    return openai.APIStatusError("said no", response=response, body=None)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_a_transient_status_may_be_tried_again(status: int) -> None:
    failure = classify(answered(status), "mine")
    assert type(failure) is ModelUnavailable
    assert failure.cause == f"provider mine answered HTTP {status}: said no"


@pytest.mark.parametrize("status", [400, 402, 404, 405, 410, 413, 415, 422, 501])
def test_a_refused_request_is_final(status: int) -> None:
    failure = classify(answered(status), "mine")
    assert type(failure) is ModelRejected
    assert f"HTTP {status}" in failure.cause
    assert "providers.mine" in failure.next_step


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_final_and_says_that_nothing_took_its_place(status: int) -> None:
    failure = classify(answered(status), "mine")
    assert type(failure) is ModelRejected
    assert failure.cause == f"provider mine refused the key (HTTP {status})"
    assert "nothing else was tried" in failure.next_step


@pytest.mark.parametrize(
    "error",
    [
        openai.APIConnectionError(request=REQUEST),
        openai.APITimeoutError(REQUEST),
        httpx.ConnectError("refused"),
        httpx.ReadTimeout(""),
        httpx.RemoteProtocolError("peer closed"),
        ConnectionResetError("reset"),
        TimeoutError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_unreachable_provider_may_be_tried_again(error: Exception) -> None:
    failure = classify(error, "mine")
    assert type(failure) is ModelUnavailable
    assert failure.cause.startswith("provider mine is unreachable: ")
    assert failure.cause.removeprefix("provider mine is unreachable: ")


@pytest.mark.parametrize(
    "error",
    [
        openai.APIError("overloaded", REQUEST, body=None),
        openai.OpenAIError("odd"),
        json.JSONDecodeError("no JSON", "x", 0),
        KeyError("choices"),
        AttributeError("'str' object has no attribute 'choices'"),
        openai.APIResponseValidationError(GARBLED, body=None),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_reply_that_is_none_may_be_tried_again(error: Exception) -> None:
    failure = classify(error, "mine")
    assert isinstance(failure, ModelError)
    assert type(failure) is ModelUnavailable


@pytest.mark.parametrize(
    "error",
    [
        AssertionError(),
        Foreign(None),
        Foreign("500"),
        RuntimeError("x"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_is_no_failure_of_the_provider_is_not_named(error: Exception) -> None:
    assert classify(error, "mine") is None


@pytest.mark.parametrize(("status", "kind"), [(503, ModelUnavailable), (400, ModelRejected)])
def test_a_status_counts_whatever_library_it_comes_from(status: int, kind: type[ModelError]) -> None:
    failure = classify(Foreign(status), "mine")
    assert type(failure) is kind
    assert "it said something odd" in failure.cause


def test_what_a_provider_says_is_shortened_and_put_on_one_line() -> None:
    failure = classify(openai.OpenAIError("long\n" * 1000), "mine")
    assert failure is not None
    assert len(failure.cause) < 300
    assert "\n" not in failure.cause
