"""The demo workspace: a folder with mail, a calendar, notes and tickets for the agent to work on."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from planwright.extras.demo.agenda import write_calendar
from planwright.extras.demo.mail import write_maildir
from planwright.extras.demo.notes import NOTES

MARKER = ".planwright-demo"
MARKER_TEXT = "This folder was written by the Planwright demo: everyone and everything in it is made up.\n"

TICKETS_SCHEMA = """
CREATE TABLE tickets (
    id INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    body TEXT NOT NULL DEFAULT '',
    amount TEXT,
    status TEXT NOT NULL DEFAULT 'open',
    created_at TEXT NOT NULL,
    effect_key TEXT UNIQUE
)
"""

TICKETS = [
    (
        "Gateway in hall 3 drops offline at night (Green Acres)",
        "Every night at about 02:10, back after two minutes. Log rotation blocks the radio; fixed in 2.4.",
        None,
        "closed",
        "2026-09-09T06:20:00+00:00",
    ),
    (
        "Four sensors missing in delivery to Hartmann",
        "The delivery note says twelve, the box held eight. Find out where the other four are.",
        None,
        "open",
        "2026-09-07T09:05:00+00:00",
    ),
    (
        "Pay Initech calibration service",
        "Invoice 88-2041, October payment run.",
        "CHF 540.00",
        "closed",
        "2026-09-16T08:00:00+00:00",
    ),
    (
        "Battery estimate too optimistic below 5 degrees",
        "Six percent too high in the cold chamber. Customer wants to confirm the fix in 2.5.",
        None,
        "open",
        "2026-09-04T15:10:00+00:00",
    ),
    (
        "Reply to application for working student",
        "Noémi Laurent, could start in January. Invite her before the end of November.",
        None,
        "open",
        "2026-10-19T07:40:00+00:00",
    ),
    (
        "Quote for two more greenhouses (Lefèvre)",
        "Wanted before the end of the year; same sensors as in the first installation.",
        None,
        "open",
        "2026-11-03T10:02:00+00:00",
    ),
]


def write_workspace(folder: Path) -> None:
    """Fill a folder with demo mail, calendar, notes and tickets, and leave every file that is there alone.

    The marker comes last: a complete workspace is never touched again, so what its user has
    deleted stays deleted, and one whose writing was cut short is completed.
    """
    if is_demo_workspace(folder):
        return
    folder.mkdir(parents=True, exist_ok=True)
    write_maildir(folder / "mail")
    write_calendar(folder / "calendar")
    _write_notes(folder / "notes")
    _write_tickets(folder / "tickets.db")
    (folder / MARKER).write_text(MARKER_TEXT, encoding="utf-8")


def is_demo_workspace(folder: Path) -> bool:
    """Tell whether `write_workspace` has completed this folder."""
    return (folder / MARKER).is_file()


def _write_notes(folder: Path) -> None:
    """Write the notes that are missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in NOTES.items():
        if not (folder / name).exists():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")


def _write_tickets(path: Path) -> None:
    """Create the table with its rows in one transaction, unless the database has the table already."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("BEGIN IMMEDIATE")
        if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'tickets'").fetchone():
            return
        db.execute(TICKETS_SCHEMA)
        db.executemany(
            "INSERT INTO tickets (title, body, amount, status, created_at) VALUES (?, ?, ?, ?, ?)", TICKETS
        )
