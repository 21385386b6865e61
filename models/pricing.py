"""What a call costs, in micro-cents; None when nobody knows the price."""

from __future__ import annotations

from decimal import Decimal

from planwright.checkpoints.budgets import MICRO_CENTS_PER_DOLLAR
from planwright.graph.state import ModelRoute


def price(route: ModelRoute, input_tokens: int, output_tokens: int) -> int | None:
    """Price a call by its tokens, from the public price list that genai-prices carries."""
    if route.embedded:
        return None
    from genai_prices import Usage, calc_price  # a large table: loaded only when a provider is used

    try:
        priced = calc_price(
            Usage(input_tokens=input_tokens, output_tokens=output_tokens), model_ref=route.model
        )
    except LookupError:
        return None
    return int(Decimal(priced.total_price) * MICRO_CENTS_PER_DOLLAR)
