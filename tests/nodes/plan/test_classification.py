"""The shortlist: what is ranked, what a model is asked about, and what it may leave out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planwright.capabilities.contract import Guide
from planwright.capabilities.declaration import capability
from planwright.capabilities.registry import Registry
from planwright.domain.errors import ModelOutputInvalid
from planwright.nodes.plan.classification import narrowed, read_choice, shortlist, to_classify


@capability("door.open", mode="read_only", tags=("door",))
def open_door() -> str:
    """Open the door."""
    return ""


@capability("rules.show", mode="read_only", guide=Guide(always_active=True))
def show_rules() -> str:
    """Show what holds everywhere."""
    return ""


@capability("respond", mode="read_only")
def respond() -> str:
    """Say it."""
    return ""


OTHERS = [replace(open_door, name=f"other.n{n}", tags=()) for n in range(70)]


def test_what_is_always_active_is_on_every_shortlist() -> None:
    registry = Registry([open_door, show_rules, respond, *OTHERS])
    listed = shortlist(registry, "open the door", [], 0)
    assert listed[0] == "door.open"
    assert {"rules.show", "respond"} <= set(listed)
    assert len(shortlist(registry, "open the door", [], 1)) > len(listed)


def test_a_model_is_not_asked_about_what_is_always_active_or_closes_a_plan() -> None:
    asked, kept = to_classify([open_door, show_rules, respond])
    assert [one.name for one in asked] == ["door.open"]
    assert kept == {"rules.show", "respond"}


def test_what_a_model_leaves_out_is_off_the_list_and_an_empty_choice_is_none() -> None:
    names = ["door.open", "rules.show", "other.n1"]
    assert narrowed(names, {"rules.show"}, {"door.open"}) == ["door.open", "rules.show"]
    assert narrowed(names, {"rules.show"}, set()) == names


def test_only_names_that_were_asked_about_are_read() -> None:
    assert read_choice('{"capabilities": ["door.open", "bank.rob", 3]}', {"door.open", "x"}) == {"door.open"}
    assert read_choice('{"capabilities": "all"}', {"door.open"}) == set()
    with pytest.raises(ModelOutputInvalid):
        read_choice("all of them", {"door.open"})
