"""Pages of effects: what was done outside, in which run, on whose word, and what of it is in doubt."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from planwright.records.effects.doubts import DOUBTFUL
from planwright.records.history.rows import Row, count_of, rows_of

_OF_TENANT = "e.tenant = :tenant"
_TEXT = """(instr(lower(e.capability), lower(:text)) > 0 OR instr(lower(e.args), lower(:text)) > 0
    OR substr(e.key, 1, length(:text)) = :text)"""
_DOUBTFUL = f"e.rowid IN (SELECT e.rowid FROM effects e WHERE {_OF_TENANT} AND {DOUBTFUL})"
_STATUS = {"": "", "in_doubt": _DOUBTFUL}
_PAGE = f"""SELECT e.key, e.run_id, e.step_uid, e.capability, e.effect, e.args, e.status, e.result, e.error,
    e.intended_at, e.ended_at, r.status AS run_status, r.ended_at AS run_ended,
    ({DOUBTFUL}) AS doubtful,
    (SELECT g.decided_by || ' via ' || coalesce(g.channel, '') FROM gates g WHERE g.run_id = e.run_id
     AND g.status = 'approved' AND (g.step_uid = e.step_uid OR g.kind = 'plan')
     ORDER BY g.kind = 'plan', g.rowid DESC LIMIT 1) AS approved_by,
    (SELECT c.run_id FROM compensations c WHERE c.source_run = e.run_id AND c.effect_key = e.key
     ORDER BY c.rowid DESC LIMIT 1) AS undone_by
    FROM effects e JOIN runs r ON r.run_id = e.run_id
    WHERE e.rowid IN (SELECT e.rowid FROM effects e WHERE {{where}}
        ORDER BY e.rowid DESC LIMIT :limit OFFSET :skipped) ORDER BY e.rowid DESC"""
_COUNT = "SELECT count(*) FROM effects e WHERE {where}"
_IN_DOUBT = f"SELECT count(*) FROM effects e WHERE e.tenant = ? AND {DOUBTFUL}"


@dataclass(frozen=True)
class EffectFilter:
    """Which effects are wanted; what is "" matters to nobody."""

    tenant: str
    """Tenant that they belong to."""
    text: str = ""
    """Words in capability or arguments, or the beginning of a key."""
    status: str = ""
    """Status that they have; `in_doubt` is also an intent that nobody will hear of any more."""


@dataclass(frozen=True)
class EffectPage:
    """One page of effects."""

    rows: Sequence[Row]
    """Effects of the page, the newest first."""
    total: int
    """How many effects there are on all pages."""
    in_doubt: int
    """How many effects of the tenant are in doubt."""


def effect_page(connection: sqlite3.Connection, wanted: EffectFilter, limit: int, skipped: int) -> EffectPage:
    """Read a page of at most `limit` effects, after the `skipped` newest."""
    place = {**vars(wanted), "limit": limit, "skipped": skipped}
    conditions = _OF_TENANT, _STATUS.get(wanted.status, "e.status = :status"), _TEXT if wanted.text else ""
    where = " AND ".join(filter(None, conditions))
    return EffectPage(
        list(rows_of(connection, _PAGE.format(where=where), place)),
        count_of(connection, _COUNT.format(where=where), place),
        count_of(connection, _IN_DOUBT, (wanted.tenant,)),
    )
