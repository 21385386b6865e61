"""Refusals: calls that a person said no to, or that nobody decided over in time."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from pydantic import JsonValue

from planwright.domain.chain import CREATE_CHAIN
from planwright.store.database import Database

_Card: TypeAlias = dict[str, Any]
_SOURCE = "SELECT source_run FROM forks WHERE run_id = ? AND undo = 0"
_REFUSED = """SELECT status, decided_by, reason, shown, by_call FROM gates WHERE run_id = ? AND kind = 'step'
    AND (status IN ('rejected', 'expired') OR by_call IS NOT NULL) ORDER BY rowid"""
# A chain is gone with its run: making one changes nothing. An effect that failed was not refused.
_BEGUN = f"SELECT 1 FROM effects WHERE run_id = ? AND capability != '{CREATE_CHAIN}'"
_DONE = "SELECT 1 FROM steps WHERE run_id = ? AND status = 'completed'"


@dataclass(frozen=True)
class RefusedCall:
    """One call that was not made, and who said so; nobody where its time ran out."""

    capability: str
    """Name of the capability that was not called."""
    effect: str
    """Effect class of the call."""
    status: Literal["rejected", "expired"]
    """Whether a person said no, or nobody answered in time."""
    by: str = ""
    """Who said no; "" where the time ran out."""
    reason: str = ""
    """Why, in that person's words; "" for none."""

    def __str__(self) -> str:
        if self.status == "expired":
            return f"{self.capability} was not done: nobody decided in time."
        because = f": {self.reason}" if self.reason else ""
        return f"{self.capability} was rejected by {self.by}{because}."


class Refusals:
    """Read from the records whether a run was kept from all that it was for."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_all_effects(self, run_id: str, *, asks: bool = False) -> list[RefusedCall]:
        """List what was refused in a run that did nothing else but reading; empty for any other run.

        Refused reads alone count only where nothing at all was done, as does all that is refused of a run
        that only `asks`: its answer is what it was for, and an effect may be what others' text wanted.
        """

        def job(connection: sqlite3.Connection) -> list[RefusedCall]:
            rows = connection.execute(_REFUSED, (run_id,)).fetchall()
            refused = [entry for row in rows for _, entry in _refused(row)]
            if not refused or connection.execute(_BEGUN, (run_id,)).fetchone():
                return []
            if asks or all(entry.effect == "pure" for entry in refused):
                return [] if connection.execute(_DONE, (run_id,)).fetchone() else refused
            return refused

        return await self._database.read(job, behind=("step",))

    async def of_call(
        self, run_id: str, capability: str, args: Mapping[str, JsonValue], *, sources: bool = True
    ) -> RefusedCall | None:
        """Find out whether a call was refused in a run, or in those it was forked from; the first that was.

        `args` are its whole arguments.
        """

        def job(connection: sqlite3.Connection) -> RefusedCall | None:
            run: str | None = run_id
            while run:
                for row in connection.execute(_REFUSED, (run,)):
                    for card, entry in _refused(row):
                        # not `same`: what equals a refused call, 1.0 for 1, is refused as well
                        for call in _parts(card):
                            if call.get("capability") == capability and call.get("args") == args:
                                return replace(entry, capability=capability, effect=str(call.get("effect")))
                source = connection.execute(_SOURCE, (run,)).fetchone() if sources else None
                run = source and str(source[0])
            return None

        return await self._database.read(job, behind=())


def _refused(row: sqlite3.Row) -> Iterator[tuple[_Card, RefusedCall]]:
    """List what a gate refused: the calls of its card that were refused alone, or all of it as one."""
    card, by_call = json.loads(row["shown"]), json.loads(row["by_call"] or "[]")
    if not by_call:
        yield card, _refusal(row, card, row["status"], row["reason"])
    for call, over in zip(card.get("calls") or [card], by_call, strict=False):
        if over["answer"] == "reject":
            yield call, _refusal(row, call, "rejected", over["reason"])


def _parts(card: _Card) -> Iterator[_Card]:
    """List the calls that a card asked about, and those of the chains among them."""
    for call in card.get("calls") or [card]:
        yield call
        yield from (part for part in call.get("steps") or () if part.get("mode") != "read_only")


def ends_with(refused: list[RefusedCall]) -> Literal["rejected", "expired"]:
    """Name how a run ends whose every effect was refused: a person's no counts more than no answer."""
    return "rejected" if any(entry.status == "rejected" for entry in refused) else "expired"


def _refusal(
    row: sqlite3.Row, card: _Card, status: Literal["rejected", "expired"], reason: str | None
) -> RefusedCall:
    return RefusedCall(
        capability=str(card.get("capability")),
        effect=str(card.get("effect")),
        status=status,
        by=row["decided_by"] or "",
        reason=reason or "",
    )
