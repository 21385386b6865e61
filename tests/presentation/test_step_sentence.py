"""A step as a sentence: every value stands in it or beside it, and none passes for another."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.cli.views.plan_card import tree
from planwright.presentation.step_sentence import argument_text, reference_text, step_name, step_sentence


def step(**params: Any) -> dict[str, Any]:
    return {"id": "s3", "capability": "tickets.create", "does": "Create a ticket", "params": params}


def test_a_title_stands_first_and_a_reference_in_words() -> None:
    said = step_sentence(step(amount="{{steps.s2.output.value}}", title="Invoice from Acme", urgent=True))
    expected = "Create a ticket: Invoice from Acme, amount from the value of step 2, urgent true"
    assert (said.text, said.rest) == (expected, {})
    same = step_sentence(step(text="{{steps.s2.output.text}}", title="{{steps.s1.output.0}}"))
    assert same.text == "Create a ticket: text from step 2, title from the first item of step 1"


def test_a_capability_without_a_description_is_named() -> None:
    bare = {"id": "s1", "capability": "crm.close", "params": {"deal": "A-7", "tags": ["won", "big"]}}
    assert step_sentence(bare).text == "crm.close: deal A-7, tags [won, big]"


@pytest.mark.parametrize("value", ["x" * 61, {"a": 1}, [1, {"b": 2}], "see {{steps.s1.output.text}}"])
def test_what_the_sentence_has_no_room_for_is_left_for_a_row(value: object) -> None:
    said = step_sentence(step(body=value))
    assert said.rest == {"body": value}


@pytest.mark.parametrize(
    "value",
    ["a, amount 7", "the value of step 2", "a: b", 'a "b"', "a\nb", "‹x›", "\u202eabc", "a · no risk", "{{x"],
)
def test_a_text_that_could_be_misread_stands_in_quotes(value: str) -> None:
    said = step_sentence(step(title=value))
    assert said.text.startswith('Create a ticket: "') or said.rest == {"title": value}
    assert "\n" not in said.text
    assert "\u202e" not in said.text


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("steps.s2.output.value", "the value of step 2"),
        ("steps.s1.output.messages.0.text", "the text of the first message of step 1"),
        ("steps.s1.output.message.0", "the first of message of step 1"),
        ("steps.s1.output.rows.11", "the 12th row of step 1"),
        ("steps.look.output", 'all that step "look" brings'),
        ("input.request", "the request of the input"),
    ],
)
def test_a_reference_is_spelled_in_words(path: str, words: str) -> None:
    assert reference_text(path.split(".")) == words


def test_only_references_stand_between_the_marks() -> None:
    text = "Mail: {{steps.s1.output.text}} ‹the text of step 1›"
    assert argument_text(text) == "Mail: ‹the text of step 1› \\u2039the text of step 1\\u203a"


def test_ids_that_look_alike_are_told_apart() -> None:
    assert len({step_name(id_) for id_ in ("s2", "2", "S2", "s02", "step 2")}) == 5


def test_a_tree_hangs_each_step_under_the_last_it_waits_for() -> None:
    after = {"s1": [], "s2": ["s1"], "s3": ["s1", "s2"], "s4": ["s1"], "s5": ["s3", "s4"]}
    shown = tree([{"id": id_, "after": ids} for id_, ids in after.items()])
    placed = [(one.card["id"], one.depth, one.after) for one in shown]
    assert placed == [("s1", 0, ()), ("s2", 1, ()), ("s3", 2, ()), ("s4", 1, ()), ("s5", 2, ("s3",))]


def test_a_long_chain_names_what_its_depth_no_longer_shows() -> None:
    chain = [{"id": f"s{n}", "after": [f"s{n - 1}"] if n else []} for n in range(30)]
    shown = tree(chain)
    assert [one.card["id"] for one in shown] == [f"s{n}" for n in range(30)]
    assert shown[20].after == ("s19",)


def test_a_reference_in_a_list_stands_in_words() -> None:
    card = step(to=["ann@example.com", "{{steps.s1.output.sender}}"])
    assert step_sentence(card).text == "Create a ticket: to [ann@example.com, ‹the sender of step 1›]"
