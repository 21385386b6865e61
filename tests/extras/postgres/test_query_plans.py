"""PostgreSQL passes over no whole table that grows with runs, but where that is meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from benchmarks.filled_store import fill
from planwright.extras.postgres.copying import copy_to_server
from planwright.extras.postgres.layout import TABLES
from planwright.extras.postgres.server import server_of
from planwright.extras.postgres.translation import translated
from planwright.store.migrations import MIGRATIONS
from tests.patience import PATIENCE_S
from tests.query_plans import OPEN, SMALL, SORTED, WIDE, asked_of, unexcused

pytestmark = pytest.mark.sqlite  # the rows are filled into files, and copied
RUNS = 2000
AS_IF_LARGE = (
    "SET plan_cache_mode = force_generic_plan",
    *(f"SET enable_{way} = off" for way in ("seqscan", "hashjoin", "mergejoin")),
)
"""What a server does with many rows that it may not do with few."""
HERE = (
    "SELECT r.request FROM runs r WHERE r.tenant = ? AND r.status = 'completed'",  # the newest
    "SELECT max(r.rowid), r.thread_id, coalesce(max(t.title), '') FROM runs r",  # those after a number
    # A result of any run of a thread: a hundred runs are expected of one, and there are few steps to read.
    "WITH RECURSIVE family(thread_id) AS ( SELECT thread_id FROM runs WHERE thread_id = :thread UNION"
    " SELECT source.thread_id FROM family JOIN runs made ON made.thread_id = family.thread_id JOIN forks ON"
    " forks.run_id = made.run_id JOIN runs source ON source.run_id = forks.source_run) SELECT DISTINCT"
    " json_extract(s.result, '$.blob')",
)
"""How those begin that a server reads another way than SQLite, which has an index of the tenant alone."""
SCANS = ("Seq Scan", "Index Scan", "Index Only Scan", "Bitmap Index Scan")
CONDITION = re.compile(r"\((?:\w+\.)?(\w+) ([=>]) (?:\$\d+|'\w+'::text)\)$")


def nodes(plan: dict[str, Any], *, sorted_: bool = False) -> Iterator[tuple[dict[str, Any], bool]]:
    """Walk a plan: each node, and whether what it returns is sorted above it."""
    yield plan, sorted_
    for part in plan.get("Plans", ()) if plan["Node Type"].startswith("Bitmap") else ():
        part["Relation Name"] = plan["Relation Name"]  # what its indexes are of
    sorts = plan["Node Type"] == "Sort" or (sorted_ and plan["Node Type"] != "Aggregate")
    for part in plan.get("Plans", ()):
        yield from nodes(part, sorted_=sorts and part.get("Parent Relationship") in ("Outer", "Inner"))


def whole_tables(session: psycopg.Connection[Any], sql: str) -> Iterator[str]:
    """List the nodes of a plan that pass over a whole table that grows."""
    text = translated(sql).text
    count = max(map(int, re.findall(r"\$(\d+)", text)), default=0)
    session.execute(f"PREPARE statement AS {text}")
    values = f"({', '.join(['NULL'] * count)})" if count else ""
    row = session.execute(f"EXPLAIN (FORMAT JSON) EXECUTE statement{values}").fetchone()
    session.execute("DEALLOCATE statement")
    assert row is not None
    for node, sorted_ in nodes(row[0][0]["Plan"]):
        table, condition = node.get("Relation Name"), node.get("Index Cond", "")
        wide = not condition or CONDITION.sub(r"\1\2?", condition) in WIDE
        whole = node["Node Type"] in SCANS and wide
        if whole and table in {*TABLES} - SMALL and node.get("Index Name") not in OPEN:
            yield f"{node['Node Type']} of {table} by {node.get('Index Name')}: {condition}"
            if sorted_:
                yield SORTED


@pytest.mark.long
def test_no_statement_passes_over_a_whole_table(tmp_path: Path, store_url: str) -> None:
    fill(tmp_path, RUNS)
    engine = server_of(store_url, MIGRATIONS, PATIENCE_S, None).engine
    copy_to_server(tmp_path / ".planwright", engine, lambda: None)
    statements = asked_of(tmp_path, store_url)
    with psycopg.connect(store_url, autocommit=True) as session:
        session.execute("ANALYZE")
        for setting in AS_IF_LARGE:
            session.execute(setting)
        scans = {sql: steps for sql in statements if (steps := list(whole_tables(session, sql)))}
    found, _ = unexcused(scans)
    assert [each for each in found if not each[0].startswith(HERE)] == []
    assert len(statements) > 300
