"""The short form of `quirks`: some ways in which model servers differ, in every role."""

from __future__ import annotations

import pytest
from rich.console import Console

from benchmarks.quirk_table import QUIRKS
from benchmarks.quirks import MET, ROLES, play_all

pytestmark = pytest.mark.enable_socket
LEAST = 150
NAMES = ("parallel calls all with index 0", "refuses stream_options", "a page with status 200")


def test_there_are_enough_quirks_and_each_has_a_name_of_its_own() -> None:
    assert len({quirk.name for quirk in QUIRKS}) == len(QUIRKS) >= LEAST


@pytest.mark.long
async def test_a_quirk_of_each_kind_is_met_in_every_role() -> None:
    chosen = [quirk for quirk in QUIRKS if quirk.name in NAMES]
    cells = await play_all(chosen, Console(quiet=True), short=True)
    assert len(cells) == len(chosen) * len(ROLES) * 2 == 18
    assert [cell for cell in cells if cell.outcome not in MET] == []


@pytest.mark.sweep
async def test_every_seventh_quirk_is_met_in_every_role() -> None:
    cells = await play_all(QUIRKS[::7], Console(quiet=True), short=True)
    assert [cell for cell in cells if cell.outcome not in MET] == []
