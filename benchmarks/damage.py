"""Ways in which a store gets damaged: by a disk, by hand, by a restore of one file, by a forger."""

from __future__ import annotations

import json
import pickle
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import ormsgpack

RECORDS = "planwright.db"
FILES = (RECORDS,)
OF_CHECKPOINTS = ("checkpoints", "writes", "contents")
Damage = Callable[[Path, Path, random.Random], str]


def flip_bytes(store: Path, _: Path, dice: random.Random) -> str:
    """Change some bytes of a file."""
    path = store / dice.choice(FILES)
    data = bytearray(path.read_bytes())
    places = [dice.randrange(len(data)) for _ in range(dice.choice((1, 1, 2, 8, 64)))]
    for place in places:
        data[place] ^= dice.randrange(1, 256)
    path.write_bytes(data)
    return f"{path.name} at {places[:4]}"


def zero_page(store: Path, _: Path, dice: random.Random) -> str:
    """Fill a page with zeros, or with what another page holds."""
    path = store / dice.choice(FILES)
    data = bytearray(path.read_bytes())
    page, other = (dice.randrange(len(data) // 4096) * 4096 for _ in range(2))
    data[page : page + 4096] = bytes(4096) if dice.random() < 0.7 else data[other : other + 4096]
    path.write_bytes(data)
    return f"{path.name} page {page // 4096}"


def truncate(store: Path, _: Path, dice: random.Random) -> str:
    """Cut a file short, make it empty, or add to it."""
    path = store / dice.choice(FILES)
    size = path.stat().st_size
    if dice.random() < 0.2:
        with path.open("ab") as file:
            file.write(dice.randbytes(dice.randrange(1, 9000)))
        return f"{path.name} grown"
    left = dice.choice((0, dice.randrange(size), dice.randrange(size) // 4096 * 4096))
    with path.open("rb+") as file:
        file.truncate(left)
    return f"{path.name} to {left}"


def lose_log(store: Path, _: Path, dice: random.Random) -> str:
    """Lose the write-ahead log of a file that was not closed, its index, or a part of it."""
    name, side = dice.choice(FILES), dice.choice(("-wal", "-wal", "-shm"))
    for other in FILES:
        for kind in ("-wal", "-shm"):
            shutil.copy(store / "unclosed" / f"{other}{kind}", store / f"{other}{kind}")
        shutil.copy(store / "unclosed" / other, store / other)
    path = store / f"{name}{side}"
    if side == "-wal" and dice.random() < 0.5:
        data = path.read_bytes()
        path.write_bytes(data[: dice.randrange(len(data))])
        return f"{path.name} cut"
    path.unlink()
    return f"{path.name} gone"


def mix_times(store: Path, earlier: Path, dice: random.Random) -> str:
    """Put the tables of the checkpoints, or all others, of an earlier time in place; or lose the file."""
    part = dice.choice(("checkpoints", "records", "lost"))
    if part == "lost":
        (store / RECORDS).unlink()
        return f"{RECORDS} gone"
    moment = dice.choice(sorted(earlier.iterdir()))
    if part == "records":
        shutil.copy(store / RECORDS, store / "now")
        shutil.copy(moment / RECORDS, store / RECORDS)
    source = moment / RECORDS if part == "checkpoints" else store / "now"
    put_checkpoints(source, store / RECORDS)
    return f"{part} of {moment.name}"


def put_checkpoints(source: Path, target: Path) -> None:
    """Put the checkpoints of one store in the place of those of another."""
    with closing(sqlite3.connect(target)) as db:
        db.execute("ATTACH ? AS source", (str(source),))
        for table in OF_CHECKPOINTS:
            db.execute(f"DELETE FROM main.{table}")
            db.execute(f"INSERT INTO main.{table} SELECT * FROM source.{table} ORDER BY rowid")
        db.commit()


def _lift_guards(db: sqlite3.Connection) -> None:
    """Take away the triggers that keep tables as they are: what damages a file asks none of them."""
    for (trigger,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        if trigger.endswith(("_stay", "_stays", "_remain", "_remains")):
            db.execute(f"DROP TRIGGER {trigger}")


def lose_rows(store: Path, _: Path, dice: random.Random) -> str:
    """Delete rows, columns or tables."""
    name = dice.choice(FILES)
    with closing(sqlite3.connect(store / name)) as db, db:
        _lift_guards(db)
        table = dice.choice(_tables(db))
        kind = dice.choice(("row", "row", "rows", "column", "table"))
        if kind == "row":
            db.execute(f"DELETE FROM {table} WHERE rowid = {_any_row(db, table, dice)}")
        elif kind == "rows":
            db.execute(f"DELETE FROM {table}")
        elif kind == "table":
            db.execute(f"DROP TABLE {table}")
        else:
            column = dice.choice(_columns(db, table))
            db.execute(f"ALTER TABLE {table} RENAME COLUMN {column} TO lost")
            table = f"{table}.{column}"
    return f"{name}: {kind} of {table}"


def spoil_values(store: Path, _: Path, dice: random.Random) -> str:
    """Write nonsense into a value: broken JSON, no UTF-8, another type, nothing."""
    nonsense = ('{"a": ', "[]", "null", "NaN", '"\\ud800"', "", "x" * 70_000, "[" * 3000, -1, 2**62, 1.5e300)
    name = dice.choice(FILES)
    with closing(sqlite3.connect(store / name)) as db, db:
        table = dice.choice(_tables(db))
        _lift_guards(db)
        column = dice.choice(_columns(db, table))
        value = dice.choice((*nonsense, b"\xff\xfe\x00", None))
        put = "CAST(? AS TEXT)" if isinstance(value, bytes) and dice.random() < 0.7 else "?"
        db.execute(
            f"UPDATE OR IGNORE {table} SET {column} = {put} WHERE rowid = {_any_row(db, table, dice)}",
            (value,),
        )
    return f"{name}: {table}.{column} = {str(value)[:12]}"


def forge(store: Path, _: Path, dice: random.Random) -> str:
    """Name a harmful class in a checkpoint, in each format that LangGraph has ever read."""
    kind, payload = dice.choice(_forgeries())
    with closing(sqlite3.connect(store / RECORDS)) as db, db:
        table, column = dice.choice((("checkpoints", "checkpoint"), ("writes", "value")))
        where = dice.choice(("1", f"rowid = (SELECT max(rowid) FROM {table})"))
        db.execute(f"UPDATE {table} SET type = ?, {column} = ? WHERE {where}", (kind, payload))
        if dice.random() < 0.3:
            db.execute("UPDATE checkpoints SET metadata = ?", (payload,))
    return f"{table}: {kind}"


def spoil_blobs(store: Path, _: Path, dice: random.Random) -> str:
    """Change or lose a blob."""
    path = dice.choice(sorted(path for path in (store / "blobs").rglob("*") if path.is_file()))
    if dice.random() < 0.4:
        path.unlink()
        return "gone"
    data = bytearray(path.read_bytes())
    data[dice.randrange(len(data))] ^= 1
    path.write_bytes(data)
    return "changed"


def other_file(store: Path, _: Path, dice: random.Random) -> str:
    """Put another file in place: no database, one of another program, one of a newer version."""
    name, kind = dice.choice(FILES), dice.choice(("text", "another", "newer", "folder"))
    path = store / name
    if kind == "newer":
        with closing(sqlite3.connect(path)) as db:
            db.execute(f"PRAGMA user_version = {dice.randrange(100, 1000)}")
        return f"{name} newer"
    path.unlink()
    if kind == "text":
        path.write_text("this was a database once")
    elif kind == "folder":
        path.mkdir()
    else:
        with closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE runs (id INTEGER)")
    return f"{name} {kind}"


DAMAGES: dict[str, Damage] = {
    "bytes flipped": flip_bytes,
    "a page lost": zero_page,
    "cut or grown": truncate,
    "log lost": lose_log,
    "files of two times": mix_times,
    "rows, columns, tables lost": lose_rows,
    "values spoiled": spoil_values,
    "checkpoints forged": forge,
    "blobs spoiled": spoil_blobs,
    "another file": other_file,
}


class Harmful:
    """What a pickle of it does when it is read: it calls the canary."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        from benchmarks.canary_class import sing

        return sing, ("pickle",)


def _forgeries() -> list[tuple[str, bytes]]:
    module, name = "benchmarks.canary_class", "sing"
    single = ormsgpack.packb((module, name, "msgpack"))
    several = ormsgpack.packb((module, name, ("msgpack",)))
    keywords = ormsgpack.packb((module, name, {"name": "msgpack"}))
    method = ormsgpack.packb((module, name, {"name": "msgpack"}, name))
    known = ormsgpack.packb(("langgraph.types", "Send", ("node", ormsgpack.Ext(0, single))))
    coded = enumerate((single, several, keywords, method, keywords, keywords))
    packed = [ormsgpack.Ext(code, data) for code, data in (*coded, (1, known))]
    state = {"v": 4, "id": "x", "ts": "", "channel_versions": {}, "versions_seen": {}}
    inside = {**state, "channel_values": {"messages": packed[0]}}
    constructor = {"lc": 2, "type": "constructor", "id": [*module.split("."), name], "args": ["json"]}
    return [
        *(("msgpack", ormsgpack.packb(value)) for value in (*packed, inside)),
        ("pickle", pickle.dumps(Harmful())),
        ("json", json.dumps(constructor).encode()),
    ]


def _any_row(db: sqlite3.Connection, table: str, dice: random.Random) -> int:
    rows: list[int] = [row[0] for row in db.execute(f"SELECT rowid FROM {table} ORDER BY rowid")]
    return dice.choice(rows)


def _tables(db: sqlite3.Connection) -> list[str]:
    query = (
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'memories_fts%' ORDER BY name"
    )
    filled = [row[0] for row in db.execute(query)]
    return [name for name in filled if db.execute(f"SELECT count(*) FROM {name}").fetchone()[0]]


def _columns(db: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
