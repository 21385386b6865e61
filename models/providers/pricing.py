"""What a call costs, in micro-cents; None when nobody knows the price."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal

from langchain_core.messages import AIMessage

from planwright.domain.errors import ModelError
from planwright.domain.results import MICRO_CENTS_PER_DOLLAR
from planwright.settings.provider_budget import PriceSettings
from planwright.state.agent_state import ModelRoute

MILLION = 1_000_000
MOST_TOKENS = 2**40
"""Most tokens that a call can be said to have used."""


def price(
    route: ModelRoute, input_tokens: int, output_tokens: int, prices: PriceSettings | None = None
) -> int | None:
    """Price a call by its tokens: as its provider's settings say, else by the list of genai-prices.

    A part of a micro-cent counts as a whole one. The embedded planner costs nothing.
    """
    if route.embedded:
        return 0
    if prices is not None:
        dollars = (
            prices.input_per_million * input_tokens + prices.output_per_million * output_tokens
        ) / MILLION
        return math.ceil(dollars * MICRO_CENTS_PER_DOLLAR)
    from genai_prices import Usage, calc_price  # a large table: loaded only when a provider is used

    try:
        priced = calc_price(
            Usage(input_tokens=input_tokens, output_tokens=output_tokens), model_ref=route.model
        )
    except LookupError:
        return None
    return math.ceil(Decimal(priced.total_price) * MICRO_CENTS_PER_DOLLAR)


def with_plain_usage(reply: AIMessage) -> AIMessage:
    """Drop counts that no call can have: they fit into no record, and would end the run that made it."""
    counts = [reply.usage_metadata, reply.response_metadata.get("token_usage")]
    if all(number <= MOST_TOKENS for number in _numbers(counts)):
        return reply
    rest = {name: value for name, value in reply.response_metadata.items() if name != "token_usage"}
    return reply.model_copy(update={"usage_metadata": None, "response_metadata": rest})


def _numbers(value: object) -> Iterator[float]:
    if isinstance(value, int | float):
        yield abs(value)
    elif isinstance(value, Mapping | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _numbers(part)


def tokens_of(reply: AIMessage, estimate: int) -> tuple[int, int]:
    """Read the tokens sent and returned off a reply; what is not said, or cannot be, is estimated.

    A call that sent nothing is none: a provider that counts none at all would never reach its limits.
    """
    usage = reply.usage_metadata
    if usage and min(usage["input_tokens"], usage["output_tokens"]) >= 0 and usage["input_tokens"]:
        return usage["input_tokens"], usage["output_tokens"]
    return estimate, estimated_reply_tokens(reply)


def cached(reply: AIMessage) -> dict[str, int]:
    """Read how much of a prompt the provider had in its cache; nothing where it says none."""
    usage = reply.usage_metadata
    tokens = usage.get("input_token_details", {}).get("cache_read", 0) if usage else 0
    return {"cached_tokens": tokens} if tokens else {}


def estimated_reply_tokens(reply: AIMessage) -> int:
    """Estimate the tokens of a reply that came without a count, four characters each as langchain-core does.

    Whatever a provider put into it is spelled out: it need not have the shape of a message.
    """
    return math.ceil(len(f"{reply.content}{reply.tool_calls or ''}") / 4)


def used_in_vain(error: ModelError, worst: tuple[int, int]) -> tuple[int, int]:
    """Count the tokens of a call that failed: as its provider says, or in full where it may have worked."""
    if error.used:
        return error.used
    return worst if error.worked or isinstance(error.__cause__, TimeoutError) else (0, 0)
