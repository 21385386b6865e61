"""The workspace that the embedded planner is asked about: the demo's, and a database of a shop."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from planwright.extras.demo.workspace import write_workspace

_SHOP = """
CREATE TABLE customers (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT, city TEXT, email TEXT, signed_up TEXT
);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id), product TEXT, quantity INTEGER,
    total REAL, status TEXT, ordered_on TEXT
);
INSERT INTO customers VALUES
    (1, 'Aroma Roasters', 'Spain', 'Madrid', 'buy@aroma.example', '2025-02-11'),
    (2, 'Blue Harbour Hotel', 'Portugal', 'Porto', 'desk@blueharbour.example', '2025-03-05'),
    (3, 'Casa Verde', 'Spain', 'Sevilla', 'hola@casaverde.example', '2025-06-19'),
    (4, 'Dunlin Bakery', 'Ireland', 'Cork', 'orders@dunlin.example', '2026-01-08'),
    (5, 'Elbe Kontor', 'Germany', 'Hamburg', 'einkauf@elbe.example', '2026-04-22');
INSERT INTO orders VALUES
    (1, 1, 'espresso beans', 20, 640.0, 'shipped', '2026-09-02'),
    (2, 1, 'filter beans', 10, 280.5, 'shipped', '2026-10-01'),
    (3, 2, 'cups', 200, 310.0, 'open', '2026-11-03'),
    (4, 3, 'espresso beans', 5, 160.0, 'cancelled', '2026-10-15'),
    (5, 4, 'grinder', 1, 1250.0, 'open', '2026-11-10'),
    (6, 5, 'filter beans', 40, 1122.0, 'shipped', '2026-11-12'),
    (7, 5, 'cups', 60, 93.0, 'open', '2026-11-20');
"""


def write_office(workspace: Path) -> None:
    """Write the demo's workspace with `shop.db` beside it."""
    write_workspace(workspace)
    with closing(sqlite3.connect(workspace / "shop.db")) as shop:
        shop.executescript(_SHOP)
