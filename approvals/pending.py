"""Which waiting gates can be approved together: those that ask about calls of one kind, and need no words.

A bulk approval is as narrow as the single ones that it stands for: a gate that asks about anything else
beside the named capability is left to be looked at alone, and so is one whose card warns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pydantic import JsonValue

from planwright.approvals.cards import Card, card_steps
from planwright.domain.errors import GateError
from planwright.domain.hashing import json_text
from planwright.domain.plan import AGENT
from planwright.presentation.file_lines import file_lines, rewrite_texts
from planwright.presentation.plan_gates import undo_text
from planwright.presentation.step_sentence import described_argument
from planwright.records.consent.acceptance import acceptable
from planwright.records.consent.gate import Decision, Gate

MOST_LISTED = 4_000
"""Letters of a call that a list shows; what is longer is looked at alone."""


@dataclass(frozen=True)
class PendingCall:
    """One call that waits for a decision, with its real values."""

    step_id: str
    """Id of its step in the plan; "" for a call outside of a plan."""
    capability: str
    """Name of the capability."""
    args: Mapping[str, JsonValue]
    """Arguments, with references filled in as far as their values are known."""
    only_reads: bool = False
    """Whether it changes nothing and sends nothing, so that no approval is asked for it alone."""
    notes: tuple[str, ...] = ()
    """What its card shows beside the arguments: what they stand for, files, and what can undo it."""


@dataclass(frozen=True)
class PendingGate:
    """One open gate, and what approving it would let run."""

    gate_id: str
    """Id of the gate."""
    thread_id: str
    """Thread of the run that waits."""
    run_id: str
    """Run that waits."""
    tenant: str
    """Tenant of the run."""
    risk: str
    """Risk of what is asked, from None to Critical."""
    calls: tuple[PendingCall, ...]
    """Calls that it asks about, in order."""
    plan_hash: str
    """Hash that an approval names: of the plan, or of the card of a call."""
    card_hash: str | None
    """SHA-256 of the card."""
    problem: str = ""
    """Why it is left; "" where it can be approved with the others."""


@dataclass(frozen=True)
class PendingApprovals:
    """What waits and calls a capability: the gates to approve together, and those that are left."""

    capability: str
    """Name or glob of the capability."""
    gates: tuple[PendingGate, ...]
    """Gates that an approval of all covers, oldest first."""
    left: tuple[PendingGate, ...]
    """Gates that call the capability and have to be decided alone, each with its problem."""


def pending_approvals(gates: Iterable[Gate], capability: str, decision: Decision) -> PendingApprovals:
    """Find the gates that call a capability, a name or a glob, and tell which take a decision together."""
    pending: list[PendingGate] = []
    for gate in gates:
        parts = _parts(gate)
        calls = tuple(call for part in parts for call in _calls(part, gate))
        names = [*map(_name, parts), *(call.capability for call in calls)]
        if any(fnmatchcase(name, capability) for name in names):
            pending.append(_pending(gate, calls, _problem(gate, calls, capability, decision)))
    fitting = tuple(gate for gate in pending if not gate.problem)
    return PendingApprovals(capability, fitting, tuple(gate for gate in pending if gate.problem))


def _pending(gate: Gate, calls: tuple[PendingCall, ...], problem: str) -> PendingGate:
    return PendingGate(
        gate_id=gate.gate_id,
        thread_id=gate.thread_id,
        run_id=gate.run_id,
        tenant=gate.tenant,
        risk=str(gate.card.get("risk", "None")),
        calls=calls,
        plan_hash=gate.answer_hash,
        card_hash=gate.card_hash,
        problem=problem,
    )


def _parts(gate: Gate) -> list[Card]:
    """List what a gate asks about: the steps of its plan that are still to be made, or its own calls."""
    if gate.kind != "plan":
        return gate.calls
    done = gate.card.get("done")
    return [step for step in card_steps(gate.card) if not (isinstance(done, dict) and step["id"] in done)]


def _calls(part: Card, gate: Gate) -> Iterator[PendingCall]:
    """List the calls of one of these; those that a chain makes, whatever its name is: a model chose that."""
    step_id = str(part.get("id") or gate.card.get("step_id") or "")
    yield from (_call(call, step_id) for call in _chain_calls(part) or [part])


def _chain_calls(part: Card) -> list[Card]:
    """List the calls of a chain, on the card of a plan or on its own; none for any other call."""
    chain = part.get("chain")
    calls = chain.get("calls") if isinstance(chain, dict) else part.get("steps")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _call(call: Card, step_id: str) -> PendingCall:
    args: dict[str, JsonValue] = {}
    for name in ("params", "arguments", "args", "values"):
        part = call.get(name)
        args |= part if isinstance(part, dict) else {}
    reads = _name(call) != AGENT and (call.get("effect"), call.get("mode")) == ("pure", "read_only")
    return PendingCall(step_id, _name(call), args, reads, _notes(call, args))


def _notes(call: Card, args: Mapping[str, JsonValue]) -> tuple[str, ...]:
    described = (described_argument(name, value, call) for name, value in args.items())
    return tuple(filter(None, (*described, *file_lines(call), *rewrite_texts(call), undo_text(call))))


def _name(call: Card) -> str:
    return str(call.get("capability", ""))


def _problem(gate: Gate, calls: tuple[PendingCall, ...], capability: str, decision: Decision) -> str:
    """Say why a gate is not approved together with others; "" where it is."""
    if gate.kind == "info":
        return f'it asks a question: planwright respond {gate.gate_id} "…"'
    if gate.kind == "escalation" or gate.card.get("in_doubt"):
        return f"a person says what becomes of its run: planwright show {gate.run_id}"
    others = dict.fromkeys(
        call.capability
        for call in calls
        if not call.only_reads and not fnmatchcase(call.capability, capability)
    )
    if others:
        return f"it also calls {', '.join(others)}"
    if _longest(calls) > MOST_LISTED or any(map(_is_cut, _parts(gate))):
        return f"it is too long for a list: planwright show {gate.run_id}"
    if warnings := _warnings(gate):
        return f"look at it alone: {warnings[0]}"
    try:
        acceptable(gate, decision)
    except GateError as error:
        return error.cause
    return ""


def _longest(calls: Iterable[PendingCall]) -> int:
    """Count the letters of the longest of some calls, as a list shows it."""
    return max((len(json_text([dict(call.args), *call.notes])) for call in calls), default=0)


def _is_cut(part: Card) -> bool:
    """Say whether the card of a call leaves out some of what will be different in a file."""
    rewrites = part.get("rewrites")
    files = [file for file in rewrites if isinstance(file, dict)] if isinstance(rewrites, list) else []
    return any("more" in file or "diff" not in file for file in files)


def _warnings(gate: Gate) -> list[str]:
    """List what the card of a gate warns of: letters that look like others, and what was done before."""
    parts = [gate.card, *gate.calls, *(card_steps(gate.card) if gate.kind == "plan" else ())]
    lists = [part.get("marks") for part in parts]
    marks = [str(mark) for entries in lists if isinstance(entries, list) for mark in entries]
    again = ["this run has done the same or the like before" for part in parts if part.get("done_before")]
    return [*marks, *again]
