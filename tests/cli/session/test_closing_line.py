"""The line that a run closes with fits a row of a terminal, and is whole in a pipe."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from planwright.cli.session.closing_line import closing_line
from planwright.cli.session.terminal import Terminal
from planwright.cli.views.rendering import LABEL
from planwright.presentation.run_view import RunView
from planwright.settings.settings import load
from tests.cli.conftest import Waiting
from tests.cli.desk import Desk

EMBEDDED = RunView(model_calls=2, embedded_calls=2)
MODEL = RunView(model_calls=5, tokens=12_345, unpriced=5)
PHRASE = "by the embedded planner, not a language model"


def line(desk: Desk, waiting: Waiting, view: RunView, width: int, *, talking: bool = False) -> str:
    """Close a run at a terminal of some width."""
    terminal = Terminal(False, True, talking=talking, screen=Console(file=io.StringIO(), width=width))
    run = {
        "run_id": waiting.run_id,
        "thread_id": waiting.thread_id,
        "tenant": "local",
        "status": "completed",
        "context": "{}",
        "answer": "",
    }
    return closing_line(load(desk.folder), run, view, "", terminal)


@pytest.mark.parametrize(
    ("view", "briefly", "whole"),
    [
        (EMBEDDED, " · embedded planner, no model", f" · {PHRASE}"),
        (MODEL, " · 12,345 tokens, unpriced", " · 5 model calls, 12,345 tokens, cost unpriced"),
        (RunView(), "", ""),
    ],
    ids=["embedded", "model", "neither"],
)
def test_it_is_one_row_of_80_columns_and_whole_where_there_is_room(
    desk: Desk, waiting: Waiting, view: RunView, briefly: str, whole: str
) -> None:
    narrow, wide = (line(desk, waiting, view, width) for width in (80, 200))
    assert cell_len(narrow) <= 80 - LABEL
    assert narrow.endswith(briefly)
    assert wide == f"completed · planwright show {waiting.thread_id}{whole}"
    shown = narrow.split(" · ")[1].removeprefix("planwright show ")
    assert desk.run("show", shown, "--json").json["run_id"] == waiting.run_id


def test_an_id_that_shares_its_beginning_is_not_shortened(desk: Desk, waiting: Waiting) -> None:
    other = f"{waiting.thread_id[:8]}-other"
    desk.change("INSERT INTO runs SELECT " + ", ".join(_columns(desk, other)) + " FROM runs LIMIT 1")
    assert waiting.thread_id in line(desk, waiting, EMBEDDED, 80)


def test_nothing_is_said_of_the_embedded_planner_in_a_conversation(desk: Desk, waiting: Waiting) -> None:
    assert PHRASE not in line(desk, waiting, EMBEDDED, 200, talking=True)


def _columns(desk: Desk, thread_id: str) -> list[str]:
    """List what a copy of a run on another thread holds, column by column."""
    names = [str(row[1]) for row in desk.rows("PRAGMA table_info(runs)")]
    changed = {"run_id": "'run_other'", "thread_id": f"'{thread_id}'"}
    return [changed.get(name, name) for name in names]
