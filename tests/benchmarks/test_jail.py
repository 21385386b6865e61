"""A short form of `jail`: hostile paths and swapped links, and a sweep that sees an escape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import jail
from benchmarks.hostile_paths import HARMLESS, OUTSIDE, SECRET
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability


def test_there_are_enough_hostile_paths_and_none_twice() -> None:
    assert len(set(OUTSIDE) | set(HARMLESS)) == len(OUTSIDE) + len(HARMLESS) >= 150


@pytest.mark.long
@pytest.mark.enable_socket
@pytest.mark.parametrize("part", range(4))
def test_no_hostile_path_leads_out(tmp_path: Path, part: int) -> None:
    paths = jail.every_path()[part * 3 :: 12]
    swept = jail.sweep(tmp_path, paths)
    assert swept.failures == []
    assert swept.refused + swept.done == len(paths) * len(jail.DEEDS)


@pytest.mark.long
@pytest.mark.enable_socket
def test_no_link_that_is_swapped_in_leads_out(tmp_path: Path) -> None:
    raced, swaps = jail.race(tmp_path, 120, seed=7)
    assert raced.failures == []
    assert min(raced.refused, raced.done, swaps) > 0


@capability("files.leak", mode="local_write")
def leak(path: str, call: CallContext, write: bool) -> str:
    """Read or write whatever is named."""
    place = call.workspace.root / path
    return str(place.write_text("mine now")) if write else place.read_text()


@pytest.mark.parametrize(
    ("write", "what"), [(False, "a secret came out"), (True, "outside: "), (True, "it was not refused")]
)
def test_a_capability_that_leaks_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: bool, what: str
) -> None:
    def deed(path: str) -> tuple[Capability, dict[str, Any]]:
        return leak, {"path": path, "write": write}

    monkeypatch.setattr(jail, "DEEDS", {"leak": deed})
    swept = jail.sweep(tmp_path, [("link.txt", True)])
    assert any(failure.what.startswith(what) for failure in swept.failures)
    assert SECRET not in str(swept.failures)
