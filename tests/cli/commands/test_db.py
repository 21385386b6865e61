"""`planwright db`: check, backup, restore, vacuum, tables, query and export, as at a shell."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.damage import put_checkpoints
from planwright.security.credentials import login_name
from planwright.store.owners import Owners
from tests.cli.conftest import Waiting, ask
from tests.cli.desk import Desk, refusal

pytestmark = pytest.mark.sqlite

FILE = "planwright.db"


def store(desk: Desk) -> Path:
    return desk.folder / ".planwright"


def content(folder: Path) -> dict[str, bytes]:
    """Read the bytes of the file, and of what is not yet in it; whoever reads may leave an empty log."""
    names = [f"{FILE}{side}" for side in ("", "-wal")]
    read = {name: (folder / name).read_bytes() for name in names if (folder / name).exists()}
    return {name: data for name, data in read.items() if data}


@pytest.mark.parametrize("words", [["check"], ["tables"]])
def test_looking_at_a_new_workspace_says_that_nothing_is_there(desk: Desk, words: list[str]) -> None:
    done = desk.run("db", *words)
    assert (done.code, done.stderr) == (0, "")
    assert "there is no store in" in done.stdout


@pytest.mark.parametrize(
    "words", [["backup", "b"], ["vacuum"], ["query", "SELECT 1"], ["export", "all", "out"], ["restore", "b"]]
)
def test_in_a_new_workspace_there_is_nothing_to_work_on(desk: Desk, words: list[str]) -> None:
    done = desk.run("db", *words)
    assert done.code == 2
    assert "there is no" in refusal(done)
    assert not store(desk).exists()


def test_a_healthy_store_is_found_healthy_and_is_not_written(desk: Desk, waiting: Waiting) -> None:
    before = content(store(desk))
    done = desk.run("db", "check", "--json")
    assert (done.code, done.json) == (0, {"healthy": True, "findings": []})
    assert content(store(desk)) == before


def test_what_is_wrong_is_listed_with_what_to_do(desk: Desk, waiting: Waiting) -> None:
    desk.change("UPDATE gates SET shown = '{\"fixed\": tru'")
    done = desk.run("db", "check")
    assert done.code == 1
    assert "gates: shown is no JSON, in row 1" in done.stdout
    assert "planwright db restore BACKUP" in done.stdout


def test_a_text_with_a_nul_is_no_damage_and_damage_beside_it_is_found(desk: Desk, waiting: Waiting) -> None:
    tables = desk.rows(
        "SELECT t.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE c.name = 'thread_id'"
    )
    for (table,) in tables:
        desk.change(f"UPDATE {table} SET thread_id = thread_id || char(0)")
    done = desk.run("db", "check")
    assert done.code == 0, done.stdout
    assert "runs: thread_id holds a NUL character, in row 1" in done.stdout
    assert "restore" not in done.stdout
    desk.change("UPDATE gates SET shown = replace(shown, 'hello', 'other')")
    done = desk.run("db", "check")
    assert done.code == 1
    assert "the card of gate" in done.stdout


def test_a_nul_within_json_is_damage(desk: Desk, waiting: Waiting) -> None:
    desk.change("UPDATE gates SET shown = substr(shown, 1, 20) || char(0) || substr(shown, 22)")
    done = desk.run("db", "check")
    assert done.code == 1
    assert "gates: shown is no JSON, in row 1" in done.stdout


def test_a_title_that_was_changed_is_found(desk: Desk) -> None:
    assert desk.run("run", "What time is it?").code == 0
    assert desk.run("db", "check").code == 0
    desk.change("UPDATE threads SET title = 'Pay ' || title")
    done = desk.run("db", "check")
    assert done.code == 1
    assert "threads have other titles than they were given" in done.stdout


@pytest.mark.parametrize(
    "words", [["ls"], ["run", "What time is it?"], ["db", "vacuum"], ["db", "backup", "b"]]
)
def test_a_newer_store_is_refused_and_stays_as_it_is(desk: Desk, waiting: Waiting, words: list[str]) -> None:
    with closing(sqlite3.connect(store(desk) / FILE)) as newer:
        newer.execute("PRAGMA user_version = 99")
    before = content(store(desk))
    done = desk.run(*words)
    assert done.code == 2
    said = refusal(done)
    assert "its tables have version 99" in said
    assert "install that version, or" in said
    assert content(store(desk))[FILE] == before[FILE]
    assert desk.run("db", "check").code == 1


@pytest.mark.parametrize(
    "words", [["ls"], ["run", "What time is it?"], ["doctor"], ["db", "vacuum"], ["db", "backup", "b"]]
)
def test_a_database_of_another_program_is_refused_and_stays_as_it_is(
    desk: Desk, waiting: Waiting, words: list[str]
) -> None:
    """Nobody counts its tables: `PRAGMA user_version` is 0, as it is in a file that is new."""
    with closing(sqlite3.connect(store(desk) / FILE)) as other:
        other.execute("PRAGMA user_version = 0")
    before = content(store(desk))
    done = desk.run(*words)
    assert done.code != 0
    said = " ".join(f"{done.stdout} {done.stderr}".split())
    assert "is a database of another program; nothing was changed" in said
    assert "move it away, or set storage.path in planwright.toml to another folder" in said
    assert content(store(desk))[FILE] == before[FILE]


@pytest.mark.parametrize("name", ["backup", "backup.tar.gz"])
def test_a_backup_brings_back_what_was_there(desk: Desk, waiting: Waiting, name: str) -> None:
    assert desk.run("db", "backup", name).code == 0
    assert desk.run("approve", waiting.gate_id).code == 0
    done = desk.run("db", "restore", name)
    assert done.code == 0, done.stderr
    (kept,) = store(desk).glob("before-*")
    assert str(kept) in done.stdout
    assert desk.rows("SELECT status FROM runs") == [("waiting",)]
    assert desk.rows("SELECT status FROM runs", f".planwright/{kept.name}/planwright.db") == [("completed",)]
    assert "the store lacks 1 effect that was begun: files.write on thread" in done.stdout
    assert "nothing is begun until you have said go: planwright db accept" in done.stdout


@pytest.mark.long
def test_a_store_that_was_put_back_waits_for_a_person(desk: Desk, waiting: Waiting) -> None:
    assert desk.run("db", "backup", "backup").code == 0
    assert desk.run("db", "accept").stdout == "the store lacks nothing that was begun\n"
    assert desk.run("approve", waiting.gate_id).code == 0
    (desk.folder / "note.md").unlink()
    shutil.copy(desk.folder / "backup" / FILE, store(desk) / FILE)  # by hand
    for words in (["approve", waiting.gate_id], ["resume", "last"], ["run", "What time is it?"]):
        refused = desk.run(*words)
        assert (refused.code, "planwright db accept" in refused.stderr) == (2, True), refused.stderr
    for words in (["db", "check"], ["doctor"]):
        assert "the store lacks 1 effect that was begun" in desk.run(*words).stdout
    migrated = desk.run("db", "migrate", "--to", "postgresql://127.0.0.1:1/x")
    assert (migrated.code, "planwright db accept" in migrated.stderr) == (2, True)
    assert desk.run("show", "last").code == 0
    shown = desk.run("db", "accept")
    lacking = json.loads(desk.run("db", "accept", "--json").stdout)
    assert (shown.code, lacking["effects"][0]["run_id"]) == (3, waiting.run_id)
    assert lacking["effects"][0]["key"] in shown.stdout
    assert f"planwright db accept {lacking['id']}" in shown.stdout
    assert desk.run("db", "accept", "0").code == 2
    assert not (desk.folder / "note.md").exists()


@pytest.mark.long
def test_effects_that_a_store_lacked_are_asked_about_after_a_person_said_go(
    desk: Desk, waiting: Waiting
) -> None:
    assert desk.run("db", "backup", "backup").code == 0
    assert desk.run("approve", waiting.gate_id).code == 0
    (desk.folder / "note.md").unlink()
    assert desk.run("db", "restore", "backup").code == 0
    effect = json.loads(desk.run("db", "accept", "--json").stdout)
    done = desk.run("db", "accept", effect["id"])
    assert (done.code, "1 of open runs" in done.stdout) == (0, True), done.stderr
    assert f"planwright resume {waiting.thread_id}" in done.stdout
    assert desk.run("db", "check").code == 0
    assert desk.run("approve", waiting.gate_id).code == 3
    assert not (desk.folder / "note.md").exists()
    key = effect["effects"][0]["key"]
    assert desk.run("respond", waiting.thread_id, "--not-happened", key[:8]).code == 0
    assert (desk.folder / "note.md").read_text("utf-8") == "hello"
    assert desk.run("db", "check").code == 0
    assert desk.run("audit", "verify").code == 0
    ((content,),) = desk.rows("SELECT content FROM audit WHERE kind = 'setback' ORDER BY n DESC LIMIT 1")
    assert json.loads(content)["by"] == login_name()


def test_a_mark_that_was_lost_is_brought_along_by_a_restore(desk: Desk, waiting: Waiting) -> None:
    assert desk.run("db", "backup", "backup").code == 0
    assert desk.run("approve", waiting.gate_id).code == 0
    shutil.rmtree(store(desk) / "owners")
    assert "the store lacks 1 effect" in desk.run("db", "restore", "backup").stdout


def test_a_damaged_log_is_found_and_kept(desk: Desk, waiting: Waiting) -> None:
    path = store(desk) / FILE
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA wal_autocheckpoint=0")
    for number in range(9):
        connection.execute("UPDATE runs SET lease_token = ?", (number,))
    log = path.with_name(f"{FILE}-wal")
    killed, data = path.read_bytes(), bytearray(log.read_bytes())  # as a process leaves them that is killed
    connection.close()
    data[len(data) // 2] ^= 1
    path.write_bytes(killed)
    log.write_bytes(data)
    assert "its log is damaged" in desk.run("db", "check").stdout
    assert log.read_bytes() == data
    assert desk.run("doctor").code == 0
    (copy,) = store(desk).glob(f"{FILE}-wal.damaged-*")
    assert copy.read_bytes() == data
    checked = desk.run("db", "check")
    assert (checked.code, copy.name in checked.stdout) == (0, True), checked.stdout


def test_a_backup_is_for_its_owner_alone(desk: Desk, waiting: Waiting) -> None:
    desk.run("db", "backup", "b")
    desk.run("db", "backup", "b.tar")
    folder = desk.folder / "b"
    modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()}
    assert modes | {stat.S_IMODE((desk.folder / "b.tar").stat().st_mode)} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(desk.folder.stat().st_mode) & 0o077


def test_nothing_is_overwritten(desk: Desk, waiting: Waiting) -> None:
    (desk.folder / "here").mkdir()
    for words in (["backup", "here"], ["export", "all", "here"], ["export", "runs", "planwright-is-here"]):
        (desk.folder / words[-1]).mkdir(exist_ok=True)
        assert "is there already" in refusal(desk.run("db", *words))
    assert list((desk.folder / "here").iterdir()) == []


@pytest.mark.parametrize("spoil", ["a byte", "the list", "a folder"])
def test_what_is_no_whole_backup_is_refused_and_changes_nothing(
    desk: Desk, waiting: Waiting, spoil: str
) -> None:
    desk.run("db", "backup", "b")
    path = desk.folder / "b" / "planwright.db"
    if spoil == "a byte":
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
    elif spoil == "the list":
        (path.parent / "backup.json").unlink()
    else:
        shutil.rmtree(path.parent)
        path.parent.mkdir()
    before = content(store(desk))
    assert "is no whole backup" in refusal(desk.run("db", "restore", "b"))
    assert content(store(desk)) == before


def test_a_damaged_store_can_be_restored(desk: Desk, waiting: Waiting) -> None:
    desk.run("db", "backup", "b")
    (store(desk) / FILE).write_bytes(b"no database any more")
    said = refusal(desk.run("ls"))
    assert "planwright db restore" in said
    assert desk.run("db", "restore", "b").code == 0
    assert desk.run("ls", "--json").json["total"] == 1


@pytest.mark.parametrize("words", [["restore", "b"], ["vacuum"]])
def test_nothing_is_moved_while_a_process_works_on_a_run(
    desk: Desk, waiting: Waiting, words: list[str]
) -> None:
    desk.run("db", "backup", "b")
    owners = Owners(store(desk) / "owners")
    desk.change(f"UPDATE runs SET owner = '{owners.me()}', lease_until = 600")
    said = refusal(desk.run("db", *words))
    assert f"run {waiting.run_id} is being worked on by process {os.getpid()}" in said
    assert not list(store(desk).glob("before-*"))


def test_nothing_is_restored_while_a_program_has_the_store_open(desk: Desk, waiting: Waiting) -> None:
    desk.run("db", "backup", "b")
    with closing(sqlite3.connect(store(desk) / FILE)) as other:
        other.execute("SELECT count(*) FROM writes").fetchone()
        assert "has" in (said := refusal(desk.run("db", "restore", "b")))
    assert "planwright.db open" in said
    assert desk.run("db", "restore", "b").code == 0


def test_vacuum_gives_space_back_and_memories_are_still_found(desk: Desk) -> None:
    assert desk.run("run", "Remember that invoices go to Ada", "--no-input").code == 3
    assert desk.run("approve").code == 0
    desk.change("CREATE TABLE ballast AS SELECT zeroblob(100000) FROM journal")
    desk.change("DROP TABLE ballast")
    done = desk.run("db", "vacuum", "--json").json
    assert done[0]["file"] == "planwright.db"
    assert done[0]["after"] < done[0]["before"]
    assert desk.run("db", "check").code == 0
    (row,) = desk.rows("SELECT text FROM memories_fts WHERE memories_fts MATCH 'invoices'")
    assert "Ada" in row[0]


def test_old_checkpoints_are_removed_and_the_gate_stays(desk: Desk, waiting: Waiting) -> None:
    before = len(desk.rows("SELECT 1 FROM checkpoints"))
    gone = desk.run("db", "prune", "--keep", "1", "--json").json["removed"]
    assert gone > 0
    assert len(desk.rows("SELECT 1 FROM checkpoints")) == before - gone
    assert desk.run("db", "check").code == 0
    assert desk.run("approve", waiting.gate_id).code == 0
    assert "checkpoints removed" in desk.run("db", "prune").stdout


def test_tables_are_listed(desk: Desk, waiting: Waiting) -> None:
    rows = {row["table"]: row for row in desk.run("db", "tables", "--json").json}
    assert rows["runs"]["rows"] == 1
    assert rows["runs"]["columns"][:2] == ["run_id", "thread_id"]
    assert rows["writes"]["file"] == FILE
    assert "contents" in desk.run("db", "tables").stdout


def test_a_query_reads_records_and_checkpoints(desk: Desk, waiting: Waiting) -> None:
    sql = "SELECT r.status, count(*) AS points FROM runs r JOIN checkpoints USING (thread_id)"
    (row,) = desk.run("db", "query", sql, "--json").json["rows"]
    assert row["status"] == "waiting"
    assert row["points"] > 3
    printed = desk.run("db", "query", "SELECT run_id, request AS 'a,b' FROM runs", "--csv").stdout
    assert list(csv.reader(io.StringIO(printed))) == [
        ["run_id", "a,b"],
        [waiting.run_id, "Save hello to note.md"],
    ]


def test_a_query_prints_as_many_rows_as_it_may_and_says_that_there_are_more(
    desk: Desk, waiting: Waiting
) -> None:
    done = desk.run("db", "query", "SELECT seq FROM journal ORDER BY seq", "--limit", "2")
    assert done.stdout.split() == ["seq", "1", "2"]
    assert "there are more" in done.stderr


WRITES = (
    "DELETE FROM runs",
    "UPDATE gates SET status = 'approved'",
    "INSERT INTO threads VALUES ('a', 'b', 'c')",
    "DROP TABLE runs",
    "CREATE TEMP TABLE x (a)",
    "ATTACH 'other.db' AS other",
    "ATTACH ':memory:' AS other",
    "DETACH saver",
    "VACUUM INTO 'copy.db'",
    "PRAGMA query_only = 0",
    "PRAGMA writable_schema = 1",
    "BEGIN IMMEDIATE",
    "REINDEX",
    "ANALYZE",
    "SELECT 1; DELETE FROM runs",
    "WITH x AS (SELECT 1) DELETE FROM runs",
    "SELECT load_extension('x')",
    "INSERT INTO memories_fts (memories_fts) VALUES ('rebuild')",
    "SELECT * FROM pragma_database_list",
    "",
)


@pytest.mark.parametrize("sql", WRITES)
def test_a_query_changes_nothing(desk: Desk, waiting: Waiting, sql: str) -> None:
    before, files = content(store(desk)), set(desk.folder.iterdir())
    assert desk.run("db", "query", sql).code == 2
    assert content(store(desk)) == before
    assert set(desk.folder.iterdir()) == files


def test_a_query_that_cannot_be_read_says_where_to_look(desk: Desk, waiting: Waiting) -> None:
    assert "planwright db tables" in refusal(desk.run("db", "query", "SELECT nothing FROM nowhere"))


def test_a_secret_comes_out_of_no_table(desk: Desk, waiting: Waiting) -> None:
    secret = "a-secret-of-some-length"
    desk.settings('[secrets]\nenv = ["DEPLOY_TOKEN"]\n')
    desk.change(f"UPDATE runs SET answer = 'it is {secret}'")
    env = {"DEPLOY_TOKEN": secret}
    shown = [
        desk.run("db", "query", "SELECT * FROM runs", *how, env=env).printed
        for how in ([], ["--json"], ["--csv"])
    ]
    desk.run("db", "export", "runs", "r.json", "--format", "json", env=env)
    shown.append((desk.folder / "r.json").read_text("utf-8"))
    assert [text for text in shown if secret in text] == []
    assert all("[REDACTED DEPLOY_TOKEN]" in text for text in shown)


@pytest.mark.parametrize("shape", ["csv", "json", "ndjson"])
def test_all_tables_are_exported(desk: Desk, waiting: Waiting, shape: str) -> None:
    assert desk.run("db", "export", "all", "out", "--format", shape).code == 0
    text = (desk.folder / "out" / f"journal.{shape}").read_text("utf-8")
    if shape == "csv":
        rows = list(csv.DictReader(io.StringIO(text)))
    else:
        rows = json.loads(text) if shape == "json" else [json.loads(line) for line in text.splitlines()]
    assert [row["type"] for row in rows][:2] == ["run_start", "user_message"]
    assert (desk.folder / "out" / f"checkpoints.{shape}").is_file()


def test_a_table_that_is_not_there_is_named(desk: Desk, waiting: Waiting) -> None:
    assert "there is no table nope" in refusal(desk.run("db", "export", "nope", "x.csv"))


@pytest.fixture
def two_times(desk: Desk, waiting: Waiting) -> Waiting:
    """Keep the store as it is while a run waits; then approve it, and begin another."""
    shutil.copytree(store(desk), desk.folder / "then")
    assert desk.run("approve", waiting.gate_id).code == 0
    return ask(desk.folder, "Save hi to later.md")


def put(desk: Desk, part: str) -> None:
    """Put records, or checkpoints, of the earlier time in place."""
    then, now = desk.folder / "then" / FILE, store(desk) / FILE
    for path in (then, now):
        with closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    if part == "checkpoints":
        put_checkpoints(then, now)
        return
    shutil.copy(now, desk.folder / "now.db")
    for side in ("-wal", "-shm"):
        now.with_name(now.name + side).unlink(missing_ok=True)
    shutil.copy(then, now)
    put_checkpoints(desk.folder / "now.db", now)


def test_records_older_than_the_checkpoints_are_told_and_run_nothing(
    desk: Desk, waiting: Waiting, two_times: Waiting
) -> None:
    put(desk, "records")
    (desk.folder / "note.md").unlink()
    for words in (["approve", waiting.gate_id], ["resume", waiting.thread_id]):
        said = refusal(desk.run(*words))
        assert "the records of this thread are older than its checkpoints: they lack the end of run" in said
        assert "planwright db check" in said
    assert "there is no thread or run" in refusal(desk.run("resume", two_times.thread_id))
    assert not (desk.folder / "note.md").exists()
    found = desk.run("db", "check")
    assert found.code == 1
    assert "the records are older than the checkpoints" in found.stdout


def test_checkpoints_older_than_the_records_are_told(
    desk: Desk, waiting: Waiting, two_times: Waiting
) -> None:
    put(desk, "checkpoints")
    found = desk.run("db", "check")
    assert found.code == 1
    assert "the checkpoints are older than the records" in found.stdout
    assert two_times.run_id in found.stdout


def test_effects_of_a_run_without_a_checkpoint_are_not_repeated(
    desk: Desk, waiting: Waiting, two_times: Waiting
) -> None:
    put(desk, "checkpoints")
    desk.change(f"UPDATE effects SET run_id = '{two_times.run_id}'")
    said = refusal(desk.run("resume", two_times.thread_id))
    assert "the checkpoints of this thread are older than its records" in said


def test_a_run_that_was_cancelled_from_outside_is_no_finding(desk: Desk, waiting: Waiting) -> None:
    assert desk.run("cancel", waiting.thread_id).code == 0
    done = desk.run("db", "check", "--json")
    assert (done.code, done.json) == (0, {"healthy": True, "findings": []})
    assert desk.run("run", "--thread", waiting.thread_id, "--no-input", "List the files").code == 0
    assert desk.run("db", "check", "--json").json == {"healthy": True, "findings": []}
