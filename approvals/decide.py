"""Deciding gates by what came in through the door, before LangGraph sees any of it."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from langgraph.types import Command, StateSnapshot

from planwright.approvals.answers.binding import Bound, bind, read_decision
from planwright.approvals.answers.open_gates import gate_meant
from planwright.approvals.review import Reviewer
from planwright.domain.errors import GateError, RunError
from planwright.domain.plan import Plan
from planwright.domain.results import TERMINAL
from planwright.records.consent.gate import STATUS_AFTER, Decision, Gate
from planwright.records.consent.gates import Gates
from planwright.records.runs import Run
from planwright.records.stores import Stores
from planwright.state.agent_state import ModelRoute

MOST_RUNS = 1_000


@dataclass(frozen=True)
class Offered:
    """The gates that were open when a graph of the user's own was resumed."""

    gate_ids: frozenset[str]
    """Ids of the gates of the run."""
    by_id: bool
    """Whether answers came by the ids of interrupts."""

    def means(self, gate: Gate, answer: object) -> bool:
        """Say whether an answer can only be meant for a gate: it names it, or that was the one to answer."""
        named = gate_meant(answer)
        if named is not None or gate.gate_id not in self.gate_ids:
            return named == gate.gate_id
        return self.by_id or len(self.gate_ids) == 1


class ShownGates:
    """The gates of each run that this agent has shown; what others show is not known here."""

    def __init__(self) -> None:
        self._by_run: OrderedDict[str, frozenset[str]] = OrderedDict()

    def show(self, run_id: str, gate_ids: Iterable[str]) -> None:
        """Note what is shown of a run; what was shown before stays."""
        if ids := frozenset(gate_ids):
            self._by_run[run_id] = self._by_run.get(run_id, frozenset()) | ids
            self._by_run.move_to_end(run_id)
            while len(self._by_run) > MOST_RUNS:
                self._by_run.popitem(last=False)

    def check(self, bound: Iterable[Bound]) -> None:
        """Raise GateError for an answer without a name whose gate was opened after what was shown here.

        Somebody else has answered what was shown. An answer that brings the hash of the card it saw names it;
        that of a plan says nothing of the files that its card shows.
        """
        for item in bound:
            gate_id, ids = item.gate.gate_id, self._by_run.get(item.gate.run_id)
            named = item.decision.shown_hash is not None and item.decision.shown_hash == item.gate.card_hash
            if ids is not None and gate_id not in ids and not named:
                cause = f"what was shown here is answered, and gate {gate_id} was opened since"
                raise GateError(cause, f"look at it, then name it in the answer: gate_id {gate_id}")


