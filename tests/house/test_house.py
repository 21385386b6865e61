"""Names, signatures and tests of the product keep to what `make house` prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house import bars, mirrored, pages, rooms, signatures, words
from tests.house.words import Name


@pytest.mark.sweep
def test_names_say_what_a_thing_is() -> None:
    assert [str(name) for name in words.banned_names()] == []


@pytest.mark.parametrize("text", ["found", "_told", "GIVEN", "said_of", "results_told"])
def test_a_name_that_says_how_a_value_came_is_seen(text: str) -> None:
    assert Name(Path("domain/plan.py"), 1, text).banned


@pytest.mark.parametrize("text", ["founder", "one_line", "listing", "result"])
def test_another_name_is_not(text: str) -> None:
    assert not Name(Path("domain/plan.py"), 1, text).banned


@pytest.mark.sweep
def test_a_public_name_means_one_thing() -> None:
    assert words.doubled_names() == {}


@pytest.mark.sweep
def test_nodes_return_typed_updates() -> None:
    assert signatures.untyped_updates() == []


@pytest.mark.long
def test_signatures_leave_little_open() -> None:
    assert signatures.trains() == []
    assert signatures.asserted_types() == []
    assert len(signatures.uses_of_any()) <= bars.MOST_ANY


def test_the_readme_can_be_read_in_one_go() -> None:
    assert pages.readme_problems() == []


def test_every_longer_file_has_tests_that_can_be_found() -> None:
    assert mirrored.without_tests() == []
    assert mirrored.untrue_names() == []


def test_a_circle_and_a_long_function_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tmp_path / "first.py", tmp_path / "second.py"
    first.write_text("from planwright.domain.second import b\n", "utf-8")
    second.write_text("from planwright.domain.first import a\n\ndef b():\n" + "    pass\n" * 60, "utf-8")
    monkeypatch.setattr(rooms, "SOURCES", {"domain.first": first, "domain.second": second})
    assert rooms.circles() != []
    assert rooms.too_long() == ["domain.second.b"]
