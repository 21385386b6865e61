"""Drive a run from a terminal: stream it, ask at its gates, print its answer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, Interrupt

from planwright.cli.session.asking import (
    Approver,
    asker,
    edited_gate,
    print_interrupted,
    print_refused,
    who,
)
from planwright.cli.session.editing import NOTHING_SAVED, Drafts, from_file
from planwright.cli.session.ending import EXIT, finish, print_report
from planwright.cli.session.logs import load_logged
from planwright.cli.session.provider_wait import waited_for_provider, waits
from planwright.cli.session.terminal import RunWatch
from planwright.cli.session.terminal import Terminal as Terminal
from planwright.cli.views import rendering as views
from planwright.cli.views.gate_view import gate_view
from planwright.cli.views.open_store import has_workspace
from planwright.cli.views.run_list import questions
from planwright.cli.views.run_views import find_gate, find_run, open_gates, recorded_events
from planwright.domain.errors import INTERRUPTED, GateError, PartsElsewhere, SetupError
from planwright.domain.run_context import RunContext, read_context
from planwright.graph.building import build_graph
from planwright.graph.entry.control import Control
from planwright.models.providers.router import Router
from planwright.presentation.rows import JsonObject
from planwright.records.stores import open_stores
from planwright.settings.settings import Settings


def start(
    request: str,
    workspace: Path,
    thread: str | None,
    options: RunContext,
    terminal: Terminal,
) -> int:
    """Begin a run and follow it to its end or to a gate. Returns the exit code."""
    settings = load_logged(workspace)
    _print_outer(settings, terminal)
    Router(settings).route(options.provider)  # one that is not there begins no run
    patience = settings.approval.plan_timeout_s if terminal.interactive else None
    context = replace(options, channel="cli", requested_by=who(), gate_ttl_s=patience)
    return follow(settings, begun_with(request), thread or str(uuid.uuid4()), context, terminal)


def dry_run(request: str, workspace: Path, options: RunContext, terminal: Terminal) -> int:
    """Plan and verify a request, and run nothing."""
    context = replace(options, dry_run=True, channel="cli", planning_mode="always")
    settings = load_logged(workspace)
    _print_outer(settings, terminal)
    return follow(settings, begun_with(request), str(uuid.uuid4()), context, terminal)


def _print_outer(settings: Settings, terminal: Terminal) -> None:
    """Say that there is a workspace above a folder that holds none yet: perhaps that one is meant."""
    here, *above = (settings.workspace, *settings.workspace.parents)
    holds = [folder for folder in (here, *above) if has_workspace(folder)]
    if holds and holds[0] != here:
        text = f"{here} begins a workspace of its own; the one above it: -w {shlex.quote(str(holds[0]))}"
        terminal.screen.print(views.label("note", text, "yellow"))


def answer_gate(
    which: str | None, decision: Mapping[str, object], workspace: Path, terminal: Terminal
) -> int:
    """Answer a gate and follow the run on."""
    settings = load_logged(workspace)
    gate = find_gate(settings, which)
    unnamed = which in (None, "last")
    if unnamed and gate["kind"] in ("plan", "step") and not terminal.as_json:
        card = gate["shown"]
        terminal.screen.print(gate_view(str(gate["kind"]), card, whole=terminal.verbose))
    resume = {**decision, "gate_id": gate["gate_id"], "decided_by": who()}
    answering = RunContext(channel="cli")
    return follow(settings, Command(resume=resume), str(gate["thread_id"]), answering, terminal)


def reply(which: str | None, words: str, workspace: Path, terminal: Terminal) -> int:
    """Respond at a gate, or answer the question a run has ended with: the next run of its thread."""
    settings = load_logged(workspace)
    if which is None and (open_gates(settings, words) or questions(settings, words)):
        raise GateError("the answer is missing", f'say it: planwright respond {words} "…"')
    gates, asking = open_gates(settings, which), questions(settings, which)
    if not asking:
        return answer_gate(which, {"type": "respond", "message": words}, workspace, terminal)
    if gates or len(asking) > 1:
        ids = [row["gate_id"] for row in gates] + [row["thread_id"] for row in asking]
        raise GateError(f"there are several to answer: {', '.join(ids[:5])}", "name the one you mean")
    patience = settings.approval.plan_timeout_s if terminal.interactive else None
    options = read_context(json.loads(asking[0]["context"]))
    context = replace(options, channel="cli", gate_ttl_s=patience)
    return follow(settings, begun_with(words), str(asking[0]["thread_id"]), context, terminal)


def begun_with(request: str) -> JsonObject:
    """Spell what a run begins with."""
    return {"messages": [{"role": "user", "content": request}]}


def edit_plan(
    which: str | None, file: str | None, only_print: bool, workspace: Path, terminal: Terminal
) -> int:
    """Change the plan of a gate by hand or from a file, and follow the run to its new gate."""
    settings = load_logged(workspace)
    gate, drafts = find_gate(settings, which), Drafts(settings)
    if gate["kind"] != "plan" or gate["status"] != "open":
        state = "asks about one call, not about a plan" if gate["kind"] != "plan" else f"is {gate['status']}"
        raise GateError(f"gate {gate['gate_id']} {state}", "see what waits: planwright ls --waiting")
    draft = (gate["gate_id"], gate["shown"])
    if only_print:
        sys.stdout.write(drafts.text(*draft))
        return 0
    if file is None and (terminal.no_input or not sys.stdin.isatty()):
        raise SetupError(
            "there is no terminal for an editor",
            f"planwright edit {gate['gate_id']} --print > plan.yaml, change it, and --file plan.yaml",
        )
    try:
        edit = drafts.open(*draft) if file is None else from_file(file)
        if edit is None:
            terminal.screen.print(views.label("edit", NOTHING_SAVED))
            return EXIT["waiting"]
        answered: Command[Any] = Command(resume={**edit, "gate_id": gate["gate_id"], "decided_by": who()})
        return follow(settings, answered, str(gate["thread_id"]), RunContext(channel="cli"), terminal)
    except GateError as error:
        if file is not None or not drafts.has_draft(gate["gate_id"]):
            raise
        raise GateError(error.cause, f"your text is kept: planwright edit {gate['gate_id']}") from error


def recover(
    thread: str,
    workspace: Path,
    terminal: Terminal,
    *,
    take_over: bool = False,
    migrate: bool = False,
    snapshot: str | None = None,
) -> int:
    """Go on with an interrupted run, or with one that another process holds or other settings began."""
    settings = load_logged(workspace)
    thread_id = str(find_run(settings, thread)["thread_id"])
    if take_over:
        with contextlib.closing(open_stores(settings.store_folder, url=settings.store_url)) as stores:
            holder = asyncio.run(Control(stores).take_over(thread_id))
        sys.stderr.write(f"taken over from {holder}\n" if holder else "nobody held it\n")
    if migrate:
        with build_graph(settings) as agent:
            parts = agent.migrate(thread_id, snapshot, who())
        sys.stderr.write(f"goes on with other {', '.join(parts)}\n" if parts else "nothing has changed\n")
    return follow(settings, None, thread_id, RunContext(channel="cli", snapshot=snapshot), terminal)


def follow(
    settings: Settings,
    entry: object,
    thread: str,
    context: RunContext | None,
    terminal: Terminal,
    approver: Approver | None = None,
) -> int:
    """Stream a run; at a gate ask whoever is there, or say how to answer later."""
    watch, undoable = RunWatch(terminal, settings), 0
    if entry is None or isinstance(entry, Command):
        context = _recalled(settings, thread, context, watch)
    agent, drafts = build_graph(settings), Drafts(settings)
    config: RunnableConfig = {"configurable": {"thread_id": thread}}
    views.print_absent(agent.servers.problems)
    ask = approver or (asker(drafts, watch, agent) if terminal.interactive else None)
    edited, answered, pauses = edited_gate(entry), False, waits()
    waiting: Sequence[Interrupt] = ()
    try:
        while True:
            waiting = ()  # what it waited for is being answered
            try:
                watch.stream(agent, entry, config, context)
                drafts.accepted(edited)
            except GateError as error:
                drafts.refused(edited, error)
                if not (edited and answered):
                    raise
                print_refused(error, terminal)
            waiting = agent.get_state(config).interrupts
            if waited_for_provider(find_run(settings, thread), pauses, terminal):
                entry, edited = None, ""
                continue
            if (mine := _own_interrupt(waiting)) is None or ask is None:
                break
            answer = ask(mine.value, terminal)
            entry, answered = answer and Command(resume={mine.id: answer}), answer is not None
            edited = edited_gate(answer and Command(resume=answer))
        undoable = 0 if waiting else agent.loop.call(lambda: agent.undoing.count(thread))
    except PartsElsewhere as error:
        return left_to_another(error, settings, thread, terminal)
    except EOFError:
        terminal.screen.print()  # nobody answered: the gate stays open
    except KeyboardInterrupt:
        print_interrupted(f"{thread}{views.where_option(settings.workspace)}", waiting, terminal)
        return INTERRUPTED
    finally:
        agent.close()
    cards = [interrupt.value for interrupt in waiting]
    return finish(settings, find_run(settings, thread), cards, terminal, watch, undoable)


def _own_interrupt(waiting: Sequence[Interrupt]) -> Interrupt | None:
    """Find the first gate that the person at the terminal has not approved already."""
    return next((each for each in waiting if who() not in each.value.get("approvals", ())), None)


def _recalled(settings: Settings, thread: str, context: RunContext | None, watch: RunWatch) -> RunContext:
    """Show what a run did so far, and go on as its tenant."""
    run = find_run(settings, thread)
    watch.recall(recorded_events(settings, run["run_id"]))
    return replace(context or RunContext(), tenant=run["tenant"])


def left_to_another(error: PartsElsewhere, settings: Settings, thread: str, terminal: Terminal) -> int:
    """Say that a run goes on in another process, in words or by its report. Returns the exit code."""
    if not terminal.as_json:
        raise error
    print_report(settings, find_run(settings, thread)["run_id"])
    return error.exit_code