class Answering:
    """Take answers to gates: read, bound to a gate, reviewed, then on record."""

    def __init__(self, stores: Stores, reviewer: Reviewer) -> None:
        self._stores = stores
        self._reviewer = reviewer
        self.shown_gates = ShownGates()

    async def resume(
        self, answer: object, run: Run, snapshot: StateSnapshot, channel: str
    ) -> Command[str] | None:
        """Decide the gates an answer names, then resume exactly their interrupts."""
        gates = await self._stores.gates.of_thread(run.thread_id)
        interrupts = {interrupt.id: gate_of(interrupt.value) for interrupt in snapshot.interrupts}
        if not gates:
            if run.status == "paused" and await self._is_decided(answer, interrupts, channel):
                return None
            raise await nothing_open(run, interrupts.values(), self._stores.gates)
        if (status := snapshot.values.get("status")) in TERMINAL:
            cause = f"the state of thread {run.thread_id} was changed: it says {status}, and a gate is open"
            raise RunError(cause, f"nothing was done; begin it anew, and: planwright cancel {run.thread_id}")
        if snapshot.values.get("run_id") == run.run_id and not snapshot.tasks:
            cause = (
                f"the state of thread {run.thread_id} was changed: nothing of it comes after this decision"
            )
            raise RunError(cause, f"nothing was decided; end the run: planwright cancel {run.thread_id}")
        bound = bind(answer, gates, interrupts, channel)
        if not _names_gates(answer, {*interrupts, *interrupts.values()}):
            self.shown_gates.check(bound)
        decisions = {item.gate.gate_id: await self._reviewed(item, snapshot) for item in bound}
        await self._stores.gates.decide_all(decisions, self._stores.time.now())
        for gate_id, decision in decisions.items():
            await self._keep(gate_id, decision)
        decided = {gate_id: decision.answer for gate_id, decision in decisions.items()}
        resumed = {id_: decided[gate] for id_, gate in interrupts.items() if gate in decided}
        return Command(resume=resumed) if resumed else None

    async def _is_decided(self, answer: object, interrupts: Mapping[str, str], channel: str) -> bool:
        """Say whether an answer is the one on record: pages show a gate until what it let pass has been done.

        So who answers it once more goes on with a run that waits for its provider. Raises GateError for
        another answer.
        """
        read = [await self._stores.gates.read(gate_id) for gate_id in interrupts.values() if gate_id]
        gates = {gate.gate_id: gate for gate in read}
        as_asked = [gate.model_copy(update={"status": "open", "approvals": ()}) for gate in read]
        for bound in bind(answer, as_asked, interrupts, channel) if as_asked else ():
            gate = gates[bound.gate.gate_id]
            if gate.status != STATUS_AFTER[bound.decision.answer]:
                cause = f"gate {gate.gate_id} was already {gate.status} by {gate.decided_by}"
                raise GateError(cause, f"go on with the run: planwright resume {gate.thread_id}")
        return bool(gates)

    async def inside(
        self, snapshot: StateSnapshot, channel: str, offered: Offered, gate: Gate, answer: object
    ) -> str:
        """Take an answer that came through the user's own graph; returns why not, if it is refused.

        LangGraph hands a bare answer to whichever gate asks next, so a gate takes it only if it was offered.
        """
        try:
            if not offered.means(gate, answer):
                return f"name the gate in the answer: gate_id {gate.gate_id}"
            (item,) = bind(answer, [gate], {}, channel)
            decision = await self._reviewed(item, snapshot)
            await self._stores.gates.decide(gate.gate_id, decision, self._stores.time.now())
            await self._keep(gate.gate_id, decision)
        except GateError as error:
            return str(error)
        return ""

    async def _keep(self, gate_id: str, decision: Decision) -> None:
        """Keep what was said of tools before the run goes on: other calls of the reply wait for it."""
        if decision.remember is not None and decision.remember.tools:
            gate = await self._stores.gates.read(gate_id)
            await asyncio.to_thread(self._stores.tool_answers.remember, gate)

    async def decide_ended(self, name: str, effects: list[object], by: str) -> None:
        """Decide over what a run, or the newest of a thread, left in doubt when it ended.

        Raises GateError for an answer that leaves one out, RunError when there is no such run.
        """
        run = await self._stores.forks.run_named(name)
        decision, _ = read_decision({"type": "respond", "effects": effects, "decided_by": by}, by)
        await self._stores.doubts.decide(run.run_id, decision.effects, by, self._stores.time.now())

    async def preview(self, gate: Gate, edit: object, snapshot: StateSnapshot) -> Plan:
        """Read an edit as the next revision of the plan of a gate, by all the rules, and record nothing.

        Raises GateError with the findings when it may not run.
        """
        return await self._reviewer.plan(gate, edit, self._stores.time.now(), _model_of(snapshot))

    async def _reviewed(self, item: Bound, snapshot: StateSnapshot) -> Decision:
        """Read the edit of a plan or of calls, by all the rules, before any answer is recorded."""
        if item.decision.answer != "edit":
            return await self._reviewer.calls(item.gate, item.decision)
        plan = await self.preview(item.gate, item.edit, snapshot)
        return item.decision.model_copy(update={"plan": plan})


def _names_gates(answer: object, ids: Collection[str]) -> bool:
    """Say whether an answer names what it is for, by the id of a gate or an interrupt."""
    return gate_meant(answer) is not None or (isinstance(answer, Mapping) and bool(answer.keys() & set(ids)))


def _model_of(snapshot: StateSnapshot) -> ModelRoute | None:
    """Read which model serves a run."""
    route = snapshot.values.get("route")
    return route if isinstance(route, ModelRoute) else None


def gate_of(value: object) -> str:
    """Read which gate an interrupt asks for; empty when it is none of ours."""
    return str(value.get("gate_id", "")) if isinstance(value, Mapping) else ""


async def nothing_open(run: Run, gate_ids: Iterable[str], gates: Gates) -> GateError:
    """Say why there is nothing to answer: answered before, expired, or never asked."""
    for gate_id in gate_ids:
        gate = await gates.read(gate_id)
        if gate.status == "expired":
            return GateError(
                f"gate {gate_id} expired at {gate.expires_at:%Y-%m-%d %H:%M:%S} UTC; nothing was run",
                f"close the run with: planwright resume {run.thread_id}",
            )
    if run.status == "needs_input":
        return GateError(
            f"run {run.run_id} has ended with a question, which is no gate",
            f'answer it with a new message on its thread: planwright respond {run.thread_id} "…"',
        )
    if run.status == "waiting":
        return GateError(
            f"everything on thread {run.thread_id} is decided", f"go on: planwright resume {run.thread_id}"
        )
    return GateError(
        f"nothing on thread {run.thread_id} waits for a decision (its last run: {run.status})",
        f"see how it went: planwright show {run.thread_id}",
    )
