"""A SELECT is put together piece by piece, and says in words what it reads."""

from __future__ import annotations

import re

import pytest

from planwright.extras.offline.select import Select, plural, selects

TABLES = {"orders": ["id", "customer_id", "status"], "customers": ["id", "name", 'odd"name']}


def test_conditions_values_and_words_go_together() -> None:
    select = Select("orders", TABLES)
    assert select.statement == 'SELECT * FROM "orders"'
    select.call("COUNT", None)
    assert select.keep_any(["status"], "open", linked=False)
    assert select.statement == 'SELECT COUNT(*) AS count FROM "orders" WHERE ? COLLATE NOCASE IN ("status")'
    assert (select.title, select.values) == ("The number of the orders, status open", ["open"])


def test_a_row_may_point_to_another_that_has_the_value() -> None:
    select = Select("orders", TABLES)
    assert select.keep_any(["name"], "Acme", linked=True)
    assert '"customer_id" IN (SELECT id FROM "customers"' in select.statement
    assert not select.keep_any(["name"], "Acme", linked=False)


def test_a_name_is_quoted_as_sql_wants_it() -> None:
    select = Select("customers", TABLES)
    select.call("MAX", 'odd"name', "highest")
    assert select.statement == 'SELECT MAX("odd""name") AS highest FROM "customers"'


@pytest.mark.parametrize(
    ("name", "spelled"),
    [("orders", "order"), ("country", "countries"), ("ordered_on", "ordered on"), ("status", "status")],
)
def test_names_are_known_in_singular_and_plural(name: str, spelled: str) -> None:
    assert re.fullmatch(plural(name), spelled)


def test_words_that_say_nothing_are_no_values() -> None:
    assert selects("open")
    assert not any(selects(word) for word in ("the", "unread", "many", None))
