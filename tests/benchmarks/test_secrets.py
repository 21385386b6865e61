"""A short form of `secrets`: canaries through every place in the process, and a search for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.canaries import SHAPES, found_in, shown
from benchmarks.leaks import edited, large_result, planned, question, retries, tool_result
from benchmarks.secrets import ENVIRONMENT, Place, leaks

SHORT = ("as it is", "in JSON in JSON", "base64, two in", "backwards")
PLACES: tuple[Place, ...] = (tool_result, large_result, retries, planned, edited, question)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set what is secret for the length of a test."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


@pytest.mark.long
@pytest.mark.sampled(2)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_no_canary_can_be_read_afterwards(place: Place, tmp_path: Path) -> None:
    assert leaks(place, SHORT, tmp_path / "guarded") == []
    assert leaks(place, ["as it is"], tmp_path / "unguarded", known="") != []


def test_unguarded_a_canary_is_seen_everywhere(tmp_path: Path) -> None:
    hits = leaks(tool_result, ["as it is"], tmp_path / "unguarded", known="")
    places = " ".join(hits)
    for where in ("stream custom", "stream, joined", "state", "prompts", "writes", "journal", "steps"):
        assert where in places


@pytest.mark.parametrize("shape", SHAPES)
def test_the_search_sees_every_shape(shape: str) -> None:
    assert found_in(f"x {shown(shape)} y")
    assert not found_in("nothing to see")
