"""Compare the audit chain with the store, by reading alone: what was changed, removed or added, by name."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError

from planwright.domain.errors import RunError
from planwright.records.audit.differences import first_difference
from planwright.records.audit.missing_rows import missing_rows
from planwright.records.audit.sealing import Seal, seal_of
from planwright.store.audit_chain import BEGIN, Entry, entries
from planwright.store.sealed_rows import EFFECTS, GATES, LAYOUT, TABLES, SealedTable

WATCHED: Mapping[str, SealedTable] = {"gate": GATES, "effect": EFFECTS}


@dataclass(frozen=True)
class AuditFinding:
    """One thing that is not as it was recorded."""

    run_id: str
    """Id of the run that it is about; "" for the chain itself."""
    problem: str
    """What is wrong, and where, in words."""


@dataclass
class _Chain:
    """What the entries say, read once from the first to the last."""

    newest: dict[tuple[str, str], Entry] = field(default_factory=dict)
    """The newest entry about each gate, effect and run, by kind and subject."""
    findings: list[AuditFinding] = field(default_factory=list)
    """What is wrong with the entries themselves."""
    last: tuple[int, str] = (0, BEGIN)
    """Number and hash of the newest entry."""
    hashes: dict[int, str] = field(default_factory=dict)
    """Hash of each entry by its number."""


def verify_chain(
    connection: sqlite3.Connection, anchors: Sequence[tuple[int, str]] = ()
) -> tuple[list[AuditFinding], int]:
    """List all that is not as it was recorded; and count the entries.

    `anchors` are heads of the chain, number and hash, that were kept outside of the store: each has to be
    part of it. Without one nobody can tell whether the newest entries were cut off with their rows.
    """
    chain = _read_chain(connection)
    findings = [*chain.findings, *_off_anchor(chain, anchors)]
    findings += _of_watched(connection, chain)
    for (kind, run_id), entry in chain.newest.items():
        if kind == "run":
            findings += _of_run(connection, run_id, entry)
    findings += _unsealed(connection, chain)
    return findings, chain.last[0]


def _read_chain(connection: sqlite3.Connection) -> _Chain:
    chain = _Chain()
    for entry in entries(connection):
        number, prev_hash = chain.last
        if entry.n != number + 1:
            gap = f"entry {number + 1}" if entry.n == number + 2 else f"entries {number + 1} to {entry.n - 1}"
            chain.findings.append(AuditFinding("", f"{gap} of the chain are missing"))
        elif entry.prev_hash != prev_hash:
            chain.findings.append(
                AuditFinding(entry.run_id, f"entry {entry.n} does not follow the one before")
            )
        if entry.own_hash != entry.hash:
            chain.findings.append(AuditFinding(entry.run_id, f"entry {entry.n} of the chain was changed"))
        chain.newest[entry.kind, entry.subject] = entry
        chain.last, chain.hashes[entry.n] = (entry.n, entry.hash), entry.hash
    return chain


def _off_anchor(chain: _Chain, anchors: Sequence[tuple[int, str]]) -> Iterator[AuditFinding]:
    for number, hash_ in anchors:
        if chain.hashes.get(number) != hash_:
            ends = f"the chain ends at {chain.last[0]}" if number > chain.last[0] else "it has another hash"
            yield AuditFinding("", f"entry {number} is not the one that was anchored: {ends}")


def _of_watched(connection: sqlite3.Connection, chain: _Chain) -> Iterator[AuditFinding]:
    """Look at the rows that have an entry of their own as soon as they change."""
    sealed = {subject for kind, subject in chain.newest if kind == "run"}
    for (kind, subject), entry in chain.newest.items():
        if kind not in WATCHED or entry.run_id in sealed:
            continue
        table, content = WATCHED[kind], _content(entry)
        row = table.row(connection, subject)
        if row is None:
            yield AuditFinding(entry.run_id, f"{kind} {subject} is gone, and entry {entry.n} tells of it")
        elif table.digest(row) != content.get("digest"):
            yield AuditFinding(entry.run_id, f"{kind} {subject} was changed after entry {entry.n}")


def _content(entry: Entry) -> dict[str, object]:
    try:
        content = json.loads(entry.content)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _of_run(connection: sqlite3.Connection, run_id: str, entry: Entry) -> Iterator[AuditFinding]:
    """Compare the rows of a run with its seal, and its record with what follows from them."""
    try:
        sealed = Seal.model_validate_json(entry.content)
    except ValidationError:
        return  # the entry was changed, as is said of it already
    if sealed.layout > LAYOUT:
        yield AuditFinding(run_id, f"its seal has layout {sealed.layout}, and this program knows {LAYOUT}")
        return
    if TABLES["runs"].row(connection, run_id) is None:
        yield AuditFinding(run_id, "the run is gone")
        return
    try:
        now = seal_of(connection, run_id)
    except (ValueError, KeyError, TypeError, RunError, sqlite3.Error) as error:
        yield AuditFinding(run_id, f"a row of it cannot be read: {str(error).splitlines()[0]}")
        now = None
    rows = now.rows if now else {name: t.of_run(connection, run_id) for name, t in TABLES.items()}
    for name in (name for name, table in TABLES.items() if table.since <= sealed.layout):
        yield from _of_rows(run_id, name, sealed.rows.get(name, {}), rows.get(name, {}))
    yield from (AuditFinding(run_id, problem) for problem in missing_rows(connection, run_id))
    if now and sealed.record != now.record:
        was, is_ = (record.model_dump(mode="json") for record in (sealed.record, now.record))
        yield AuditFinding(run_id, f"its record says otherwise: {first_difference(was, is_)}")


def _of_rows(
    run_id: str, table: str, sealed: Mapping[str, str], now: Mapping[str, str]
) -> Iterator[AuditFinding]:
    if TABLES[table].together:
        if sealed != now:
            was, is_ = "".join(sealed) or "no rows", "".join(now) or "no rows"
            changed = "rows were changed" if was == is_ else f"there were {was}, and are {is_}"
            yield AuditFinding(run_id, f"{table}: {changed}")
        return
    for key in sealed.keys() | now.keys():
        if key not in now:
            yield AuditFinding(run_id, f"{table} {key} is gone")
        elif key not in sealed:
            yield AuditFinding(run_id, f"{table} {key} was added after the run had ended")
        elif sealed[key] != now[key]:
            yield AuditFinding(run_id, f"{table} {key} was changed")


def _unsealed(connection: sqlite3.Connection, chain: _Chain) -> Iterator[AuditFinding]:
    """Find runs, answers and effects that no entry tells of."""
    for (run_id,) in connection.execute("SELECT run_id FROM runs WHERE ended_at IS NOT NULL"):
        if ("run", run_id) not in chain.newest:
            yield AuditFinding(run_id, "the run has ended, and no entry seals it")
    for kind, table, where in (("gate", GATES, "status <> 'open'"), ("effect", EFFECTS, "1 = 1")):
        query = f"SELECT {table.key}, run_id, status FROM {table.name} WHERE {where}"
        for key, run_id, status in connection.execute(query):
            if (kind, key) not in chain.newest:
                yield AuditFinding(run_id, f"{kind} {key} is {status}, and no entry tells of it")
