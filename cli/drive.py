"""Drive a run from a terminal: stream it, ask at its gates, print its answer."""

from __future__ import annotations

import json
import os
import pwd
import sys
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from planwright.cli import views
from planwright.cli.editing import NOTHING_SAVED, Drafts, from_file
from planwright.cli.inspect import find_gate, find_run, recorded_events, report
from planwright.cli.terminal import Terminal as Terminal
from planwright.cli.terminal import Watch
from planwright.graph.agent import build_graph
from planwright.graph.errors import GateError, PlanwrightError, SetupError
from planwright.graph.results import RunStatus
from planwright.graph.run_context import RunContext
from planwright.graph.settings import Settings, load

Approver = Callable[[Mapping[str, Any], "Terminal"], dict[str, Any]]

EXIT: dict[RunStatus, int] = {
    "completed": 0,
    "planned": 0,
    "completed_with_skips": 0,
    "failed": 1,
    "running": 1,
    "waiting": 3,
    "rejected": 4,
    "expired": 4,
    "escalated": 5,
    "budget_exceeded": 6,
    "refused": 7,
    "cancelled": 8,
}


def start(
    request: str,
    workspace: Path,
    thread: str | None,
    options: RunContext,
    terminal: Terminal,
) -> int:
    """Begin a run and follow it to its end or to a gate. Returns the exit code."""
    settings = load(workspace)
    patience = settings.approval.plan_timeout_s if terminal.interactive else None
    context = replace(options, channel="cli", gate_ttl_s=patience)
    message = {"messages": [{"role": "user", "content": request}]}
    return follow(settings, message, thread or str(uuid.uuid4()), context, terminal)


def dry_run(request: str, workspace: Path, options: RunContext, terminal: Terminal) -> int:
    """Plan and verify a request, and run nothing."""
    context = replace(options, dry_run=True, channel="cli", planning_mode="always")
    message = {"messages": [{"role": "user", "content": request}]}
    return follow(load(workspace), message, str(uuid.uuid4()), context, terminal)


def answer(which: str | None, decision: Mapping[str, Any], workspace: Path, terminal: Terminal) -> int:
    """Answer a gate and follow the run on."""
    settings = load(workspace)
    gate = find_gate(settings, which)
    given = {**decision, "gate_id": gate["gate_id"], "decided_by": who()}
    answering = RunContext(channel="cli")
    return follow(settings, Command(resume=given), str(gate["thread_id"]), answering, terminal)


def edit_plan(
    which: str | None, file: str | None, only_print: bool, workspace: Path, terminal: Terminal
) -> int:
    """Change the plan of a gate by hand or from a file, and follow the run to its new gate."""
    settings = load(workspace)
    gate, drafts = find_gate(settings, which), Drafts(settings)
    if gate["kind"] != "plan" or gate["status"] != "open":
        what = "asks about one call, not about a plan" if gate["kind"] != "plan" else f"is {gate['status']}"
        raise GateError(f"gate {gate['gate_id']} {what}", "see what waits: planwright ls --waiting")
    asked = (gate["gate_id"], gate["run_id"], gate["shown_hash"], json.loads(gate["shown"]))
    if only_print:
        sys.stdout.write(drafts.text(*asked))
        return 0
    if file is None and (terminal.no_input or not sys.stdin.isatty()):
        raise SetupError(
            "there is no terminal for an editor",
            f"planwright edit {gate['gate_id']} --print > plan.yaml, change it, and --file plan.yaml",
        )
    try:
        given = drafts.open(*asked) if file is None else from_file(file, gate["shown_hash"])
        if given is None:
            terminal.screen.print(views.label("edit", NOTHING_SAVED))
            return EXIT["waiting"]
        answered: Command[Any] = Command(resume={**given, "gate_id": gate["gate_id"], "decided_by": who()})
        return follow(settings, answered, str(gate["thread_id"]), RunContext(channel="cli"), terminal)
    except GateError as error:
        if file is not None or not drafts.kept(gate["gate_id"]):
            raise
        raise GateError(error.cause, f"your text is kept: planwright edit {gate['gate_id']}") from error


def recover(thread: str, workspace: Path, terminal: Terminal) -> int:
    """Go on with an interrupted run."""
    settings = load(workspace)
    return follow(
        settings, None, str(find_run(settings, thread)["thread_id"]), RunContext(channel="cli"), terminal
    )


def stop(thread: str, workspace: Path) -> int:
    """Cancel a run, and say whether it has ended."""
    settings = load(workspace)
    run = find_run(settings, thread)
    agent = build_graph(settings)
    try:
        ended = agent.cancel(str(run["thread_id"]), who())
    finally:
        agent.close()
    found = find_run(settings, run["run_id"])
    print(f"{run['run_id']} {found['status'] if ended else 'is being cancelled; running calls finish first'}")
    return 0


