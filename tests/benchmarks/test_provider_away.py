"""The sweep over providers that go away: a few of its runs, and a judge that can fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import provider_away
from benchmarks.provider_away import WAYS, play

pytestmark = pytest.mark.enable_socket


@pytest.mark.parametrize("way", WAYS)
def test_a_run_goes_on_when_its_provider_is_back(way: str, tmp_path: Path) -> None:
    played = play(3, way, tmp_path)
    assert played.faults == []
    assert played.paused >= 1


def test_a_run_that_does_not_get_to_its_end_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_away, "MOST_ROUNDS", 1)
    played = play(3, "loop", tmp_path)
    assert any(fault.startswith("ended as") for fault in played.faults)
    assert "made {}" in played.faults
