"""What a request joins with "then" depends in order; what it joins otherwise does not."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.capabilities.registry import load_registry
from planwright.extras.offline.clauses import split
from planwright.extras.offline.planner import compose
from planwright.planning.catalogue import describe_capability

WRITE, OTHER = 'write "x" to a.txt', 'write "y" to b.txt'


@pytest.fixture(scope="module")
def capabilities(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    hidden = ("results.read", "files.restore", "tickets.close")
    registry = load_registry(tmp_path_factory.mktemp("workspace"), prohibit=hidden)
    return [describe_capability(found) for found in registry]


@pytest.mark.parametrize(
    ("request_", "needs"),
    [
        (f"{WRITE}, then read a.txt", {"s2": ["s1"]}),
        (f"{WRITE}. Then read a.txt", {"s2": ["s1"]}),
        (f"First {WRITE} and after that read a.txt", {"s2": ["s1"]}),
        (f"{WRITE} and finally read a.txt", {"s2": ["s1"]}),
        (f"{WRITE}, afterwards {OTHER}, then read a.txt", {"s2": ["s1"], "s3": ["s2"]}),
        (f"{WRITE} and {OTHER}, then list the files", {"s2": ["s1"], "s3": ["s2"]}),
        (f"list the files, then {WRITE} and {OTHER}", {"s2": ["s1"], "s3": ["s2"]}),
        (f"{WRITE} and read a.txt", {}),
        (f"{WRITE}; {OTHER}; read a.txt", {"s2": ["s1"]}),
        (f"{WRITE}, {OTHER}", {"s2": ["s1"]}),
        ("read a.txt, then summarize it", {}),  # it refers to what it follows
        (f"read a.txt, then {WRITE}, then read a.txt", {"s2": ["s1"], "s3": ["s2"]}),
        (f"read a.txt and {WRITE} and read a.txt", {"s2": ["s1"]}),
        (f"before you {WRITE}, read a.txt", {}),
    ],
)
def test_then_makes_a_step_depend_on_all_that_came_before(
    request_: str, needs: dict[str, list[str]], capabilities: list[dict[str, Any]]
) -> None:
    steps = compose(request_, capabilities)["steps"][:-1]
    assert {step["id"]: step["depends_on"] for step in steps if step.get("depends_on")} == needs


def test_a_file_is_read_again_only_after_a_change(capabilities: list[dict[str, Any]]) -> None:
    twice = compose("read a.txt and read a.txt", capabilities)["steps"]
    changed = compose(f"read a.txt and {WRITE} and read a.txt", capabilities)["steps"]
    assert [step["capability"] for step in twice] == ["files.read", "respond"]
    assert [step["capability"] for step in changed[:3]] == ["files.read", "files.write", "files.read"]


@pytest.mark.parametrize("quote", ['"a, then b"', '"then read a.txt"'])
def test_a_then_in_quotes_is_no_order(quote: str) -> None:
    assert [part.then for part in split(f"write {quote} to a.txt and read b.txt")] == [False, False]


def test_a_nul_in_a_request_is_a_space(capabilities: list[dict[str, Any]]) -> None:
    plain, odd = f"{WRITE} and read a.txt", f"{WRITE} and\x00 read\x00a.txt"
    assert [clause.text for clause in split(odd)] == [clause.text for clause in split(plain)]
    assert compose("a \x00 b", capabilities) == compose("a b", capabilities)
