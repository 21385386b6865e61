"""`planwright demo`: the main job on a workspace of its own, with a real mailbox and a real webhook."""

from __future__ import annotations

import sqlite3
import uuid
from contextlib import closing
from pathlib import Path

from planwright.capabilities.policy.decide import host_of
from planwright.capabilities.trust.guard import trust_folder
from planwright.cli.session.asking import Approver, who
from planwright.cli.session.drive import Terminal, follow
from planwright.cli.session.logs import load_logged
from planwright.cli.views import rendering as views
from planwright.domain.errors import INTERRUPTED, SetupError
from planwright.domain.run_context import RunContext
from planwright.extras.demo.service import Webhook
from planwright.extras.demo.workspace import is_demo_workspace, write_workspace
from planwright.extras.web.web_command import open_page
from planwright.presentation.rows import Card, JsonObject
from planwright.settings.settings import FILE_NAME, load
from planwright.store.store_origin import OURS

REQUEST = (
    "Search my emails for the invoice from Acme, then create a ticket with the amount"
    " and send a summary to the team channel"
)
EXAMPLES = (
    REQUEST,
    "What tickets are open?",
    "List the markdown files in notes, then summarize roadmap.md and save the summary to summary.md",
)
_CHOOSE = "choose another: planwright demo --folder DIR"
_HEADER = "# Written by `planwright demo`. The webhook runs only while the demo does.\n"


def demonstrate(folder: Path, no_input: bool, *, verbose: bool = False) -> int:
    """Write the workspace, start the webhook, run the job, and show what happened outside."""
    _write(folder)
    terminal = Terminal(as_json=False, no_input=no_input, verbose=verbose)
    say = terminal.screen.print
    say(
        views.label("demo", f"workspace {folder}: a mailbox, tickets.db, notes (yours to look at and change)")
    )
    with Webhook(folder / "webhook.db", faults=1) as webhook:
        _configure(folder, webhook.url)
        say(views.label("webhook", f"{webhook.url}, its own process; its first answer will be a 503"))
        say(views.label("request", REQUEST))
        if not terminal.interactive:
            say(
                views.label(
                    "note",
                    "no terminal to ask at: the demo approves its own plan in its own workspace",
                    "yellow",
                )
            )
        message = {"messages": [{"role": "user", "content": REQUEST}]}
        settings = load_logged(folder)
        ttl = settings.approval.plan_timeout_s if terminal.interactive else None
        context = RunContext(
            channel="demo",
            requested_by=who(),
            provider="embedded",
            planning_mode="auto",
            gate_ttl_s=ttl,
        )
        approver = None if terminal.interactive else _approve_own(folder)
        code = follow(settings, message, str(uuid.uuid4()), context, terminal, approver)
    if code == 0:
        _show_outside(folder, terminal)
    elif code == INTERRUPTED:
        cause = "the webhook has ended with the demo, so this run can send nothing more"
        say(views.label("note", f"{cause}; begin anew: planwright demo --folder {folder}", "yellow"))
    return code


def demonstrate_page(folder: Path, port: int | None, browser: bool) -> int:
    """Write the workspace, start the webhook, and serve the page with examples, until Ctrl-C."""
    _write(folder)
    with Webhook(folder / "webhook.db", faults=1) as webhook:
        _configure(folder, webhook.url)
        return open_page(folder, port, browser, EXAMPLES)


def _write(folder: Path) -> None:
    """Write the workspace. Raises SetupError for a folder of somebody else's."""
    try:
        if folder.exists() and any(folder.iterdir()) and not is_demo_workspace(folder):
            raise SetupError(f"{folder} is not empty and no demo workspace", _CHOOSE)
        write_workspace(folder)
    except OSError as error:
        raise SetupError(f"{folder} cannot be a workspace: {error.strerror}", _CHOOSE) from error


def _approve_own(folder: Path) -> Approver:
    """Make the demo's approver; it refuses to approve anywhere but in a demo workspace."""

    def approve(waiting: Card, terminal: Terminal) -> JsonObject:
        if not is_demo_workspace(folder):
            raise SetupError(f"{folder} is no demo workspace", "run planwright demo in a terminal")
        return {"type": "approve", "decided_by": "demo"}

    return approve


def _configure(folder: Path, url: str) -> None:
    """Write the workspace's settings, unless a person has made them their own."""
    path = folder / FILE_NAME
    if path.exists() and not path.read_text("utf-8").startswith(_HEADER):
        return
    host = host_of(url)
    path.write_text(f'{_HEADER}[channels.team]\nurl = "{url}"\n\n[egress]\nallow = ["{host}"]\n', "utf-8")
    trust_folder(load(folder), OURS, ("channels.team.url", "egress.allow"))


def _show_outside(folder: Path, terminal: Terminal) -> None:
    """Read what the run left in the ticket database and in the webhook's own log."""
    say = terminal.screen.print
    with closing(sqlite3.connect(folder / "tickets.db")) as tickets:
        row = tickets.execute("SELECT id, title, amount FROM tickets ORDER BY id DESC LIMIT 1").fetchone()
    say(views.label("outside", f"tickets.db: #{row[0]} {row[1]}, amount {row[2]}"))
    with closing(sqlite3.connect(folder / "webhook.db")) as log:
        rows = log.execute("SELECT status, idempotency_key FROM requests ORDER BY id DESC LIMIT 2").fetchall()
        text = log.execute("SELECT text FROM messages ORDER BY id DESC LIMIT 1").fetchone()
    for status, key in reversed(rows):
        say(views.label("", f"webhook.db: answered {status}, Idempotency-Key {str(key)[:12]}…"))
    say(views.label("", f"webhook.db: message {text[0] if text else 'none'!r}"))
