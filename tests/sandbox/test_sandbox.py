"""The sandbox: what it returns, and how a job ends that takes too much."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from planwright.domain.errors import CapabilityForbidden, OverLimit
from planwright.sandbox.sandbox import JobFailed, Sandbox
from tests.patience import PATIENCE_S


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A sandbox of its own."""
    made = Sandbox()
    yield made
    made.close()


def test_a_job_returns_what_its_function_returns(sandbox: Sandbox) -> None:
    assert sandbox.run("math:comb", 5, 2) == 10


def test_one_process_does_many_jobs(sandbox: Sandbox) -> None:
    assert sandbox.run("os:getpid") == sandbox.run("os:getpid")


def test_a_job_that_computes_for_ever_is_ended_and_the_next_one_runs(sandbox: Sandbox) -> None:
    before = sandbox.run("os:getpid")
    with pytest.raises(OverLimit, match="s of CPU"):
        sandbox.run("builtins:sum", range(10**18))
    assert sandbox.run("os:getpid") != before


def test_a_job_that_fills_the_memory_is_ended_and_its_process_goes_on(sandbox: Sandbox) -> None:
    before = sandbox.run("os:getpid")
    with pytest.raises(OverLimit, match="MB of memory"):
        sandbox.run("builtins:bytearray", 10**9)
    assert sandbox.run("os:getpid") == before


def test_a_job_that_goes_too_deep_is_ended(sandbox: Sandbox) -> None:
    with pytest.raises(OverLimit, match="nested too deeply"):
        sandbox.run("json:loads", "[" * 100_000)


def test_what_a_job_raises_is_quoted(sandbox: Sandbox) -> None:
    with pytest.raises(JobFailed, match="JSONDecodeError: Expecting value"):
        sandbox.run("json:loads", "nope")


def test_a_refusal_of_ours_comes_out_as_it_is(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
    (tmp_path / "real.db").touch()
    with pytest.raises(CapabilityForbidden, match="turned into a link") as refused:
        sandbox.run(
            "planwright.capabilities.builtin.statements:query",
            *(str(tmp_path / "link.db"), "link.db", 1.0, "SELECT 1", [], 1),
        )
    assert refused.value.next_step == ""


def test_a_process_that_breaks_down_is_told_and_replaced(sandbox: Sandbox) -> None:
    with pytest.raises(JobFailed, match="broke down"):
        sandbox.run("os:abort")
    assert sandbox.run("math:comb", 5, 2) == 10


def test_nothing_of_the_folder_it_is_started_in_is_imported(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "resource.py").write_text("raise SystemExit(7)")
    monkeypatch.chdir(tmp_path)
    assert sandbox.run("math:comb", 5, 2) == 10


def test_several_threads_have_a_process_each(sandbox: Sandbox) -> None:
    results: list[int] = []
    together = threading.Barrier(3)

    def ask() -> None:
        together.wait(PATIENCE_S)
        results.append(sandbox.run("math:comb", 5, 2))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [10, 10, 10]
