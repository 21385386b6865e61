"""The short form of `chaos`: a seeded share of the cases, and some traffic with a provider down."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.chaos import OUTCOMES, cases, fault_server, play_all, traffic
from benchmarks.fault_server import FAULTS

pytestmark = pytest.mark.enable_socket


def test_there_are_forty_kinds_of_fault_and_each_has_an_outcome() -> None:
    assert len(FAULTS) >= 40
    assert OUTCOMES.keys() == FAULTS.keys()
    assert len(cases()) == len(FAULTS) * 9


@pytest.mark.long
async def test_faults_end_in_the_right_class(tmp_path: Path) -> None:
    quick = [case for case in cases() if not case.slow]
    with fault_server() as port:
        played, wrong = await play_all(random.Random(7).sample(quick, 24), port, tmp_path)
    assert played == 24
    assert wrong == []


@pytest.mark.sweep
async def test_requests_are_served_while_a_provider_is_down(tmp_path: Path) -> None:
    with fault_server() as port:
        seen = await traffic(300, 3, port, tmp_path)
    assert seen.succeeded == 300
    assert seen.twice == 0
    assert seen.sent < 400
