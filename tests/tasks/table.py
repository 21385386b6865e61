"""Seven things somebody asks for in the first hour, each with its workspace and what has to come of it.

Each is played with a model that plans it, and with the embedded planner in the same words.
"""

from __future__ import annotations

import mailbox
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path
from typing import Any

Plan = tuple[dict[str, Any], ...]


def step(id_: str, capability: str, **params: Any) -> dict[str, Any]:
    """Write one step as a model does."""
    return {"id": id_, "capability": capability, "params": params, "estimated_risk": "None"}


@dataclass(frozen=True)
class Task:
    """Something that is asked for, and how to tell that it was done."""

    name: str
    request: str
    plan: Plan
    shown: tuple[str, ...]
    """Texts that have to stand on the screen."""
    done: Callable[[Path], bool] = lambda folder: True
    """Whether the world is as it has to be afterwards."""
    asks: bool = False
    """Whether it stops at a gate."""
    fill: Callable[[Path], None] = lambda folder: None


def write_mails(folder: Path) -> None:
    """Write a folder of .eml files, as a mail program exports them."""
    letters = (
        ("Lena Ortiz <lena@acme.example>", "Delivery moved", "The sensors come on Thursday instead."),
        ("Tom Reed <tom@north.example>", "Lunch", "Lunch on Friday?"),
        ("Lena Ortiz <lena@acme.example>", "Invoice 2231", "Total due: EUR 1,480.00 by 2026-12-10."),
    )
    (folder / "mail" / "export").mkdir(parents=True)
    for number, (sender, subject, text) in enumerate(letters):
        letter = EmailMessage()
        letter["From"], letter["Subject"] = sender, subject
        letter["Date"] = f"{10 + number} Nov 2026 09:00:00 +0000"
        letter.set_content(text)
        (folder / "mail" / "export" / f"{number}.eml").write_bytes(letter.as_bytes())


def write_maildir(folder: Path) -> None:
    """Write a maildir with one invoice."""
    letter = EmailMessage()
    letter["From"], letter["Subject"] = "Acme Billing <billing@acme.example>", "Invoice 2231"
    letter["Date"] = "11 Nov 2026 09:00:00 +0000"
    letter.set_content("Dear team,\n\nplease find our invoice.\n\nTotal due: EUR 1,480.00\n")
    mailbox.Maildir(folder / "mail").add(letter)


def write_notes(folder: Path) -> None:
    """Write two notes."""
    (folder / "notes").mkdir()
    (folder / "notes" / "roadmap.md").write_text(
        "# Roadmap\n\nThe beta ships in March. Pricing is decided in January. Mara owns the launch.\n"
    )
    (folder / "notes" / "retro.md").write_text(
        "# Retro\n\nThe tests were slow. We agreed to buy two more machines for the lab.\n"
    )


def write_customers(folder: Path) -> None:
    """Write a database of one's own."""
    with closing(sqlite3.connect(folder / "crm.db")) as database, database:
        database.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT)")
        rows = [("Acme", "Bonn"), ("North", "Porto"), ("Brill", "Bonn")]
        database.executemany("INSERT INTO customers (name, city) VALUES (?, ?)", rows)


def write_tickets(folder: Path) -> None:
    """Write a ticket database with two open tickets and a closed one."""
    with closing(sqlite3.connect(folder / "tickets.db")) as database, database:
        database.execute(
            "CREATE TABLE tickets (id INTEGER PRIMARY KEY, title TEXT NOT NULL,"
            " body TEXT NOT NULL DEFAULT '', amount TEXT, status TEXT NOT NULL DEFAULT 'open',"
            " created_at TEXT NOT NULL, effect_key TEXT UNIQUE)"
        )
        rows = [("Leaking roof", "open"), ("Broken lamp", "open"), ("Old keys", "closed")]
        database.executemany(
            "INSERT INTO tickets (title, status, created_at) VALUES (?, ?, '2026-11-20')", rows
        )


def titles(folder: Path) -> list[str]:
    """List the titles of all tickets."""
    if not (folder / "tickets.db").exists():
        return []
    with closing(sqlite3.connect(folder / "tickets.db")) as database:
        return [row[0] for row in database.execute("SELECT title FROM tickets ORDER BY id")]


def _text(folder: Path, name: str) -> str:
    path = folder / name
    return path.read_text("utf-8") if path.exists() else ""


TASKS = (
    Task(
        "mail",
        "what do the mails from Lena say?",
        (step("s1", "mail.search", sender="Lena"),),
        ("Delivery moved", "Invoice 2231"),
        fill=write_mails,
    ),
    Task(
        "notes",
        "which notes mention pricing? Then summarize notes/roadmap.md",
        (
            step("s1", "files.search", query="pricing", path="notes"),
            step("s2", "files.read", path="notes/roadmap.md"),
            step("s3", "text.summarize", text="{{steps.s2.output.text}}"),
        ),
        ("notes/roadmap.md", "The beta ships in March."),
        fill=write_notes,
    ),
    Task(
        "database",
        "how many customers are in Bonn?",
        (
            step(
                "s1",
                "sql.query",
                database="crm.db",
                statement="SELECT count(*) AS count FROM customers WHERE city = ?",
                parameters=["Bonn"],
            ),
        ),
        ("2",),
        fill=write_customers,
    ),
    Task(
        "service",
        "fetch {service}/prices and save it to prices.txt",
        (
            step("s1", "http.request", url="{service}/prices"),
            step("s2", "files.write", path="prices.txt", text="{{steps.s1.output.text}}"),
        ),
        ("prices.txt",),
        lambda folder: "beans 9.50" in _text(folder, "prices.txt"),
        asks=True,
    ),
    Task(
        "report",
        "write a weekly report of the open tickets to report.md",
        (
            step("s1", "tickets.list", status="open"),
            step("s2", "files.write", path="report.md", text="Open: {{steps.s1.output.tickets}}"),
        ),
        ("report.md",),
        lambda folder: (
            "Leaking roof" in _text(folder, "report.md")
            and "Broken lamp" in _text(folder, "report.md")
            and "Old keys" not in _text(folder, "report.md")
        ),
        asks=True,
        fill=write_tickets,
    ),
    Task(
        "all notes",
        "summarize all notes and save the summary to summary.md",
        (
            step("s1", "files.read_all", path="notes"),
            step("s2", "text.summarize", text="{{steps.s1.output.files}}"),
            step("s3", "files.write", path="summary.md", text="{{steps.s2.output.summary}}"),
        ),
        ("summary.md",),
        lambda folder: (
            "The beta ships in March." in _text(folder, "summary.md")
            and "two more machines" in _text(folder, "summary.md")
        ),
        asks=True,
        fill=write_notes,
    ),
    Task(
        "invoice",
        "find the invoice from Acme and open a ticket for it with the amount due",
        (
            step("s1", "mail.search", query="invoice", sender="Acme"),
            step("s2", "text.extract", text="{{steps.s1.output.messages.0.text}}", kind="amount"),
            step("s3", "tickets.create", title="Invoice from Acme", amount="{{steps.s2.output.value}}"),
        ),
        ("1,480.00",),
        lambda folder: len(titles(folder)) == 1,
        asks=True,
        fill=write_maildir,
    ),
)
