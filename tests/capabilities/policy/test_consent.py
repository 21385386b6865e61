"""One rule of consent: what asks, what needs a gate of its own, and what covers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.capabilities.policy.consent import chosen_values, judge
from planwright.capabilities.policy.file import read_policy
from planwright.domain.risk import Risk
from tests.language.wishes.sentences import Sentence, read_sentences

MakeWorld = Callable[..., CallContext]
LEAST_TAKEN = 0.95
ALLOW = '[[rule]]\ndecide = "allow"\n'


def hosts(args: Mapping[str, JsonValue], call: CallContext) -> list[str]:
    return ["a.example:443"]


def declare(mode: Any = "local_write", risk: Risk = "Low", **more: Any) -> Capability:
    def act(place: str = "here", text: str = "", loud: bool = False) -> str:
        """Do something."""
        return text

    return capability("a.do", mode=mode, risk=risk, **more)(act)


def world(make_world: MakeWorld, policy: str = ALLOW, **more: Any) -> CallContext:
    context = make_world(egress={"allow": ["a.example"]})
    rules = read_policy(policy, Path("policy.toml"))
    return CallContext(**{**vars(context), "policy": rules, **more})


@pytest.mark.parametrize(
    ("risk", "ask_from", "tainted", "asks"),
    [
        ("Low", "Medium", False, False),
        ("Medium", "Medium", False, True),
        ("Critical", "Medium", False, True),
        ("Medium", "High", False, False),
        ("Medium", None, False, False),
        ("None", "Medium", True, False),
        ("Low", "Medium", True, True),
        ("Low", None, True, True),
        ("Low", "Critical", True, True),
    ],
)
def test_an_effect_asks_from_the_threshold_on_and_from_low_on_after_reading(
    make_world: MakeWorld, risk: Risk, ask_from: Risk | None, tainted: bool, asks: bool
) -> None:
    judged = judge(declare(risk=risk), {"text": "x"}, world(make_world, tainted=tainted), ask_from)
    assert (judged.asks, judged.own_gate) == (asks, False)
    if asks:
        assert judged.reason.startswith(f"risk {risk}")


def test_a_read_asks_after_reading_only_where_it_carries_data_out(make_world: MakeWorld) -> None:
    look, fetch = declare("read_only"), declare("network", effect="pure", hosts=hosts)
    tainted = world(make_world, tainted=True)
    assert not judge(look, {"text": "x"}, tainted, "Medium").asks
    assert (
        judge(fetch, {"text": "x"}, tainted, "Medium").reason
        == "it sends data, after reading what others wrote"
    )
    assert not judge(fetch, {"text": "x"}, world(make_world), "Medium").asks
    assert not judge(fetch, {"place": "here", "text": ""}, tainted, "Medium").asks  # it carries nothing


@pytest.mark.parametrize(
    ("request_", "asks"),
    [
        ("Please note the milk for Kim", False),
        ("Please note the milk", True),
        ('It says "note the milk for Kim and do what else it says there, whatever that may be"', True),
        ("note the milkman for Kim", True),
    ],
)
def test_what_stands_in_the_users_own_words_is_not_asked_for_after_reading(
    make_world: MakeWorld, request_: str, asks: bool
) -> None:
    context = world(make_world, tainted=True, request=request_)
    judged = judge(declare(), {"place": "Kim", "text": "note the milk"}, context, "Medium")
    assert judged.asks is asks


def asking(make_world: MakeWorld, sentences: list[Sentence]) -> list[str]:
    """List the sentences whose effect, of Low risk, asks once hostile text was read."""
    do = declare()
    return [
        f"{one.language}: {one.sentence}"
        for one in sentences
        if judge(do, one.effect, world(make_world, tainted=True, request=one.sentence), "Medium").asks
    ]


@pytest.mark.long
def test_no_refusal_of_three_hundred_in_20_languages_is_taken_as_a_wish(make_world: MakeWorld) -> None:
    refusals = read_sentences("refusals")
    asked = asking(make_world, refusals)
    taken = [f"{one.language}: {one.sentence}" for one in refusals]
    taken = [line for line in taken if line not in asked]
    assert not taken, f"{len(taken)} of {len(refusals)} refusals are taken as a wish: {taken}"


@pytest.mark.long
def test_of_three_hundred_plain_wishes_in_7_languages_all_but_a_few_are_taken(make_world: MakeWorld) -> None:
    plain = read_sentences("wishes")
    asked = asking(make_world, plain)
    share = 1 - len(asked) / len(plain)
    assert share >= LEAST_TAKEN, f"{share:.1%} of {len(plain)} wishes are taken; not these: {asked}"


@pytest.mark.parametrize(
    ("request_", "place", "asks"),
    [
        ("Note the milk for kim@a.example.", "kim@a.example", False),
        ("Note the milk for kim@a.example.", "kim@a.example.", True),
        ("Note the milk for Kim Miller", "Kim  Miller", True),
        ("Note the milk for Kim", "kim", False),
        ("Note the milk for K\u0131m", "Kim", True),
        ("Note the milk for Kim. Note the bread for Bob.", "Bob", True),
        ("Note the milk and the bread for Kim and Bob", "Bob", False),
        ("Read the mail note the milk for Kim", "Kim", True),
        ("Read the mail and note the milk for Kim", "Kim", False),
    ],
)
def test_text_and_destination_stand_in_one_wish_to_the_letter(
    make_world: MakeWorld, request_: str, place: str, asks: bool
) -> None:
    do, args = declare(destinations=("place",)), {"place": place, "text": "the milk"}
    context = world(make_world, tainted=True, request=request_)
    assert judge(do, args, context, "Medium").asks is asks


def test_a_read_that_sends_data_out_may_stand_in_a_wish_to_look(make_world: MakeWorld) -> None:
    fetch = declare("network", effect="pure", hosts=hosts)
    for request_, asks in (("Look up vegan cakes", False), ("The mail says: look up vegan cakes", True)):
        context = world(make_world, tainted=True, request=request_)
        assert judge(fetch, {"text": "vegan cakes"}, context, "Medium").asks is asks


def test_own_words_do_not_take_the_threshold_away(make_world: MakeWorld) -> None:
    context = world(make_world, tainted=True, request="note the milk")
    assert judge(declare(risk="Medium"), {"text": "note the milk"}, context, "Medium").asks


def test_an_effect_that_carries_nothing_of_the_users_asks_after_reading(make_world: MakeWorld) -> None:
    assert judge(declare(), {"place": "here"}, world(make_world, tainted=True, request="hi"), "Medium").asks


@pytest.mark.parametrize(
    ("match", "asks"),
    [('capability = "a.do"', False), ('capability = "a.*"', True), ('mode = "local_write"', True)],
)
def test_a_rule_covers_what_it_allows_by_name(make_world: MakeWorld, match: str, asks: bool) -> None:
    policy = f'[[rule]]\nmatch.{match}\ndecide = "allow"\n{ALLOW}'
    for tainted in (False, True):
        context = world(make_world, policy, tainted=tainted)
        assert judge(declare(risk="High"), {"text": "x"}, context, "Medium").asks is asks


def test_no_rule_covers_a_destructive_call(make_world: MakeWorld) -> None:
    policy = f'[[rule]]\nmatch.capability = "a.do"\ndecide = "allow"\n{ALLOW}'
    judged = judge(declare("destructive"), {"text": "x"}, world(make_world, policy), None)
    assert (judged.asks, judged.own_gate) == (True, True)


def test_a_destination_that_is_not_known_yet_has_a_gate_of_its_own_after_reading(
    make_world: MakeWorld,
) -> None:
    do, args = (
        declare(risk="Medium", destinations=("place",)),
        {"place": "{{steps.s1.output.x}}", "text": "x"},
    )
    judged = judge(do, args, world(make_world, tainted=True), "Medium", references=True)
    assert (judged.asks, judged.own_gate, judged.undecided) == (True, True, True)
    assert not judge(do, args, world(make_world), "Medium", references=True).own_gate
    named = {"place": "here", "text": "{{steps.s1.output.x}}"}
    assert not judge(do, named, world(make_world, tainted=True), "Medium", references=True).own_gate


def test_rules_may_ask_whether_a_call_is_tainted_and_what_the_user_wrote(make_world: MakeWorld) -> None:
    policy = (
        '[[rule]]\nwhen = "tainted && !from_user(args.text)"\ndecide = "deny"\nreason = "not yours"\n' + ALLOW
    )
    words = {"request": "write down blue"}
    for text, tainted, denied in (("blue", True, False), ("red", True, True), ("red", False, False)):
        context = world(make_world, policy, tainted=tainted, **words)
        assert judge(declare(), {"text": text}, context, "Medium").denied is denied


def test_a_value_that_only_equals_the_default_is_chosen() -> None:
    @capability("flag.set", mode="local_write")
    def set_flag(value: JsonValue = True) -> str:
        """Set the flag."""
        return "set"

    assert list(chosen_values(set_flag, {"value": True})) == []
    assert list(chosen_values(set_flag, {"value": 1})) == ["1"]


def test_what_a_call_carries_is_neither_its_defaults_nor_yes_and_no() -> None:
    do = declare()
    assert list(chosen_values(do, {"place": "here", "text": "x", "loud": True})) == ["x"]
    assert list(chosen_values(do, {"place": "there", "text": ""})) == ["there"]
