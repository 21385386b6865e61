"""One end for limits: a person is asked for more, or the run is put down until it is given more."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.errors import GraphInterrupt
from pydantic import JsonValue

from planwright.approvals.gate import GateQuestion, emit_request, open_gate, wait_for_decision
from planwright.domain.errors import BudgetExceeded
from planwright.domain.hashing import sha256
from planwright.domain.shortage import Shortage
from planwright.presentation.figures import UNIT_WORDS
from planwright.records.consent.gate import EXTEND, Gate, gate_id
from planwright.records.effects.run_deeds import deeds_of
from planwright.records.stores import Stores
from planwright.settings.profile import RunProfile, with_more
from planwright.settings.settings import Settings
from planwright.state.invocation import Invocation

PAGES = ("server", "web")
"""Channels of pages: who sees the run there can answer its gates."""


class LimitGates:
    """Ask for more where a limit of a run is reached, once for each amount of it."""

    def __init__(self, stores: Stores, settings: Settings) -> None:
        self._stores = stores
        self._settings = settings

    async def more_of(self, profile: RunProfile, invocation: Invocation, error: BudgetExceeded) -> bool:
        """Say whether a person has given more of what is spent; it is in force in the run then.

        `profile` is what is in force where nobody has given more. Where nobody can be asked, and where nobody
        has answered in time, the run is put down. A limit that a run cannot be given more of stays.
        """
        shortage, gates = error.shortage, self._stores.gates
        if shortage is None:
            return False
        if not is_attended(invocation):
            invocation.put_down(error)
        id_ = gate_id(invocation.run_id, "limit", f"{shortage.unit}:{shortage.most:g}")
        gate = await self._opened(id_, error, shortage, invocation)
        if gate.status == "open" and id_ in invocation.limits_asked:
            raise GraphInterrupt(())  # a call beside this one asks
        invocation.limits_asked.add(id_)
        gate = await wait_for_decision(gates, id_, invocation)
        invocation.limits_asked.discard(id_)
        if gate.status == "expired":
            invocation.put_down(error)
        if gate.status != "approved":
            return False
        invocation.profile = with_more(profile, (await self._stores.runs.requests(invocation.lease)).extended)
        return True

    async def _opened(
        self, id_: str, error: BudgetExceeded, shortage: Shortage, invocation: Invocation
    ) -> Gate:
        """Open the gate that asks for more, once, and read how it stands."""
        if invocation.has_sent("approval_requested", id_):
            return await self._stores.gates.read(id_)
        card = limit_card(error, shortage, await deeds_of(invocation.run_id, self._stores))
        question = GateQuestion(id_, card, sha256(card), "limit")
        row = open_gate(invocation, self._settings, question)
        gate = await self._stores.gates.open(row, invocation.lease)
        emit_request(gate, invocation)
        return gate


def is_attended(invocation: Invocation) -> bool:
    """Say whether somebody waits for the run who can be asked: at a terminal or a page.

    A caller who says how long a gate stays open waits for it; a run in the background has nobody.
    """
    context = invocation.context
    return not invocation.in_session and (context.gate_ttl_s is not None or context.channel in PAGES)


def limit_card(error: BudgetExceeded, shortage: Shortage, deeds: Sequence[str]) -> dict[str, JsonValue]:
    """Show the limit that is reached, how much more is asked for, and what was done so far."""
    words, more = UNIT_WORDS[shortage.unit], shortage.offered
    args: dict[str, JsonValue] = {"unit": shortage.unit, "amount": more}
    return {
        "capability": EXTEND,
        "step_id": "limit",
        "description": f"the limit of {shortage.most:,g} {words} is reached; {more:,g} more?",
        "args": args | ({"done_so_far": list(deeds)} if deeds else {}),
        "limit": {"setting": error.limit, "unit": shortage.unit, "amount": more},
        "reason": error.cause,
        "risk": "None",
        "mode": "read_only",
        "effect": "pure",
    }
