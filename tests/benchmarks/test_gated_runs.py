"""A short form of P9: runs wait, a crowd of copies waits beside them, and what is real is resumed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import bench_gates
from benchmarks.gated_runs import (
    approve,
    bare_approve,
    bare_graph,
    bare_wait,
    crowd,
    open_gated,
    wait_at_gate,
)


async def test_copies_wait_like_the_first_and_the_others_are_resumed(tmp_path: Path) -> None:
    agent = open_gated(tmp_path)
    try:
        for number in range(2):
            await wait_at_gate(agent, number)
        crowd(tmp_path, 1, 50)
        gates = await agent.stores.gates.waiting()
        assert len({gate.gate_id for gate in gates}) == len({gate.thread_id for gate in gates}) == 52
        copied = await agent.stores.runs.latest("gated-1-50")
        assert copied is not None
        assert (copied.status, copied.run_id) == ("waiting", f"{gates[1].run_id}-50")
        await approve(agent, 0)
        assert len(await agent.stores.gates.waiting()) == 51
    finally:
        await agent.aclose()


async def test_a_thread_of_bare_langgraph_waits_and_is_resumed(tmp_path: Path) -> None:
    async with bare_graph(tmp_path / "bare.db") as graph:
        await bare_wait(graph, 7)
        await bare_approve(graph, 7)


async def test_every_gate_is_decided(tmp_path: Path) -> None:
    assert (await bench_gates.decisions(tmp_path / "w", 120)).value > 0


@pytest.mark.long
async def test_processes_share_the_runs_of_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_gates, "PROCESSES", 2)
    assert (await bench_gates.processes(tmp_path, 4, 1)).value > 0
