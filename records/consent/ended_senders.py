"""What a card shows as still being sent, once it is not: whoever answers by that card looked too early."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import datetime

from pydantic import JsonValue

from planwright.domain.doubt import Doubt
from planwright.domain.errors import GateError
from planwright.domain.hashing import canonical_json, sha256
from planwright.records.consent.acceptance import decided_effects
from planwright.records.consent.gate import Decision, Gate
from planwright.records.effects.doubts import doubts_of
from planwright.store.audit_chain import append_row
from planwright.store.sealed_rows import GATES


def look_again(
    connection: sqlite3.Connection, gate: Gate, decision: Decision, at: datetime
) -> GateError | None:
    """Refuse to take "it did not happen" of effects whose sender has ended since the card was made.

    They may have happened between the look and the answer. The card then shows them as they are now, so that
    the next answer counts. None where the answer may be taken. Raises GateError like `decided_effects`.
    """
    sent = {doubt.key for doubt in gate.doubts if doubt.still_sent_by}
    if not sent:
        return None
    denied = {answer.key for answer in decided_effects(gate, decision) if not answer.happened}
    ended = [
        doubt
        for doubt in doubts_of(connection, gate.run_id)
        if doubt.key in sent & denied and not doubt.still_sent_by
    ]
    if not ended:
        return None
    _show_anew(connection, gate, {doubt.key: doubt for doubt in ended}, at)
    names = ", ".join(doubt.name for doubt in ended)
    cause = f"this was still being sent when it was shown, and has ended since: {names}"
    return GateError(cause, "look again whether it happened; then decide again")


def _show_anew(connection: sqlite3.Connection, gate: Gate, ended: Mapping[str, Doubt], at: datetime) -> None:
    """Put effects on the card of a gate as they are now; the hash that an answer may name stays."""
    effects: list[JsonValue] = [ended.get(doubt.key, doubt).model_dump(mode="json") for doubt in gate.doubts]
    card = {**gate.card, "effects": effects}
    connection.execute(
        "UPDATE gates SET shown=?, card_hash=? WHERE gate_id=?",
        (canonical_json(card), sha256(card), gate.gate_id),
    )
    append_row(connection, "gate", GATES, gate.gate_id, at)
