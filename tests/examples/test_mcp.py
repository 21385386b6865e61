"""The example with a server of MCP: nothing starts untrusted, a read is free, an effect asks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.examples.conftest import Example, ServedModel
from tests.patience import PATIENCE_S
from tests.wire.scripted_server import calls, says

pytestmark = [pytest.mark.enable_socket, pytest.mark.long]
CARDS = "SELECT title FROM cards"
HERE = {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}


@pytest.fixture
def board(example: Callable[[str], Example]) -> Example:
    """The example, with time to start on a machine that has much to do."""
    board = example("mcp")
    with (board.folder / "planwright.toml").open("a", encoding="utf-8") as settings:
        settings.write(f"\n[mcp.board]\nstart_timeout_s = {PATIENCE_S}\n")
    return board


def test_a_server_is_started_once_it_is_trusted_and_its_effect_once_it_is_approved(board: Example) -> None:
    untrusted = board.desk.run("call", "board.cards", env=HERE)
    assert untrusted.code == 2, untrusted.printed
    assert "planwright mcp trust" in untrusted.stderr
    assert board.desk.run("mcp", "trust", "board", "--yes", env=HERE).code == 0
    assert "board.add_card" in board.desk.run("mcp", "ls", "board", env=HERE).stdout
    assert board.desk.run("call", "board.cards", "--json", env=HERE).code == 0
    asked = board.desk.run("call", "board.add_card", "--title=Water the plants", env=HERE)
    assert asked.code == 3, asked.printed
    assert board.rows("board.db", CARDS) == []
    done = board.desk.run("approve", env=HERE)
    assert done.code == 0, done.printed
    assert board.rows("board.db", CARDS) == [("Water the plants",)]
    assert board.desk.rows("SELECT capability, status FROM effects") == [("board.add_card", "done")]


def test_a_model_calls_the_tool_behind_the_same_gate(
    board: Example, model: Callable[..., ServedModel]
) -> None:
    served = model(calls("board__add_card", {"title": "Water the plants"}), says("It is on the board."))
    env = {**served.env, **HERE}
    assert board.desk.run("mcp", "trust", "board", "--yes", env=env).code == 0
    asked = board.desk.run("run", "Put a card on the board that says: water the plants", env=env)
    assert asked.code == 3, asked.printed
    done = board.desk.run("approve", env=env)
    assert done.code == 0, done.printed
    assert board.rows("board.db", CARDS) == [("Water the plants",)]
