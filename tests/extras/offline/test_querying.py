"""Requests about the rows of a table, run on a real database: what comes back is what was asked."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchmarks.offline_workspace import write_office
from planwright.extras.offline.planner import compose
from tests.extras.offline.conftest import SHOP


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    write_office(folder)
    return folder / "shop.db"


@pytest.mark.parametrize(
    ("request_", "statement"),
    [
        ("how many orders do we have?", "SELECT 7"),
        ("which orders are still open?", "SELECT * FROM orders WHERE status = 'open'"),
        ("list the shipped orders", "SELECT * FROM orders WHERE status = 'shipped'"),
        ("show me the orders with status cancelled", "SELECT * FROM orders WHERE status = 'cancelled'"),
        ("list the customers in Spain", "SELECT * FROM customers WHERE country = 'Spain'"),
        ("orders of Aroma Roasters", "SELECT * FROM orders WHERE customer_id = 1"),
        ("how many orders from Spain?", "SELECT 3"),
        ("orders for espresso beans", "SELECT * FROM orders WHERE product = 'espresso beans'"),
        ("what is the sum of quantity over all orders?", "SELECT sum(quantity) FROM orders"),
        ("what is the total of all open orders?", "SELECT sum(total) FROM orders WHERE status = 'open'"),
        ("average total of the shipped orders", "SELECT avg(total) FROM orders WHERE status = 'shipped'"),
        ("total quantity of orders by product", "SELECT product, sum(quantity) FROM orders GROUP BY product"),
        ("count orders by status", "SELECT status, count(*) FROM orders GROUP BY status"),
        ("orders with a total above 500", "SELECT * FROM orders WHERE total > 500"),
        ("which order has the highest total?", "SELECT * FROM orders WHERE id = 5"),
        ("how many orders with status open and product cups", "SELECT 2"),
    ],
)
def test_the_rows_are_those_of_the_request(
    capabilities: list[dict[str, Any]], shop: Path, request_: str, statement: str
) -> None:
    step, _ = compose(request_, capabilities, SHOP)["steps"]
    assert step["capability"] == "sql.query"
    with closing(sqlite3.connect(shop)) as database:
        planned = database.execute(step["params"]["statement"], step["params"].get("parameters", []))
        assert sorted(planned.fetchall()) == sorted(database.execute(statement).fetchall())


@pytest.mark.parametrize(
    "request_",
    [
        "how many suppliers do we have?",
        "which customers have not ordered anything?",
        "list the last three orders",
        "list the orders that were placed in October",
        "how many unread orders?",
        "open orders over 500",
        "customers who signed up in 2025",
        "delete order 3",
        "how many open orders are there and what is their total?",
    ],
)
def test_what_the_columns_do_not_say_is_not_guessed(
    capabilities: list[dict[str, Any]], request_: str
) -> None:
    assert "cannot" in compose(request_, capabilities, SHOP)


def test_a_name_in_a_request_is_a_parameter_and_no_sql(capabilities: list[dict[str, Any]]) -> None:
    hostile = "x'; DROP TABLE orders; --"
    plan = compose(f'orders of "{hostile}"', capabilities, SHOP)
    assert hostile not in plan["steps"][0]["params"]["statement"]
    assert plan["steps"][0]["params"]["parameters"] == [hostile, hostile]


def test_without_a_database_there_are_no_rows(capabilities: list[dict[str, Any]]) -> None:
    assert "cannot" in compose("how many orders do we have?", capabilities)
