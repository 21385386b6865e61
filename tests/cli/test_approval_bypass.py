"""Attempts to get past an approval on the command line: each is refused in a few lines and has no effect."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

from planwright.cli.views.call_card import call_view
from planwright.cli.views.plan_card import plan_view
from planwright.cli.views.printable import safe
from tests.cli.conftest import Waiting, ask
from tests.cli.desk import Desk, refusal

Args = Callable[[Waiting], list[str]]
PLAN = {"steps": [{"id": "s1"}]}


@dataclass(frozen=True)
class Attempt:
    """A command over a run that waits to write note.md; `typed` is its stdin."""

    args: Args
    typed: str = ""


def edit(**fields: object) -> Attempt:
    """Edit the only step, from stdin."""
    text = json.dumps({"steps": [{"id": "s1", **fields}]})
    return Attempt(lambda w: ["edit", w.gate_id, "--file", "-"], text)


ATTEMPTS: dict[str, Attempt] = {
    "a gate with a hidden character": Attempt(lambda w: ["approve", f"{w.gate_id}\u200b"]),
    "a pattern": Attempt(lambda w: ["approve", "gate_%"]),
    "the beginning of the hash": Attempt(lambda w: ["approve", w.gate_id, "--plan-hash", w.plan_hash[:12]]),
    "an empty hash": Attempt(lambda w: ["approve", w.gate_id, "--plan-hash", ""]),
    "a response without words": Attempt(lambda w: ["respond", w.gate_id, " "]),
    "an edit of the gate": edit(own_gate=False, risk="None"),
    "an edit of another plan": Attempt(
        lambda w: ["edit", w.gate_id, "--file", "-"], json.dumps({**PLAN, "plan_hash": "0" * 64})
    ),
    "an edit that leaves the workspace": edit(params={"path": "../note.md", "text": "hello"}),
}


@pytest.fixture(scope="module")
def waiting_desk(template: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, Waiting]:
    """A workspace whose request waits for all attempts: none of them changes anything."""
    folder = tmp_path_factory.mktemp("bypass") / "desk"
    shutil.copytree(template, folder)
    return Desk(folder), ask(folder, "Save hello to note.md")


def untouched(desk: Desk, waiting: Waiting) -> None:
    """Demand that a run waits as before."""
    assert desk.rows("SELECT gate_id, status FROM gates") == [(waiting.gate_id, "open")]
    assert desk.rows("SELECT run_id, status FROM runs") == [(waiting.run_id, "waiting")]
    assert desk.rows("SELECT count(*) FROM effects") == [(0,)]
    assert not (desk.folder / "note.md").exists()
    assert not (desk.folder.parent / "note.md").exists()


@pytest.mark.parametrize("name", ATTEMPTS)
def test_an_attempt_is_refused_and_changes_nothing(name: str, waiting_desk: tuple[Desk, Waiting]) -> None:
    desk, waiting = waiting_desk
    done = desk.run(*ATTEMPTS[name].args(waiting), typed=ATTEMPTS[name].typed)
    assert done.code == 2
    assert refusal(done).replace("\n", "").isprintable()
    untouched(desk, waiting)


def test_a_yes_that_was_piped_in_is_no_answer(desk: Desk) -> None:
    done = desk.run("run", "Save hello to note.md", typed="y\ny\n")
    assert done.code == 3
    assert desk.rows("SELECT status FROM gates") == [("open",)]
    assert not (desk.folder / "note.md").exists()


def test_of_two_commands_at_the_same_moment_one_is_taken_and_a_third_comes_too_late(
    desk: Desk, waiting: Waiting
) -> None:
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda _: desk.run("approve", waiting.gate_id), range(2)))
    assert sorted(outcome.code for outcome in done) == [0, 2]
    assert desk.run("approve", waiting.gate_id).code == 2
    assert desk.rows("SELECT status FROM gates") == [("approved",)]
    assert desk.rows("SELECT status FROM effects") == [("done",)]


def test_what_was_cancelled_cannot_be_approved(desk: Desk, waiting: Waiting) -> None:
    assert desk.run("cancel", waiting.thread_id).code == 0
    done = desk.run("approve", waiting.gate_id)
    assert done.code == 2
    assert "cancelled" in refusal(done)
    assert not (desk.folder / "note.md").exists()


HIDDEN = {
    "a cleared line": "\x1b[2K\r",
    "a moved cursor": "\x1b[1A",
    "a title": "\x1b]0;x\x07",
    "a backspace": "\b\b\b",
    "a null": "\0",
    "a C1 control": "\x9b2K",
    "a right-to-left override": "\u202e",
    "an isolate": "\u2066\u2069",
    "a mark of direction": "\u200f",
    "an Arabic mark": "\u061c",
    "a zero-width space": "\u200b",
    "a zero-width joiner": "\u200d",
    "a soft hyphen": "\u00ad",
    "a line separator": "\u2028",
    "a word joiner": "\u2060",
    "a byte order mark": "\ufeff",
    "a filler": "\u3164",
    "a narrow filler": "\uffa0",
    "a grapheme joiner": "\u034f",
    "a braille blank": "\u2800",
    "a tag": "\U000e0041",
    "a variation selector": "\U000e0101",
    "a half of a pair": "\ud800",
    "a private letter": "\ue000",
}


@pytest.mark.parametrize("name", HIDDEN)
def test_no_character_hides_an_argument_on_a_card(name: str) -> None:
    hidden = HIDDEN[name]
    step = {"id": f"s{hidden}1", "capability": "files.write", "params": {f"path{hidden}": f"a{hidden}b"}}
    facts = {"risk": "High", "mode": "local_write", "effect": "idempotent", "own_gate": True, "after": []}
    call = {**facts, **step, "description": hidden, "reason": hidden, "args": step["params"]}
    for card in (plan_view({"goal": hidden, "risk": "High", "steps": [{**step, **facts}]}), call_view(call)):
        screen = Console(width=120, color_system=None)
        with screen.capture() as captured:
            screen.print(card)
        shown = captured.get()
        assert not {sign for sign in hidden if not " " <= sign <= "~"} & set(shown)
        assert f"a{safe(hidden)}b" in shown
        assert safe(hidden).isascii()


def test_a_hidden_character_in_a_request_shows_where_its_plan_is_shown(desk: Desk) -> None:
    waiting = ask(desk.folder, 'Save "hello\u202e\u3164\u200bolleh" to note.md')
    shown = desk.run("show", waiting.thread_id).printed
    assert not {"\u202e", "\u3164", "\u200b"} & set(shown)
    assert "\\u202e\\u3164\\u200b" in shown
