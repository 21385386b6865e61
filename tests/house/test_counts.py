"""What the bars of the core count is counted: each count sees what it is about, in files that are made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house import core_bars, counts, rooms, stories

MODULE = """
WORDS = "send write read ask tell give take make".split()
QUERY = "SELECT 1 FROM runs"
RUN = f"run_{uuid.uuid4().hex[:16]}"
# a store of an older program
STEP, PLAN = VerifiedStep(), RecordedPlan()


class Twice:
    pass


def tell_it() -> None:
    judge(STEP)
"""


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two modules in place of the product, one beside the other in a room above the store."""
    (tmp_path / "migrations.py").write_text('MIGRATIONS: tuple[str, ...] = ("CREATE TABLE runs (n)", "")\n')
    (tmp_path / "one.py").write_text(MODULE + "from planwright.extras.two import x\n")
    (tmp_path / "two.py").write_text(MODULE)
    names = {"store.migrations": "migrations", "nodes.one": "one", "extras.two": "two"}
    sources = {module: tmp_path / f"{name}.py" for module, name in names.items()}
    monkeypatch.setattr(counts, "SOURCES", sources)
    monkeypatch.setattr(rooms, "SOURCES", sources)


@pytest.mark.usefixtures("made_up")
def test_each_count_sees_what_it_is_about() -> None:
    both = ["nodes.one", "extras.two"]
    assert counts.extras_imported() == ["nodes.one imports extras.two"]
    assert counts.store_statements() == both
    assert counts.makers() == dict.fromkeys(("VerifiedStep", "RecordedPlan", "run's id", "judge"), both)
    assert counts.doubled_names() == ["Twice"]
    assert counts.doubled_stems() == []
    assert counts.emitters() == ["nodes.one.tell_it", "extras.two.tell_it"]
    assert counts.word_lists() == both
    assert counts.older_programs() == ["nodes.one:5", "extras.two:5"]
    assert counts.statements_of_schema() == 2
    assert counts.lines()["modules"] == 3
    assert counts.lines()["whole"] - counts.lines()["core"] == MODULE.count("\n")


@pytest.mark.long
def test_every_bar_has_a_figure_for_each_that_it_may_reach() -> None:
    rows = list(core_bars.rows())
    assert [row[0] for row in rows if row[4] != "by hand"] == [bar.name for bar in core_bars.BARS]
    assert all(row[2].count("/") == row[3].count("/") for row in rows)
    assert {row[4] for row in rows} <= {"held", "missed", "by hand"}


def test_a_story_is_what_is_called_from_one_function_up_to_another() -> None:
    request, approve, step = stories.stories()
    assert 0 < step.above < step.modules
    assert 0 < approve.above < approve.modules < request.modules < len(request.calls)
