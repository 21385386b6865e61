"""The example with tools of LangChain: a call that reads is made, one that says nothing of itself asks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.examples.conftest import Example, ServedModel
from tests.wire.scripted_server import calls, says

pytestmark = pytest.mark.enable_socket
REQUEST = "Order 3 bags of coffee if there are less than 5 in stock"


@pytest.mark.parametrize(("answer", "orders"), [("y", [("coffee", 3)]), ("n", [])])
def test_an_order_is_placed_once_a_person_says_so(
    example: Callable[[str], Example],
    model: Callable[..., ServedModel],
    answer: str,
    orders: list[object],
) -> None:
    shop = example("own_tools")
    served = model(
        calls("stock", {"article": "coffee"}),
        calls("order", {"article": "coffee", "pieces": 3}),
        says("Done."),
    )
    done = shop.run("shop", REQUEST, env=served.env, typed=f"{answer}\n")
    assert done.code == 0, done.stderr
    assert "order {'article': 'coffee', 'pieces': 3}" in done.stdout
    assert shop.rows("shop.db", "SELECT article, pieces FROM orders") == orders
    effects = shop.rows(".planwright/planwright.db", "SELECT capability, status FROM effects")
    assert effects == ([("order", "done")] if orders else [])
    returned = served.server.requests[1].sent("tool")
    assert "2" in returned.split(), returned
