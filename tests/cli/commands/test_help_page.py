"""The help of the program: plain text, and a whole sentence for each command."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from planwright.cli.main import app


@pytest.mark.parametrize("group", [(), ("db",), ("mcp",), ("policy",)], ids=" ".join)
def test_no_sentence_is_cut_off(group: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(app, [*group, "--help"]).output
    assert "…" not in shown.split("Commands:")[1]
    assert "..." not in shown.split("Commands:")[1]
    assert shown.isascii()


def test_each_command_is_told_apart_by_what_it_does() -> None:
    shown = " ".join(CliRunner().invoke(app, ["--help"]).output.split())
    assert "approve Approve what waits at a gate, and go on; or, with --all, at each gate" in shown
    assert "db Look after the store: check, back up, restore, accept, prune, read." in shown
