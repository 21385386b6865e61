"""Two runs step by step: by their ids, with what differs in words."""

from __future__ import annotations

from dataclasses import replace

from planwright.extras.web.view_models.run_page import StepRow
from planwright.extras.web.view_models.step_pairs import step_pairs
from planwright.extras.web.view_models.values import value_rows

STEP = StepRow(
    id="s1",
    name="tickets.create",
    state="done",
    word="done",
    sentence="",
    facts=(),
    values=value_rows({"title": "Cables"}, None),
    output="T-1",
    note="",
    noticed=(),
    seconds=1.0,
    tries=1,
    key="k",
    used="",
    after=(),
    calls=(),
)


def test_times_and_keys_are_no_difference() -> None:
    (pair,) = step_pairs([STEP], [replace(STEP, seconds=2.0, key="other", used="3 tokens")])
    assert (pair.name, pair.differs) == ("s1", [])


def test_each_difference_is_named() -> None:
    other = replace(STEP, word="failed", output="", note="no", values=value_rows({"title": "Ropes"}, None))
    (pair,) = step_pairs([STEP], [other])
    assert pair.differs == ["arguments", "end", "result", "note"]
    (pair,) = step_pairs([STEP], [replace(STEP, name="notes.write", after=("s0",), tries=2, calls=(STEP,))])
    assert pair.differs == ["capability", "order", "attempts", "calls within"]


def test_a_step_of_one_run_alone_says_of_which() -> None:
    pairs = step_pairs([STEP], [replace(STEP, id="s2")])
    assert [(pair.name, pair.differs) for pair in pairs] == [
        ("s1", ("only in the first run",)),
        ("s2", ("only in the second run",)),
    ]


def test_calls_without_a_plan_are_paired_by_their_order() -> None:
    call = replace(STEP, id="")
    pairs = step_pairs([call, call], [call])
    assert [pair.name for pair in pairs] == ["call 1", "call 2"]
    assert pairs[1].second is None
