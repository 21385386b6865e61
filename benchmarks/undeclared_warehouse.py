"""A warehouse: functions over tables of pandas, which hold NaN and NaT, and numbers of numpy."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.undeclared_model import World

TODAY = pd.Timestamp("2026-03-02")
Bay = Literal["north", "south", "cold"]


class Stock:
    """What is there now; a new one is put here for each task."""

    items: pd.DataFrame
    orders: pd.DataFrame
    moves: list[dict[str, Any]]
    mails: list[str]


class Shortage(NamedTuple):
    """How much of an item is lacking."""

    sku: str
    lacking: int


def list_items() -> pd.DataFrame:
    """Show the whole stock as a table: sku, name, count, price, bay, when it was counted."""
    return Stock.items


def show_item(sku: str) -> pd.Series:
    """Show one line of the stock."""
    return Stock.items.set_index("sku").loc[sku]


def search_items(text: str) -> pd.DataFrame:
    """Find items by a part of their name."""
    return Stock.items[Stock.items["name"].str.contains(text, case=False)]


def stock_count(sku: str) -> np.int64:
    """How many of an item there are."""
    count: np.int64 = _row(sku)["count"]
    return count


def unit_price(sku: str) -> np.float64:
    """What one of an item costs; NaN where nobody has priced it."""
    price: np.float64 = _row(sku)["price"]
    return price


def last_counted(sku: str) -> pd.Timestamp:
    """When an item was counted last; NaT where it never was."""
    counted: pd.Timestamp = _row(sku)["counted"]
    return counted


def never_counted() -> pd.Series:
    """Names of what was never counted."""
    return Stock.items[Stock.items["counted"].isna()]["name"]


def value_by_bay() -> pd.Series:
    """What lies in each bay, in euros."""
    table = Stock.items
    return (table["count"] * table["price"]).groupby(table["bay"]).sum(min_count=1)


def price_statistics() -> pd.DataFrame:
    """Mean, spread and number of prices."""
    return Stock.items[["price"]].describe()


def open_orders() -> pd.DataFrame:
    """Orders that have not been shipped."""
    return Stock.orders[Stock.orders["shipped"].isna()]


def get_order(order: int) -> dict[str, Any]:
    """One order with all that is known of it."""
    found: dict[str, Any] = Stock.orders.set_index("order").loc[order].to_dict()
    return found


def shortages() -> list[Shortage]:
    """What is ordered and not there."""
    waiting = open_orders().groupby("sku")["quantity"].sum()
    found = [Shortage(str(sku), int(wanted - stock_count(str(sku)))) for sku, wanted in waiting.items()]
    return [each for each in found if each.lacking > 0]


def pick_list(bay: Bay) -> np.ndarray[Any, Any]:
    """The skus to be picked in a bay, as an array."""
    mine = Stock.items[Stock.items["bay"] == bay]["sku"]
    return np.array(sorted(set(mine) & set(open_orders()["sku"])))


def add_stock(sku: str, quantity: int) -> np.int64:
    """Put more of an item on its shelf; returns how many there are."""
    Stock.items.loc[Stock.items["sku"] == sku, "count"] += quantity
    return stock_count(sku)


def remove_stock(sku: str, quantity: int, reason: str = "") -> np.int64:
    """Take some of an item off its shelf."""
    Stock.items.loc[Stock.items["sku"] == sku, "count"] -= quantity
    Stock.moves.append({"sku": sku, "quantity": -quantity, "reason": reason})
    return stock_count(sku)


def set_price(sku: str, price: float) -> pd.Series:
    """Price an item."""
    Stock.items.loc[Stock.items["sku"] == sku, "price"] = price
    return show_item(sku)


def move_item(sku: str, bay: Bay) -> None:
    """Move an item to another bay."""
    Stock.items.loc[Stock.items["sku"] == sku, "bay"] = bay


def record_count(sku: str, quantity: int) -> pd.Timestamp:
    """Write down that an item was counted today, and how many there are."""
    Stock.items.loc[Stock.items["sku"] == sku, ["count", "counted"]] = [quantity, TODAY]
    return TODAY


def add_item(sku: str, name: str, bay: Bay, price: float | None = None) -> pd.DataFrame:
    """Take a new item into the stock."""
    new = pd.DataFrame(
        [{"sku": sku, "name": name, "count": 0, "price": price, "bay": bay, "counted": pd.NaT}]
    )
    Stock.items = pd.concat([Stock.items, new.astype(Stock.items.dtypes)], ignore_index=True)
    return new


def discontinue_item(sku: str) -> int:
    """Take an item out of the stock for good; returns how many items are left."""
    Stock.items = Stock.items[Stock.items["sku"] != sku]
    return len(Stock.items)


def ship_order(order: int) -> pd.DataFrame:
    """Ship an order: its goods leave the shelf."""
    line = Stock.orders["order"] == order
    Stock.orders.loc[line, "shipped"] = TODAY
    for sku, quantity in Stock.orders[line][["sku", "quantity"]].itertuples(index=False):
        Stock.items.loc[Stock.items["sku"] == sku, "count"] -= quantity
    return Stock.orders[line]


def cancel_order(order: int) -> np.bool_:
    """Strike an order off; says whether it was there."""
    there: np.bool_ = np.bool_((Stock.orders["order"] == order).any())
    Stock.orders = Stock.orders[Stock.orders["order"] != order]
    return there


def reorder(sku: str, quantity: int) -> str:
    """Order more of an item from its supplier, by mail."""
    Stock.mails.append(f"please send {quantity} of {sku}")
    return Stock.mails[-1]


def _row(sku: str) -> pd.Series:
    return Stock.items[Stock.items["sku"] == sku].iloc[0]


def _state() -> dict[str, Any]:
    items = Stock.items.set_index("sku")
    orders = Stock.orders.set_index("order")
    return {
        "items": {sku: dict(items.loc[sku].items()) for sku in items.index},
        "orders": {str(number): dict(orders.loc[number].items()) for number in orders.index},
        "moves": dict(enumerate(Stock.moves)),
        "mails": dict(enumerate(Stock.mails)),
    }


READS = (
    *(list_items, show_item, search_items, stock_count, unit_price, last_counted, never_counted),
    *(value_by_bay, price_statistics, open_orders, get_order, shortages, pick_list),
)
WRITES = (
    *(add_stock, remove_stock, set_price, move_item, record_count, add_item, discontinue_item),
    *(ship_order, cancel_order, reorder),
)


def warehouse() -> World:
    """Open the warehouse with the stock of a Monday morning."""
    nan, nat = float("nan"), pd.NaT
    Stock.items = pd.DataFrame(
        {
            "sku": ["B-10", "C-20", "D-30", "E-40", "F-50"],
            "name": ["Oak board", "Copper wire", "Door hinge", "Epoxy resin", "Felt pad"],
            "count": [12, 0, 250, 7, 40],
            "price": [18.5, 3.2, 0.75, nan, nan],
            "bay": ["north", "north", "south", "cold", "south"],
            "counted": [pd.Timestamp("2026-02-01"), nat, pd.Timestamp("2026-02-14"), nat, nat],
        }
    )
    Stock.orders = pd.DataFrame(
        {
            "order": [701, 702, 703, 704],
            "sku": ["B-10", "C-20", "D-30", "E-40"],
            "quantity": [4, 30, 50, 9],
            "due": [pd.Timestamp("2026-03-03"), pd.Timestamp("2026-03-04"), nat, nat],
            "shipped": pd.Series([nat, nat, pd.Timestamp("2026-02-27"), nat], dtype="datetime64[us]"),
        }
    )
    Stock.moves, Stock.mails = [], []
    names = frozenset(each.__name__ for each in READS)
    return World("warehouse", (*READS, *WRITES), names, _state)
