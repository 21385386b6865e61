"""Approving many gates from the terminal: all are listed, a person is asked once, each is decided alone."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import RenderableType

from planwright.approvals.bulk import BulkApprovals, BulkOptions
from planwright.approvals.bulk_outcomes import GateOutcome
from planwright.approvals.pending import PendingApprovals, PendingGate
from planwright.cli.session.asking import forget_typed_ahead, who
from planwright.cli.session.ending import EXIT
from planwright.cli.session.logs import load_logged
from planwright.cli.session.terminal import Terminal
from planwright.cli.views import rendering as views
from planwright.cli.views.gate_view import left_row, pending_rows
from planwright.cli.views.printable import one_line
from planwright.domain.errors import GateError
from planwright.domain.results import RunStatus
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph

DONE: tuple[RunStatus, ...] = ("completed", "planned", "completed_with_skips")


@dataclass(frozen=True)
class BulkRequest:
    """What is to be approved together."""

    capability: str
    """Name or glob of the capability."""
    tenant: str
    """Name or glob of the tenants."""
    yes: bool
    """Whether nobody is asked whether the list is right."""


def approve_all(request: BulkRequest, workspace: Path, terminal: Terminal) -> int:
    """List what waits and calls a capability, ask once, and approve it gate by gate. Returns the exit code.

    Raises GateError where nothing of it waits.
    """
    options: BulkOptions = {"tenant": request.tenant, "by": who(), "channel": "cli"}
    agent = build_graph(load_logged(workspace))
    try:
        views.print_absent(agent.servers.problems)
        bulk = BulkApprovals(agent, agent.stores)
        pending = agent.loop.call(lambda: bulk.pending(request.capability, options))
        if not pending.gates and not pending.left:
            cause = f"nothing that waits calls {request.capability}"
            raise GateError(cause, "see what waits: planwright ls --waiting")
        if not terminal.as_json:
            _show(pending, terminal)
        if not pending.gates or not (request.yes or _confirmed(len(pending.gates), terminal)):
            _summarize([], pending, terminal)
            return EXIT["waiting"]
        return _approve_each(agent, bulk, pending, options, terminal)
    finally:
        agent.close()


def _approve_each(
    agent: Agent, bulk: BulkApprovals, pending: PendingApprovals, options: BulkOptions, terminal: Terminal
) -> int:
    """Approve what was listed, gate by gate, and sum up, also when it is interrupted."""
    outcomes: list[GateOutcome] = []
    try:
        for gate in pending.gates:
            outcomes.append(_approve(agent, bulk, gate, options))
            if not terminal.as_json:
                for row in _outcome_rows(outcomes[-1]):
                    terminal.screen.print(row)
    finally:
        _summarize(outcomes, pending, terminal)
    return exit_code(outcomes)


def _approve(agent: Agent, bulk: BulkApprovals, gate: PendingGate, options: BulkOptions) -> GateOutcome:
    return agent.loop.call(lambda: bulk.approve(gate, options))


def _outcome_rows(outcome: GateOutcome) -> list[RenderableType]:
    """Show what became of one gate, how its run stands, and what that did next."""
    gate, problem = outcome.gate, f": {outcome.problem}" if outcome.problem else ""
    status = f"; its run: {outcome.run_status}" if outcome.run_status else ""
    style = "" if outcome.end == "approved" else "yellow"
    text = f"{gate.gate_id} on thread {gate.thread_id}{problem}{status}"
    rows: list[RenderableType] = [views.label(outcome.end, one_line(text), style)]
    rows += [views.label("did", one_line(deed)) for deed in outcome.did]
    return rows + [views.label("waits", one_line(gate_text), "yellow") for gate_text in outcome.waits]


def _show(pending: PendingApprovals, terminal: Terminal) -> None:
    """List what would be approved, and what is left."""
    for gate in pending.gates:
        for row in pending_rows(gate):
            terminal.screen.print(row)
    for gate in pending.left:
        terminal.screen.print(left_row(gate))


def _confirmed(count: int, terminal: Terminal) -> bool:
    """Ask the person at the terminal whether all that is listed is approved; nobody there says no."""
    if not terminal.interactive:
        if not terminal.as_json:
            terminal.screen.print(views.label("approve", "add --yes to approve what is listed"))
        return False
    gates = "this gate" if count == 1 else f"these {count:,} gates"
    terminal.screen.print(views.label("approve?", f"{gates}, as listed above"))
    forget_typed_ahead()
    terminal.screen.print("           [y] approve   [n] leave them all: ", end="", markup=False)
    try:
        return input().strip().lower() in ("y", "yes")
    except EOFError:
        return False


def exit_code(outcomes: Sequence[GateOutcome]) -> int:
    """Choose the exit code: 2 where a gate was not approved, else as the first run that did not complete."""
    if any(outcome.end == "refused" for outcome in outcomes):
        return GateError.exit_code
    open_ends = [outcome.run_status for outcome in outcomes if outcome.run_status not in DONE]
    codes = [EXIT[status] if status else 1 for status in open_ends]
    worse = [code for code in codes if code != EXIT["waiting"]]
    return (worse or codes or [0 if outcomes else EXIT["waiting"]])[0]


def _summarize(outcomes: Sequence[GateOutcome], pending: PendingApprovals, terminal: Terminal) -> None:
    """Say what was approved, what was not, and what is left."""
    undecided = pending.gates[len(outcomes) :]
    if terminal.as_json:
        report = {
            "capability": pending.capability,
            "outcomes": [
                {**_as_json(outcome.gate), "end": outcome.end, "status": outcome.run_status}
                | {"problem": outcome.problem, "did": list(outcome.did), "waits": list(outcome.waits)}
                for outcome in outcomes
            ],
            "undecided": [
                {**_as_json(gate), "calls": [asdict(call) for call in gate.calls]} for gate in undecided
            ],
            "left": [{**_as_json(gate), "problem": gate.problem} for gate in pending.left],
        }
        sys.stdout.write(json.dumps(report, ensure_ascii=False, indent=2) + "\n")
        return
    ends = Counter(outcome.end for outcome in outcomes)
    counts = {
        "approved": ends["approved"],
        "approved by you, and more people have to": ends["counted"],
        "not approved": ends["refused"],
        "not decided": len(undecided),
        "left to be looked at alone": len(pending.left),
    }
    texts = [f"{count:,} {text}" for text, count in counts.items() if count or text == "approved"]
    terminal.screen.print(views.label("status", ", ".join(texts)))


def _as_json(gate: PendingGate) -> dict[str, object]:
    names = ("gate_id", "thread_id", "run_id", "tenant", "risk")
    return {name: getattr(gate, name) for name in names}