def follow(
    settings: Settings,
    given: Any,
    thread: str,
    context: RunContext | None,
    terminal: Terminal,
    approver: Approver | None = None,
) -> int:
    """Stream a run; at a gate ask whoever is there, or say how to answer later."""
    watch = Watch(terminal, settings.budgets.run)
    if given is None or isinstance(given, Command):
        watch.recall(recorded_events(settings, find_run(settings, thread)["run_id"]))
    agent, drafts = build_graph(settings), Drafts(settings)
    config: RunnableConfig = {"configurable": {"thread_id": thread}}
    ask = approver or (_asker(drafts, watch) if terminal.interactive else None)
    edited, answered = _edited(given), False
    try:
        while True:
            try:
                watch.stream(agent, given, config, context)
                drafts.accepted(edited)
            except GateError as error:
                drafts.refused(edited, error)
                if not (edited and answered):
                    raise
                _say_refused(error, terminal)
            waiting = agent.get_state(config).interrupts
            if not waiting or ask is None:
                break
            answer = {**ask(waiting[0].value, terminal), "gate_id": waiting[0].value["gate_id"]}
            given, answered = Command(resume={waiting[0].id: answer}), True
            edited = _edited(Command(resume=answer))
    except EOFError:
        terminal.screen.print()  # nobody answered: the gate stays open
    except KeyboardInterrupt:
        where = f" -w {settings.workspace}" if settings.workspace != Path.cwd() else ""
        terminal.screen.print(
            f"\ninterrupted; nothing is lost: planwright resume {thread}{where}", soft_wrap=True
        )
        return 130
    finally:
        agent.close()
    asked = [found.value for found in waiting]
    return finish(settings, find_run(settings, thread), asked, terminal, watch)


def finish(
    settings: Settings, run: Mapping[str, Any], waiting: list[Any], terminal: Terminal, watch: Watch
) -> int:
    """Print the answer on stdout and, on stderr, where to look again. Returns the exit code."""
    status: RunStatus = run["status"]
    where = f" -w {settings.workspace}" if settings.workspace != Path.cwd() else ""
    if terminal.as_json:
        print(json.dumps(report(settings, run["run_id"]), ensure_ascii=False, indent=2))
    elif waiting:
        for asked in waiting:
            _say_how_to_answer(asked, where, terminal, watch)
    else:
        sys.stdout.write(views.safe(run["answer"] or "") + "\n")
        sys.stdout.flush()
        terminal.screen.print(views.label("status", status, "green" if EXIT[status] == 0 else "red"))
        again = f"planwright show {run['thread_id']}{where}"
        terminal.screen.print(views.label("look again", again))
        terminal.screen.print(views.label("", f"planwright events {run['thread_id']}{where}"))
    return EXIT[status]


def who() -> str:
    """Name the person at the terminal, as the system knows them."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"


def _asker(drafts: Drafts, watch: Watch) -> Approver:
    """Ask the person at the terminal about one open gate, until there is an answer."""

    def ask(waiting: Mapping[str, Any], terminal: Terminal) -> dict[str, Any]:
        _show_card(waiting, terminal, watch)
        terminal.screen.print(views.label("approve?", _question(waiting)))
        edit = "   [e] edit" if waiting["kind"] == "plan" else ""
        prompt = f"           [y] approve{edit}   [n] reject   or type why not: "
        while True:
            terminal.screen.print(prompt, end="", markup=False)
            typed = input().strip()
            if typed.lower() in ("y", "yes"):
                return {"type": "approve", "decided_by": who()}
            if not edit or typed.lower() not in ("e", "edit"):
                reason = "" if typed.lower() in ("", "n", "no") else typed
                return {"type": "reject", "message": reason, "decided_by": who()}
            if edited := _by_hand(waiting, drafts, terminal):
                return {**edited, "decided_by": who()}

    return ask


def _by_hand(waiting: Mapping[str, Any], drafts: Drafts, terminal: Terminal) -> dict[str, Any] | None:
    """Let the person change the plan of a gate in an editor; None, and a line that says why, for none."""
    asked = (waiting["gate_id"], waiting["run_id"], waiting["plan_hash"], waiting["shown"])
    try:
        if edited := drafts.open(*asked):
            return edited
        terminal.screen.print(views.label("edit", NOTHING_SAVED))
    except (GateError, SetupError) as error:
        _say_refused(error, terminal)
    return None


def _edited(given: Any) -> str:
    """Name the gate whose plan an answer edits; empty for any other entry."""
    answer = given.resume if isinstance(given, Command) else None
    return str(answer["gate_id"]) if isinstance(answer, dict) and answer.get("type") == "edit" else ""


def _say_refused(error: PlanwrightError, terminal: Terminal) -> None:
    terminal.screen.print(views.label("refused", error.cause, "red"))
    terminal.screen.print(views.label("next", error.next_step))


def _say_how_to_answer(waiting: Mapping[str, Any], where: str, terminal: Terminal, watch: Watch) -> None:
    _show_card(waiting, terminal, watch)
    terminal.screen.print(views.label("waiting", f"for a decision over {_question(waiting)}"))
    terminal.screen.print(views.label("approve", f"planwright approve {waiting['gate_id']}{where}"))
    if waiting["kind"] == "plan":
        terminal.screen.print(views.label("edit", f"planwright edit {waiting['gate_id']}{where}"))
        say = f'planwright respond {waiting["gate_id"]}{where} "what should be different"'
        if waiting["shown"].get("replans_left"):
            terminal.screen.print(views.label("respond", say))
    terminal.screen.print(
        views.label("reject", f'planwright reject {waiting["gate_id"]}{where} --reason "…"')
    )


def _show_card(waiting: Mapping[str, Any], terminal: Terminal, watch: Watch) -> None:
    """Show what is decided over, unless it is the plan just shown."""
    if waiting["kind"] == "step":
        terminal.screen.print(views.call_view(waiting["shown"]))
    elif not watch.shown(waiting["shown"]):
        terminal.screen.print(views.plan_view(waiting["shown"]))


def _question(waiting: Mapping[str, Any]) -> str:
    shown = waiting["shown"]
    what = shown.get("capability")
    if waiting["kind"] == "plan":
        what = f"the plan above, {len(shown['steps'])} step{'s' * (len(shown['steps']) != 1)}"
    return f"{what}, risk {shown['risk']}; valid until {waiting['expires_at'][:19].replace('T', ' ')} UTC"
