"""Look at what is recorded: runs, plans, steps, effects, gates and events. Reads only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.session.event_lines import failover_text, routing_text
from planwright.cli.views import rendering as views
from planwright.cli.views.doubt_views import left_in_doubt
from planwright.cli.views.gate_view import gate_view
from planwright.cli.views.open_store import interrupted_in, open_store
from planwright.cli.views.run_list import questions
from planwright.cli.views.short_names import full_gate_name, full_name
from planwright.domain.errors import EffectInDoubt, GateError, RunError
from planwright.domain.hashing import json_text
from planwright.presentation.rows import Card, GateRow, Report, RunEvent, RunRow
from planwright.records.history.open_gates import gates_named
from planwright.records.history.run_records import (
    data_of,
    find_row,
    newest_data,
    recorded_plan,
    run_events,
    run_record,
)
from planwright.records.history.run_report import run_report
from planwright.settings.settings import Settings

if TYPE_CHECKING:
    from rich.console import Console

LONGEST_RESULT = 200  # characters of a result
MOST_GATES = 5


def show_run(thread: str, workspace: Path, as_json: bool) -> int:
    """Show one run in full."""
    settings = load_trusted(workspace)
    run = report(settings, thread)
    if as_json:
        print(json.dumps(run, ensure_ascii=False, indent=2))
        return 0
    console = views.console()
    console.print(views.label("run", f"{run['run_id']} on thread {run['thread_id']}"))
    if run["forked_from"]:
        console.print(views.label("undo" if run["undo"] else "fork", f"of {run['forked_from']}"))
    console.print(views.label("request", run["request"]))
    if run["agent"]:
        console.print(views.label("agent", run["agent"]))
    goes_on = f": planwright resume {run['thread_id']}"
    paused = f" ({run['paused_for']}){goes_on}" if run["paused_for"] else ""
    left = goes_on if run["status"] == "interrupted" else ""
    console.print(views.label("status", run["status"] + (paused or left)))
    if run["status"] == "needs_input":
        console.print(views.label("respond", views.how_to_reply(run["thread_id"])))
    _show_gates(run["gates"], console)
    models = not _only_embedded(settings, run["run_id"])
    for kind, card in _open_cards(settings, run):
        console.print(gate_view(kind, card, whole=True, models=models))
    for step in run["steps"]:
        output = json.dumps(step["output"], ensure_ascii=False)
        if len(output) > LONGEST_RESULT:
            output = f"{output[:LONGEST_RESULT]}… ({len(output):,} characters)"
        doubtful = step["code"] == EffectInDoubt.code
        status, detail = ("in doubt", "") if doubtful else (step["status"], step["error"] or output)
        detail += f" (done by {step['kept_from']})" if step.get("kept_from") else ""
        console.print(
            views.label("step", f"{step['step_id']:<4} {step['capability']:<16} {status:<10} {detail}")
        )
    _show_verdicts(run, console)
    _show_effects(run, console)
    for by in run["undone_by"]:
        console.print(views.label("undo", f"by {by['run_id']}: {by['status']}"))
    _show_models(run, console, models)
    if run["answer"]:
        console.print(views.label("answer", run["answer"]))
    if run["answer_value"] is not None:
        console.print(views.label("value", json.dumps(run["answer_value"], ensure_ascii=False)))
    return 0


def _show_gates(gates: Sequence[GateRow], console: Console) -> None:
    """Show how each gate was decided, and by whom so far."""
    for gate in gates:
        by = f" by {gate['decided_by']} via {gate['channel']}" if gate["decided_by"] else ""
        if gate["status"] == "open" and gate["approvals"]:
            by = f"; approved by {', '.join(gate['approvals'])}, and somebody else has to approve, too"
        reason = f": {gate['reason']}" if gate["reason"] else ""
        console.print(views.label("gate", f"{gate['gate_id']} ({gate['kind']}) {gate['status']}{by}{reason}"))


def _show_models(run: Report, console: Console, models: bool) -> None:
    """Show which models served a run, what it proposes to remember, and what it used."""
    for data in run["routed"]:
        console.print(views.label("model", routing_text(data), "yellow" if data["lacks"] else ""))
    for data in run["failovers"]:
        console.print(views.label("model", failover_text(data), "yellow"))
    for data in run["proposed"]:
        console.print(views.label("memory", f"proposed: {data['text']} ({data['id']})"))
    if run["usage"] and models:
        console.print(views.label("usage", views.usage(run["usage"])))
    if run["estimated"] and models:
        console.print(views.label("estimated", views.run_estimate_text(run["estimated"])))


def _show_verdicts(run: Report, console: Console) -> None:
    """Show what the critic ruled, and why, with what it noticed of each step in its last verdict."""
    verdicts: Sequence[Report] = run["verdicts"]
    doubtful = {step["uid"] for step in run["steps"] if step["code"] == EffectInDoubt.code}
    for verdict in verdicts:
        console.print(views.label("verdict", f"{verdict['verdict']}: {verdict['reason']}"))
    scores = verdicts[-1]["step_scores"] if verdicts else ()
    for score in (score for score in scores if score["uid"] not in doubtful):
        graded = (evaluation for evaluation in score["evaluations"] if evaluation["grade"] != "pass")
        for evaluation in graded:
            noticed = f"{evaluation['evaluator']} {evaluation['grade']}: {', '.join(evaluation['findings'])}"
            console.print(views.label("score", f"{score['step_id']:<4} {noticed}"))


def _show_effects(run: Report, console: Console) -> None:
    """Show the effects of a run, and how those that it left in doubt are decided."""
    in_doubt = {doubt["key"] for doubt in run["in_doubt"]}
    for effect in (effect for effect in run["effects"] if effect["key"] not in in_doubt):
        detail = f"key {effect['key'][:16]}… {effect['error'] or ''}"
        console.print(views.label("effect", f"{effect['capability']:<16} {effect['status']:<8} {detail}"))
        console.print(views.arguments_view(effect["args"]))
    for row in left_in_doubt(run, whole=True):
        console.print(row)


def show_events(thread: str, workspace: Path, as_json: bool) -> int:
    """Print the journal of a run."""
    settings = load_trusted(workspace)
    run = find_run(settings, thread)
    for event in recorded_events(settings, run["run_id"]):
        if as_json:
            print(json.dumps(event, ensure_ascii=False))
        else:
            data = views.safe(json_text(event["data"]))
            short = data if len(data) <= 160 else data[:159] + "…"
            print(f"{event['seq']:>4}  {event['ts'][11:23]}  {event['type']:<20} {short}")
    return 0


def recorded_events(settings: Settings, run_id: str) -> list[RunEvent]:
    """Read the events of a run from its journal, in order."""
    return open_store(settings).read(run_events, run_id)


def find_run(settings: Settings, thread: str) -> RunRow:
    """Find a run by its id, or the newest of a thread; short names do. Raises RunError for none."""
    thread = full_name(settings, thread)
    if row := open_store(settings).read(find_row, thread):
        return row
    raise RunError(f"there is no thread or run {thread}", "list them: planwright ls")


def known_thread(workspace: Path, thread: str | None) -> str | None:
    """Find the thread that a new run goes on with. Raises RunError for one that is not there."""
    return None if thread is None else str(find_run(load_trusted(workspace), thread)["thread_id"])


def find_gate(settings: Settings, which: str | None) -> GateRow:
    """Find the gate an answer is for. Raises GateError when that is none or not exactly one."""
    rows, count = _named_gates(settings, which)
    if len(rows) == 1:
        return rows[0]
    if not rows:
        if asks := questions(settings, which):
            thread = asks[0]["thread_id"]
            cause = f"thread {thread} asks a question, which is no gate"
            raise GateError(cause, f'answer it: planwright respond {thread} "…"')
        problem = f"no gate or waiting thread is named {which}" if which else "nothing waits for a decision"
        raise GateError(problem, "see what waits: planwright ls --waiting")
    ids = ", ".join(row["gate_id"] for row in rows)
    more = ", …" if count > len(rows) else ""
    raise GateError(
        f"{count:,} gates are open: {ids}{more}", "name the one you mean; see all: planwright ls --waiting"
    )


def open_gates(settings: Settings, which: str | None) -> list[GateRow]:
    """List the gates that are named, by id or by thread, at most five; the open ones when none is."""
    return _named_gates(settings, which)[0]


def _named_gates(settings: Settings, which: str | None) -> tuple[list[GateRow], int]:
    return open_store(settings).read(gates_named, full_gate_name(settings, which), MOST_GATES)


def find_plan(settings: Settings, run_id: str, plan_hash: str) -> Report:
    """Read a plan on record. Raises RunError when it is not there."""
    if plan := open_store(settings).read(recorded_plan, run_id, plan_hash):
        return plan
    raise RunError(f"run {run_id} has no such plan on record", f"look at it: planwright show {run_id}")


def report(settings: Settings, thread: str) -> Report:
    """Gather all that is recorded of a run, by its id or as the newest of a thread."""
    run = find_run(settings, thread)
    held = run["status"] != "running" or run["run_id"] not in interrupted_in(settings)
    return open_store(settings).read(run_report, run, held=held)


def _open_cards(settings: Settings, run: RunRow) -> list[tuple[str, Card]]:
    """List the cards that wait for a person, by the kind of their gate; and the plan that needs no gate."""
    record = open_store(settings).read(run_record, run["run_id"])
    cards = [(gate["kind"], gate["shown"]) for gate in record.gates if gate["status"] == "open"]
    if run["status"] == "planned":  # nobody was asked, so no gate shows it
        verified = open_store(settings).read(newest_data, run["run_id"], "plan_verified")
        cards += [("plan", verified["plan"])] if verified else []
    return cards


def _only_embedded(settings: Settings, run_id: str) -> bool:
    """Say whether the embedded planner served a run, which has no tokens, and no language model did."""
    calls = open_store(settings).read(data_of, run_id, "llm_call")
    return all(call["provider"] == "embedded" for call in calls) and (bool(calls) or not settings.providers)
