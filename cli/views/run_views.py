"""Look at what is recorded: runs, plans, steps, effects, gates and events. Reads only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.session.event_lines import failover_text, routing_text
from planwright.cli.views import rendering as views
from planwright.cli.views.doubt_views import left_in_doubt, recorded_doubts
from planwright.cli.views.gate_view import gate_view
from planwright.cli.views.open_store import StoreReader, interrupted, open_store, read_rows
from planwright.cli.views.run_list import questions
from planwright.cli.views.short_names import full_gate_name, full_name
from planwright.domain.errors import EffectInDoubt, GateError, RunError
from planwright.domain.hashing import json_text, whole_json
from planwright.domain.plan import Plan
from planwright.domain.results import StepResult
from planwright.presentation.rows import GateRow, Report, RunEvent, RunRow
from planwright.settings.settings import Settings

if TYPE_CHECKING:
    from rich.console import Console

LONGEST_RESULT = 200  # characters of a result
_NAMED = """FROM gates WHERE (:id IS NULL AND status = 'open') OR gate_id = :id
    OR (thread_id = :id AND status = 'open')"""
_GATE = ("gate_id", "kind", "status", "expires_at", "decided_by", "channel", "reason")
_OPEN_GATES = "SELECT kind, shown FROM gates WHERE run_id = :id AND status = 'open' ORDER BY rowid"


def show_run(thread: str, workspace: Path, as_json: bool) -> int:
    """Show one run in full."""
    settings = load_trusted(workspace)
    run = report(settings, str(find_run(settings, thread)["run_id"]))
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
    for row in open_store(settings).query(_OPEN_GATES, {"id": run["run_id"]}):
        card = json.loads(row["shown"])
        console.print(gate_view(row["kind"], card, whole=True, models=models))
    if run["status"] == "planned":  # nobody was asked, so no gate shows it
        verified = _newest(open_store(settings), run["run_id"], "plan_verified")
        console.print(gate_view("plan", verified["plan"], whole=True, models=models))
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
    named = ("seq", "ts", "run_id", "thread_id", "type")
    rows = open_store(settings).query("SELECT * FROM journal WHERE run_id = ? ORDER BY seq", (run_id,))
    return [{"v": 1, **{name: row[name] for name in named}, "data": json.loads(row["data"])} for row in rows]


def find_run(settings: Settings, thread: str) -> RunRow:
    """Find a run by its id, or the newest of a thread; short names do. Raises RunError for none."""
    thread = full_name(settings, thread)
    query = "SELECT * FROM runs WHERE run_id = :id OR thread_id = :id ORDER BY rowid DESC LIMIT 1"
    row: RunRow
    for row in read_rows(settings, query, {"id": thread}):
        return row
    raise RunError(f"there is no thread or run {thread}", "list them: planwright ls")


def known_thread(workspace: Path, thread: str | None) -> str | None:
    """Find the thread that a new run goes on with. Raises RunError for one that is not there."""
    return None if thread is None else str(find_run(load_trusted(workspace), thread)["thread_id"])


def find_gate(settings: Settings, which: str | None) -> GateRow:
    """Find the gate an answer is for. Raises GateError when that is none or not exactly one."""
    rows = open_gates(settings, which)
    if len(rows) == 1:
        return rows[0]
    if not rows:
        if asks := questions(settings, which):
            thread = asks[0]["thread_id"]
            cause = f"thread {thread} asks a question, which is no gate"
            raise GateError(cause, f'answer it: planwright respond {thread} "…"')
        problem = f"no gate or waiting thread is named {which}" if which else "nothing waits for a decision"
        raise GateError(problem, "see what waits: planwright ls --waiting")
    ids, count = ", ".join(row["gate_id"] for row in rows), _count_open(settings, which)
    more = ", …" if count > len(rows) else ""
    raise GateError(
        f"{count:,} gates are open: {ids}{more}", "name the one you mean; see all: planwright ls --waiting"
    )


def open_gates(settings: Settings, which: str | None) -> list[GateRow]:
    """List the gates that are named, by id or by thread, at most five; the open ones when none is."""
    which = full_gate_name(settings, which)
    named = f"SELECT gate_id {_NAMED} ORDER BY rowid LIMIT 5"
    query = f"SELECT * FROM gates WHERE gate_id IN ({named}) ORDER BY rowid"
    return list(read_rows(settings, query, {"id": which}))


def _count_open(settings: Settings, which: str | None) -> int:
    return int(next(open_store(settings).query(f"SELECT count(*) AS count {_NAMED}", {"id": which}))["count"])


def find_plan(settings: Settings, run_id: str, plan_hash: str) -> Report:
    """Read a plan on record. Raises RunError when it is not there."""
    query = "SELECT plan FROM plans WHERE run_id = ? AND plan_hash = ?"
    for row in open_store(settings).query(query, (run_id, plan_hash)):
        return whole_json(Plan, row["plan"])
    raise RunError(f"run {run_id} has no such plan on record", f"look at it: planwright show {run_id}")


def report(settings: Settings, run_id: str) -> Report:
    """Gather all that is recorded of a run."""
    database = open_store(settings)
    run = next(database.query("SELECT * FROM runs WHERE run_id = ?", (run_id,)))
    wanted = ("run_id thread_id tenant status paused_for request answer started_at ended_at").split()
    plan = next(
        database.query(
            "SELECT plan FROM plans WHERE run_id = ? AND kind = 'plan' ORDER BY rowid DESC",
            (run_id,),
        ),
        None,
    )
    verified = _newest(database, run_id, "plan_verified")  # a plan that is only shown is not on record to run
    return {
        **{name: run[name] for name in wanted},
        "status": "interrupted" if interrupted(settings, [run]) else run["status"],
        "agent": json.loads(run["context"]).get("agent"),
        **_source(database, run_id),
        "plan": whole_json(Plan, plan["plan"]) if plan else (verified or {}).get("plan"),
        "verdict": _newest(database, run_id, "verdict"),
        "verdicts": _verdicts(database, run_id),
        "gates": [
            {
                **{name: row[name] for name in _GATE},
                "plan_hash": row["shown_hash"],
                "approvals": _approvers(row),
            }
            for row in database.query("SELECT * FROM gates WHERE run_id = ? ORDER BY rowid", (run_id,))
        ],
        "steps": [
            whole_json(StepResult, row["result"])
            for row in database.query("SELECT result FROM steps WHERE run_id = ? ORDER BY rowid", (run_id,))
        ],
        "effects": [
            {**row, "args": json.loads(row["args"])}
            for row in database.query(
                "SELECT key, capability, effect, args, status, error FROM effects WHERE run_id = ?"
                " ORDER BY rowid",
                (run_id,),
            )
        ],
        "in_doubt": recorded_doubts(database, run_id),
        "routed": _journal_data(database, run_id, "model_routed"),
        "failovers": _journal_data(database, run_id, "failover"),
        "proposed": _journal_data(database, run_id, "memory_proposed"),
        "usage": _newest(database, run_id, "budget_update", "budget_update:run"),
        "estimated": (_newest(database, run_id, "run_end") or {}).get("estimated"),
    }


def _approvers(gate: GateRow) -> list[str]:
    """Name who has approved at a gate where several have to."""
    return [str(approval["by"]) for approval in json.loads(gate.get("approvals") or "[]")]


def _verdicts(database: StoreReader, run_id: str) -> list[Report]:
    """Read the verdicts over a run, oldest first."""
    query = "SELECT content, revision, at FROM verdicts WHERE run_id = ? ORDER BY rowid"
    rows = database.query(query, (run_id,))
    return [{**json.loads(row["content"]), "revision": row["revision"], "at": row["at"]} for row in rows]


def _journal_data(database: StoreReader, run_id: str, kind: str) -> list[Any]:
    query = "SELECT data FROM journal WHERE run_id = ? AND type = ? ORDER BY seq"
    return [json.loads(row["data"]) for row in database.query(query, (run_id, kind))]


def _only_embedded(settings: Settings, run_id: str) -> bool:
    """Say whether the embedded planner served a run, which has no tokens, and no language model did."""
    calls = _journal_data(open_store(settings), run_id, "llm_call")
    return all(call["provider"] == "embedded" for call in calls) and (bool(calls) or not settings.providers)


def _newest(database: StoreReader, run_id: str, kind: str, key: str = "%") -> Any:
    query = "SELECT data FROM journal WHERE run_id = ? AND type = ? AND key LIKE ? ORDER BY seq DESC LIMIT 1"
    return next((json.loads(row["data"]) for row in database.query(query, (run_id, kind, key))), None)


def _source(database: StoreReader, run_id: str) -> Report:
    """Tell which run a run was forked from or undoes; and which runs were begun to undo it."""
    query = "SELECT source_run AS forked_from, undo FROM forks WHERE run_id = ? AND source_run <> ''"
    came = next(database.query(query, (run_id,)), {"forked_from": None, "undo": 0})
    query = (
        "SELECT f.run_id, r.status FROM forks f JOIN runs r USING (run_id) WHERE source_run = ? AND undo = 1"
    )
    return {**came, "undo": bool(came["undo"]), "undone_by": list(database.query(query, (run_id,)))}
