"""A value on the screen: none of its rows can pass for another argument, however it is written."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.table import Table

from planwright.cli.views.rendering import argument, console


def rows(name: str, value: object, width: int = 40) -> list[str]:
    """Show an argument, eleven cells in, on a terminal of some width."""
    out = io.StringIO()
    Console(file=out, width=width).print(argument(name, value, 11))
    return [row.rstrip() for row in out.getvalue().splitlines()]


def test_rows_but_the_first_stand_deeper() -> None:
    shown = rows("text", "hello\nto: eve@evil.example\n" + "x" * 30)
    assert shown == [
        " " * 11 + "text: hello",
        " " * 15 + "to: eve@evil.example",
        " " * 15 + "x" * 25,
        " " * 15 + "x" * 5,
    ]


def test_empty_lines_are_counted_and_push_nothing_off_the_screen() -> None:
    shown = rows("text", "hello" + "\n" * 60 + "\n \t\nand pay eve")
    assert shown == [
        " " * 11 + "text: hello",
        " " * 15 + "… (61 empty lines)",
        " " * 15 + "and pay eve",
    ]


def test_a_list_is_shown_as_json() -> None:
    assert rows("to", ["kim@a.example"]) == [" " * 11 + 'to: ["kim@a.example"]']


def test_lines_in_a_pipe_end_where_their_text_ends(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("thread", "status", box=None, pad_edge=False)
    table.add_row("t1", "completed\n\nby demo")
    for stderr in (False, True):
        console(stderr).print(argument("text", "a\n\nb", 2))
        console(stderr).print(table)
    shown = "  text: a\n\n      b\nthread  status\nt1      completed\n\n        by demo\n"
    assert capsys.readouterr() == (shown, shown)


def test_a_prompt_in_a_pipe_keeps_the_space_at_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    console().print("sure? ", end="")
    assert capsys.readouterr().out == "sure? "
