"""The head of the chain is kept outside of the store each time a run ends."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

from planwright.domain.errors import SetupError
from planwright.graph.building import open_agent
from planwright.records.audit.anchor import read_anchors
from tests.records.audit.conftest import thread

ASK = {"messages": [("user", "What time is it?")]}


def ask_twice(folder: Path) -> None:
    agent = open_agent(folder)
    try:
        for name in ("one", "two"):
            agent.invoke(ASK, thread(name))
    finally:
        agent.close()


def test_each_end_of_a_run_is_anchored_in_the_file_and_by_the_command(tmp_path: Path) -> None:
    anchor, beside = tmp_path / "heads", tmp_path / "beside"
    code = f"import sys; open({str(beside)!r}, 'a').write(sys.stdin.read())"
    (tmp_path / "planwright.toml").write_text(
        f"[audit]\nanchor = '{anchor}'\ncommand = ['{sys.executable}', '-c', \"\"\"{code}\"\"\"]\n", "utf-8"
    )
    ask_twice(tmp_path)
    heads = read_anchors(anchor)
    assert [number for number, _ in heads] == [1, 2]
    assert beside.read_text() == anchor.read_text()


def test_an_anchor_that_fails_is_logged_and_the_run_has_ended(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "planwright.toml").write_text("[audit]\ncommand = ['/nowhere/at/all']\n", "utf-8")
    with caplog.at_level(logging.ERROR, "planwright.checkpoints"):
        ask_twice(tmp_path)
    assert "was not anchored" in caplog.text


def test_a_file_that_is_no_anchor_is_refused(tmp_path: Path) -> None:
    (tmp_path / "heads").write_text("what\n", "utf-8")
    with pytest.raises(SetupError, match="is no anchor"):
        read_anchors(tmp_path / "heads")
