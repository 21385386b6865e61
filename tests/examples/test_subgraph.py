"""The example of a graph around the agent: the outer graph answers, and goes on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.examples.conftest import Example


@pytest.mark.parametrize(
    ("answer", "end"), [("y", "completed, printed: Frost in May"), ("n", "rejected, printed: nothing")]
)
def test_the_outer_graph_answers_the_gate(example: Callable[[str], Example], answer: str, end: str) -> None:
    newsroom = example("subgraph")
    done = newsroom.run("newsroom", typed=f"{answer}\n")
    assert done.code == 0, done.stderr
    assert done.stdout.splitlines()[-1].endswith(end)
    page = newsroom.folder / "front-page.md"
    assert (page.read_text("utf-8") if page.exists() else "") == ("Frost in May" if answer == "y" else "")
