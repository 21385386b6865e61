"""`planwright db query`: a statement of a person reaches either engine as it was written."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from planwright.cli.views.db_tables import show_query
from planwright.cli.views.memory_views import show_memories
from planwright.domain.errors import SetupError
from planwright.extras.postgres.copying import copy_to_server
from planwright.extras.postgres.server import server_of
from planwright.graph.building import build_graph
from planwright.records.memories import Memory
from planwright.records.records import open_records
from planwright.settings.settings import load
from planwright.store.migrations import MIGRATIONS
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.sqlite  # one of the two workspaces keeps its store in files
REQUEST = "What tickets are open, as it IS late?"
QUERIES = [
    "SELECT count(*) AS n FROM runs WHERE request LIKE '%it IS late%'",
    "SELECT count(*) AS n FROM runs WHERE request LIKE '%as it IS NOT late%'",
    "SELECT request FROM runs WHERE request = 'What tickets are open, as it IS late?'",
    "SELECT 'is it :late or ?' AS words, count(*) AS n FROM runs",
    "SELECT '100 %s of it; all' AS words",
    "SELECT count(*) AS n FROM runs -- which?\n WHERE status <> ''",
    "-- how many?\nSELECT count(*) AS n FROM journal",
    "/* all; of them */ SELECT count(*) AS n FROM steps;",
    "SELECT CAST(min(seq) AS TEXT) AS n FROM journal",
    "SELECT status, count(*) AS n FROM runs GROUP BY status ORDER BY status",
    "SELECT type, count(*) AS n FROM journal GROUP BY type ORDER BY type",
    "SELECT r.status, s.step_id, s.status AS how FROM runs r JOIN steps s USING (run_id) ORDER BY s.step_id",
    "SELECT capability, status FROM effects ORDER BY capability",
    "SELECT kind, status FROM gates WHERE decided_by IS NULL ORDER BY kind",
    "SELECT count(*) AS n FROM runs WHERE answer IS NOT NULL",
    "SELECT upper(status) AS loud, length(request) AS n FROM runs",
    "SELECT substr(request, 1, 4) AS first FROM runs",
    "WITH ended AS (SELECT run_id FROM runs WHERE ended_at IS NOT NULL) SELECT count(*) AS n FROM ended",
    "SELECT coalesce(max(seq), 0) AS last, min(seq) AS first FROM journal",
    "SELECT tenant, request, status FROM runs ORDER BY started_at LIMIT 1",
]


@pytest.fixture
def workspaces(tmp_path: Path, store_url: str) -> tuple[Path, Path]:
    """A workspace whose store is in files, and one whose store is in PostgreSQL, with the same rows."""
    files, server = tmp_path / "files", tmp_path / "server"
    for folder in (files, server):
        folder.mkdir()
    agent = build_graph(load(files))
    agent.invoke({"messages": [("user", REQUEST)]}, {"configurable": {"thread_id": "t"}})
    agent.close()
    engine = server_of(store_url, MIGRATIONS, PATIENCE_S, None).engine
    copy_to_server(files / ".planwright", engine, lambda: None)
    (server / "planwright.toml").write_text(f'[storage]\nurl = "{store_url}"\n', "utf-8")
    return files, server


def test_twenty_queries_answer_the_same_on_both_engines(
    workspaces: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    answers: list[list[object]] = []
    for workspace in workspaces:
        answers.append([])
        for query in QUERIES:
            assert show_query(query, workspace, "json", 200) == 0
            answers[-1].append(json.loads(capsys.readouterr().out)["rows"])
    assert answers[0] == answers[1]
    assert answers[0][0] == [{"n": 1}]
    assert len(QUERIES) == 20


def test_memories_are_listed_alike(workspaces: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    listings = []
    for workspace in workspaces:
        with closing(open_records(load(workspace).store_folder, url=load(workspace).store_url)) as records:
            memory = Memory.new("mem_1", "The cables are blue", ["cables"], datetime(2026, 1, 1, tzinfo=UTC))
            asyncio.run(records.memories.write(memory, "default", "run_1"))
        assert show_memories(workspace, "default", as_json=True) == 0
        listings.append(json.loads(capsys.readouterr().out))
    assert listings[0] == listings[1]
    assert [row["id"] for row in listings[0]] == ["mem_1"]


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM runs", "SELECT 1; DELETE FROM runs", "COPY runs TO '/tmp/x'", "-- SELECT\nDROP TABLE runs"],
)
def test_nothing_but_one_select_reaches_the_server(workspaces: tuple[Path, Path], statement: str) -> None:
    with pytest.raises(SetupError):
        show_query(statement, workspaces[1], "json", 200)
    assert show_query("SELECT count(*) FROM runs", workspaces[1], "json", 200) == 0
