"""The short form of `aimock_chaos`: a seeded share of the cases, and some traffic while servers roll dice."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.aimock_chaos import play_all, three, traffic
from benchmarks.aimock_faults import FAULTS, TURNS, cases, fixtures
from benchmarks.aimock_server import aimock
from benchmarks.model_desk import NAMES

pytestmark = pytest.mark.enable_socket
WAITING = ("429", "limited", "late", "stream gone", "stream drips")


def test_every_fault_strikes_at_every_turn_and_place_in_each_of_its_modes() -> None:
    assert len(FAULTS) >= 60
    struck = Counter(case.name for case in cases())
    assert struck == {name: len(TURNS) * len(NAMES) * len(fault.streamed) for name, fault in FAULTS.items()}


@pytest.mark.long
async def test_faults_end_in_the_right_class_and_go_no_further_than_they_should(tmp_path: Path) -> None:
    quick = [case for case in cases() if not (case.fault.slow or case.name.startswith(WAITING))]
    with aimock(fixtures(), tmp_path) as server:
        played = await play_all(random.Random(7).sample(quick, 16), server, tmp_path)
    assert played.cases == 16
    assert played.wrong == []


@pytest.mark.sweep
async def test_requests_are_served_while_servers_roll_dice_and_one_is_down(tmp_path: Path) -> None:
    with three(fixtures(), tmp_path, seed=3) as servers:
        seen = await traffic(120, 3, servers, tmp_path)
    assert seen.succeeded == 120
    assert seen.spoiled == seen.twice == 0
    assert seen.sent < 170
