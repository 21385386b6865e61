"""The short form of `ssrf`, and its control: a guard that looks twice is caught."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpcore
import pytest

from benchmarks.ssrf import LEAST, play, read_cases
from benchmarks.ssrf_urls import cases
from planwright.security.egress.network import Network
from planwright.security.egress.pinned_backend import PinnedBackend


class LooksTwice(PinnedBackend):
    """Checks one answer of DNS, and connects to the next: what a check before the request amounts to."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        await self._addresses(host, port, timeout)
        try:
            (address, *_) = await self._resolve(host, port)
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        return await self._connector.connect_tcp(address, port, timeout)


class Careless(Network):
    """A network with that mistake in it."""

    def __init__(self, egress: Any, **given: Any) -> None:
        super().__init__(egress, **given)
        self._backend = LooksTwice(egress, given["resolve"], given["connector"])


@pytest.mark.long
@pytest.mark.enable_socket
async def test_nothing_hostile_gets_through_and_everything_good_does(tmp_path: Path) -> None:
    figures, failures = await play(100, 1, tmp_path)
    assert failures == []
    assert figures["hostile"] >= LEAST["hostile"]
    assert figures["good"] >= LEAST["good"]
    assert min(figures["answered"], figures["refused"]) > 50


@pytest.mark.long
@pytest.mark.enable_socket
async def test_a_guard_that_looks_twice_is_caught(tmp_path: Path) -> None:
    _, failures = await play(20, 1, tmp_path, Careless)
    assert any("interleaving" in failure for failure in failures)
    assert any("a name that has changed" in failure or "that changes" in failure for failure in failures)
    assert "the catcher was reached" in failures


def test_the_hostile_urls_are_those_that_were_written_down() -> None:
    written = [json.dumps(case) for case in read_cases("ssrf_hostile.jsonl")]
    assert written == [json.dumps(case) for case in cases()], "run python -m benchmarks.ssrf_urls"
    assert len({json.dumps(case) for case in read_cases("ssrf_good.jsonl")}) >= LEAST["good"]
