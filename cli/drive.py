"""Drive a run from a terminal: stream it, ask at its gates, print its answer."""

from __future__ import annotations

import json
import os
import pwd
import sys
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command
from rich.console import Console

from planwright.cli import views
from planwright.cli.inspect import find_gate, find_run, report
from planwright.graph.agent import Agent, build_graph
from planwright.graph.results import RunStatus
from planwright.graph.run_context import PlanningMode, RunContext
from planwright.graph.settings import Settings, load

Approver = Callable[[Mapping[str, Any], "Terminal"], dict[str, str]]

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


@dataclass(frozen=True)
class Terminal:
    """Where progress goes (stderr), and whether anybody is there to ask."""

    as_json: bool
    no_input: bool
    screen: Console = field(default_factory=lambda: views.console(stderr=True))

    @property
    def interactive(self) -> bool:
        """Whether a person can be asked."""
        return not self.no_input and not self.as_json and sys.stdin.isatty() and self.screen.is_terminal


def start(
    request: str,
    workspace: Path,
    thread: str | None,
    planning: PlanningMode | None,
    provider: str | None,
    terminal: Terminal,
) -> int:
    """Begin a run and follow it to its end or to a gate. Returns the exit code."""
    settings = load(workspace)
    context = RunContext(
        planning_mode=planning,
        provider=provider,
        channel="cli",
        gate_ttl_s=settings.approval.plan_timeout_s if terminal.interactive else None,
    )
    message = {"messages": [{"role": "user", "content": request}]}
    return follow(settings, message, thread or str(uuid.uuid4()), context, terminal)


def dry_run(request: str, workspace: Path, provider: str | None, terminal: Terminal) -> int:
    """Plan and verify a request, and run nothing."""
    context = RunContext(dry_run=True, provider=provider, channel="cli", planning_mode="always")
    message = {"messages": [{"role": "user", "content": request}]}
    return follow(load(workspace), message, str(uuid.uuid4()), context, terminal)


def answer(which: str | None, decision: Mapping[str, Any], workspace: Path, terminal: Terminal) -> int:
    """Answer a gate and follow the run on."""
    settings = load(workspace)
    gate = find_gate(settings, which)
    given = {**decision, "gate_id": gate["gate_id"], "decided_by": who()}
    answering = RunContext(channel="cli")
    return follow(settings, Command(resume=given), str(gate["thread_id"]), answering, terminal)


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
    agent = build_graph(settings)
    config: RunnableConfig = {"configurable": {"thread_id": thread}}
    ask = approver or (_ask if terminal.interactive else None)
    try:
        while True:
            _stream(agent, given, config, context, terminal)
            waiting = agent.get_state(config).interrupts
            if not waiting or ask is None:
                break
            given = Command(resume={waiting[0].id: ask(waiting[0].value, terminal)})
    except EOFError:
        terminal.screen.print()  # nobody answered: the gate stays open
    except KeyboardInterrupt:
        where = f" -w {settings.workspace}" if settings.workspace != Path.cwd() else ""
        terminal.screen.print(f"\ninterrupted; nothing is lost: planwright resume {thread}{where}")
        return 130
    finally:
        agent.close()
    return finish(settings, find_run(settings, thread), [found.value for found in waiting], terminal)


def finish(settings: Settings, run: Mapping[str, Any], waiting: list[Any], terminal: Terminal) -> int:
    """Print the answer on stdout and, on stderr, where to look again. Returns the exit code."""
    status: RunStatus = run["status"]
    where = f" -w {settings.workspace}" if settings.workspace != Path.cwd() else ""
    if terminal.as_json:
        print(json.dumps(report(settings, run["run_id"]), ensure_ascii=False, indent=2))
    elif waiting:
        for asked in waiting:
            _say_how_to_answer(asked, where, terminal)
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


def _stream(
    agent: Agent, given: Any, config: RunnableConfig, context: RunContext | None, terminal: Terminal
) -> None:
    for mode, chunk in agent.stream(given, config, context=context, stream_mode=["custom", "updates"]):
        line = None
        if mode == "custom":
            line = views.event_line(chunk)
        elif route := (chunk.get("capability_routing") or {}).get("route"):
            line = views.model_line(route.model_dump())
        if line is not None and not terminal.as_json:
            terminal.screen.print(line)


def _ask(waiting: Mapping[str, Any], terminal: Terminal) -> dict[str, str]:
    """Ask the person at the terminal about one open gate."""
    if waiting["kind"] == "step":
        terminal.screen.print(views.call_view(waiting["shown"]))
    terminal.screen.print(views.label("approve?", _question(waiting)))
    terminal.screen.print("           [y] approve   [n] reject   or type why not: ", end="", markup=False)
    typed = input().strip()
    if typed.lower() in ("y", "yes"):
        return {"type": "approve", "decided_by": who()}
    reason = "" if typed.lower() in ("", "n", "no") else typed
    return {"type": "reject", "message": reason, "decided_by": who()}


def _say_how_to_answer(waiting: Mapping[str, Any], where: str, terminal: Terminal) -> None:
    if waiting["kind"] == "step":
        terminal.screen.print(views.call_view(waiting["shown"]))
    terminal.screen.print(views.label("waiting", f"for a decision over {_question(waiting)}"))
    terminal.screen.print(views.label("approve", f"planwright approve {waiting['gate_id']}{where}"))
    terminal.screen.print(
        views.label("reject", f'planwright reject {waiting["gate_id"]}{where} --reason "…"')
    )


def _question(waiting: Mapping[str, Any]) -> str:
    shown = waiting["shown"]
    what = (
        f"the plan above, {len(shown['steps'])} steps" if waiting["kind"] == "plan" else shown["capability"]
    )
    return f"{what}, risk {shown['risk']}; valid until {waiting['expires_at'][:19].replace('T', ' ')} UTC"
