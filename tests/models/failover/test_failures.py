"""Failures of a provider, sorted by what to do next."""

from __future__ import annotations

import json
import socket
from typing import Any

import httpx
import openai
import pytest
from langchain_core import exceptions
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from planwright.domain.errors import ContextOverflow, KeyRefused, ModelError, ModelRejected, ModelUnavailable
from planwright.models.failover.classify import classify
from tests.wire.scripted_server import Reply, ScriptedServer

REQUEST: Any = httpx.Request("POST", "http://provider.example/v1/chat/completions")
GARBLED: Any = httpx.Response(200, request=REQUEST)


class Foreign(Exception):
    """An error with a status that some other library might raise."""

    def __init__(self, status_code: object) -> None:
        super().__init__("it said\n  something   odd")
        self.status_code = status_code


def answered(
    status: int, says: str = "said no", headers: dict[str, str] | None = None
) -> openai.APIStatusError:
    response: Any = httpx.Response(status, request=REQUEST, headers=headers)
    return openai.APIStatusError(says, response=response, body=None)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 501, 502, 503, 504, 529])
def test_a_transient_status_may_be_tried_again(status: int) -> None:
    failure = classify(answered(status), "mine")
    assert type(failure) is ModelUnavailable
    assert failure.cause == f"provider mine answered HTTP {status}: said no"


@pytest.mark.parametrize("status", [400, 404, 405, 410, 415, 422])
def test_a_refused_request_is_final(status: int) -> None:
    failure = classify(answered(status), "mine")
    assert type(failure) is ModelRejected
    assert f"HTTP {status}" in failure.cause
    assert "providers.mine" in failure.next_step


@pytest.mark.parametrize("status", [401, 402, 403])
def test_a_refused_key_is_told_from_a_refused_request(status: int) -> None:
    failure = classify(answered(status), "mine")
    assert type(failure) is KeyRefused
    assert failure.cause == f"provider mine refused the key (HTTP {status})"


def test_an_account_with_nothing_left_is_a_refused_key() -> None:
    assert type(classify(answered(429, "You exceeded your current quota"), "mine")) is KeyRefused
    assert type(classify(answered(429, "insufficient_quota"), "mine")) is KeyRefused


OVERFLOWS = (
    "This model's maximum context length is 8192 tokens",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input is too long for requested model",
    "error code context_length_exceeded",
)


@pytest.mark.parametrize("says", OVERFLOWS)
def test_a_conversation_that_is_too_long_is_known_by_what_is_said(says: str) -> None:
    assert type(classify(answered(400, says), "mine")) is ContextOverflow
    assert type(classify(openai.APIError(says, REQUEST, body=None), "mine")) is ContextOverflow
    assert type(classify(answered(413), "mine")) is ContextOverflow


@pytest.mark.parametrize("says", ["Rate limit reached", "the model is overloaded", "Too Many Requests"])
def test_an_overload_is_known_by_what_is_said(says: str) -> None:
    assert type(classify(answered(400, says), "mine")) is ModelUnavailable


@pytest.mark.parametrize(
    ("code", "kind"),
    [(529, ModelUnavailable), ("503", ModelUnavailable), (400, ModelRejected), (401, KeyRefused)],
)
def test_an_error_inside_a_200_counts_by_its_code(code: object, kind: type[ModelError]) -> None:
    streamed = classify(openai.APIError("no", REQUEST, body={"code": code}), "mine")
    whole = classify(ValueError({"message": "no", "code": code}), "mine")  # as langchain-openai raises it
    assert (type(streamed), type(whole)) == (kind, kind)


def test_how_long_to_wait_is_read_from_the_reply() -> None:
    failure = classify(answered(429, headers={"Retry-After": "7"}), "mine")
    assert isinstance(failure, ModelUnavailable)
    assert failure.retry_after == 7


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
    assert isinstance(failure, ModelUnavailable)
    assert failure.is_away is (str(error) == "overloaded")


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


@pytest.mark.enable_socket
async def test_a_closed_port_is_named_with_its_host() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        model = ChatOpenAI(
            model="m", base_url=f"http://127.0.0.1:{port}/v1", api_key=SecretStr("key"), max_retries=0
        )
        with pytest.raises(openai.APIConnectionError) as failed:
            await model.ainvoke("hello")
    failure = classify(failed.value, "local")
    assert isinstance(failure, ModelUnavailable)
    wanted = f"provider local is unreachable: the connection was refused (127.0.0.1:{port})"
    assert failure.cause == wanted


class RateLimitError(Exception):
    """An error of an SDK that carries no status."""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (exceptions.ModelRateLimitError("slow down"), ModelUnavailable),
        (exceptions.ModelAPIError("broken"), ModelUnavailable),
        (exceptions.ModelConnectionError("no line"), ModelUnavailable),
        (exceptions.ModelTimeoutError("late"), ModelUnavailable),
        (exceptions.ModelAuthenticationError("no key"), KeyRefused),
        (exceptions.ModelInvalidRequestError("no"), ModelRejected),
        (exceptions.ContextOverflowError("long"), ContextOverflow),
        (RateLimitError("slow down"), ModelUnavailable),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_of_langchain_count_by_their_class(error: Exception, kind: type[ModelError]) -> None:
    assert type(classify(error, "mine")) is kind


def test_an_error_of_a_model_given_in_code_is_told_as_it_is() -> None:
    failure = classify(KeyError("choices"), "mine", in_code=True)
    assert isinstance(failure, ModelUnavailable)
    assert failure.cause == "the model that was given in code raised KeyError: 'choices'"


@pytest.mark.long
@pytest.mark.enable_socket
async def test_what_the_sdk_asserts_of_a_reply_is_a_failure_of_its_provider() -> None:
    body = 'data: {"detail": "full"}\n\ndata: [DONE]\n\n'
    with ScriptedServer([Reply(200, body, {"Content-Type": "text/event-stream"})]) as server:
        model = ChatOpenAI(model="m", base_url=server.base_url, api_key=SecretStr("k"), max_retries=0)
        form: Any = {"type": "json_object"}
        with pytest.raises(AssertionError) as raised:
            [piece async for piece in model.astream("Hello", response_format=form)]
    failure = classify(raised.value, "mine")
    assert isinstance(failure, ModelUnavailable)
    assert failure.cause == "provider mine sent no usable reply: it is no chat completion"


def test_what_a_reply_says_of_an_error_is_told() -> None:
    failure = classify(ValueError({"message": "the house is full", "code": None}), "mine")
    assert failure is not None
    assert failure.cause == "provider mine sent no usable reply: the house is full"
