"""The short form of `contracts`: some kinds of servers, each in some shapes of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.contract_anthropic import Anthropic
from benchmarks.contract_families import DeepSeek, Gemini, Mistral, OpenRouter
from benchmarks.contract_responses import Responses
from benchmarks.contract_server import Family
from benchmarks.contracts import CASES, FAMILIES, cells, play

pytestmark = pytest.mark.enable_socket


def test_twelve_kinds_each_with_a_name_and_a_source_in_every_case() -> None:
    assert len({kind.name for kind in FAMILIES}) == len(FAMILIES) == 12
    assert all(kind.source.startswith("https://") for kind in FAMILIES)
    assert {(kind, case) for kind, case, *_ in cells()} == {
        (kind, case) for kind in FAMILIES for case in CASES
    }


@pytest.mark.sampled(3)
@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "case", "streams", "then"),
    [
        (Anthropic, "gate", True, None),
        (Responses, "compaction", False, None),
        (Mistral, "plan", True, None),
        (DeepSeek, "failover", True, Gemini),
        (OpenRouter, "failover", False, Anthropic),
        (Anthropic, "failover", True, DeepSeek),
    ],
)
def test_what_a_server_wants_back_comes_back_in_every_shape_of_a_run(
    tmp_path: Path, kind: type[Family], case: str, streams: bool, then: type[Family] | None
) -> None:
    cell = play(kind, case, tmp_path, streams=streams, then=then)
    assert (cell.right, cell.detail) == (True, "")


@pytest.mark.sweep
@pytest.mark.parametrize("kind", FAMILIES, ids=lambda kind: kind.name)
def test_every_kind_of_server_in_every_case(tmp_path: Path, kind: type[Family]) -> None:
    wrong = []
    for place, (each, case, streams, then) in enumerate(cells(kind.name)):
        if each is kind:
            cell = play(kind, case, tmp_path / str(place), streams=streams, then=then)
            wrong += [] if cell.right else [cell]
    assert wrong == []
