"""What is read out of a refusal: how many tokens there may be, which effort, which field."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from planwright.models.providers.refused_parameters import AdaptedRequests
from tests.wire.scripted_server import ScriptedServer, refuses, says

pytestmark = pytest.mark.enable_socket
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}, "extra_content": {}}
KEPT = {"role": "assistant", "content": None, "reasoning_content": "Hm.", "tool_calls": [CALL]}
BODY: dict[str, Any] = {"model": "m", "messages": [KEPT], "max_completion_tokens": 12_288}
TOO_MANY = "max_tokens is too large: 12288. This model supports at most 4096 completion tokens"
CROWDED = (
    "'max_tokens' or 'max_completion_tokens' is too large: 12288. This model's maximum context length is 8192"
    " tokens and your request has 3000 input tokens (12288 > 8192 - 3000)."
)


async def sent(body: dict[str, Any], *refusals: str, times: int = 1) -> list[dict[str, Any]]:
    """Send a request to a server that refuses so, and list what reached it."""
    with ScriptedServer([*(refuses(400, text) for text in refusals), says("Yes.")]) as server:
        async with httpx.AsyncClient(transport=AdaptedRequests("p")) as client:
            for _ in range(times):
                reply = await client.post(server.base_url, json=body)
                assert reply.status_code == 200
        return [request.body for request in server.requests]


@pytest.mark.parametrize(
    ("refusal", "most"),
    [
        (TOO_MANY, 4_096),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8_192),
        ("`max_completion_tokens` must be less than or equal to `8192`", 8_192),
    ],
)
async def test_more_tokens_than_a_model_can_return_are_not_asked_for_again(refusal: str, most: int) -> None:
    _, second, third = await sent(BODY, refusal, times=2)
    assert second["max_completion_tokens"] == third["max_completion_tokens"] == most


async def test_what_the_context_has_left_counts_for_this_request_alone() -> None:
    _, second, third = await sent(BODY, CROWDED, times=2)
    assert second["max_completion_tokens"] == 8_192 - 3_000
    assert third["max_completion_tokens"] == 12_288


async def test_a_conversation_that_is_too_long_by_itself_is_refused() -> None:
    refusal = (
        "This model's maximum context length is 8192 tokens. However, you requested 12000 tokens (8100 in"
    )
    with ScriptedServer([refuses(400, f"{refusal} the messages, 3900 in the completion).")]) as server:
        async with httpx.AsyncClient(transport=AdaptedRequests("p")) as client:
            reply = await client.post(server.base_url, json={**BODY, "max_completion_tokens": 3_900})
    assert (reply.status_code, len(server.requests)) == (400, 1)


@pytest.mark.parametrize("field", ["reasoning_content", "extra_content"])
@pytest.mark.parametrize(
    "refusal",
    [
        "'messages.0' : for 'role:assistant' the following must be satisfied[('messages.0' : property '{}' is"
        " unsupported)]",
        "Unknown parameter: 'messages[0].{}'.",
        "Invalid JSON payload received. Unknown name \"{}\" at 'messages[0]': Cannot find field.",
    ],
)
async def test_a_field_that_a_server_does_not_know_is_left_out(refusal: str, field: str) -> None:
    first, second, third = await sent(BODY, refusal.format(field), times=2)
    assert field in str(first)
    assert field not in str(second)
    assert field not in str(third)
    assert second["messages"][0]["tool_calls"][0]["id"] == "c1"


async def test_a_field_that_is_wanted_back_is_never_left_out() -> None:
    refusal = "The `reasoning_content` in the thinking mode must be passed back to the API."
    with ScriptedServer([refuses(400, refusal)]) as server:
        async with httpx.AsyncClient(transport=AdaptedRequests("p")) as client:
            reply = await client.post(server.base_url, json=BODY)
    assert reply.status_code == 400
    assert all("reasoning_content" in str(request.body) for request in server.requests)


@pytest.mark.parametrize(
    ("body", "efforts"),
    [
        ({"reasoning_effort": "none"}, ["none", "minimal", "low", None]),
        ({"reasoning_effort": "high"}, ["high", None]),
        ({"reasoning": {"effort": "none", "summary": "auto"}}, ["none", "minimal", "low", None]),
    ],
)
async def test_an_effort_that_is_refused_is_the_next_one_and_in_the_end_none(
    body: dict[str, Any], efforts: list[str | None]
) -> None:
    refusals = ["Unsupported value: 'reasoning_effort' does not support this."] * (len(efforts) - 1)
    bodies = await sent({"model": "m", **body}, *refusals)
    assert [b.get("reasoning_effort") or b.get("reasoning", {}).get("effort") for b in bodies] == efforts
    assert all(b.get("reasoning", {}).get("summary", "auto") == "auto" for b in bodies)
