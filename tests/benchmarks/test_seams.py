"""A short form of `seams`: each way, each thing that fills an argument; and the judge can fail."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.seams import sweep
from benchmarks.seams_cases import KINDS, LEFT_OUT, WAYS, Case, Kind, cases
from benchmarks.seams_judge import Judge, after_no, kind_of
from benchmarks.seams_person import Person
from benchmarks.seams_server import HINTS, tool_name
from benchmarks.seams_stage import Stage, opened
from benchmarks.seams_tools import Receipt

pytestmark = pytest.mark.enable_socket
PAY = [Case("desk.pay", "account", kind, way) for way in WAYS for kind in KINDS[1:3]]
HAND = [Case("desk.hand", "file", "file", way) for way in WAYS]
BUILT_IN = [
    Case("mail.send", "attachments", "file", "plan"),
    Case("mail.send", "to", "others", "plan"),
    Case("channel.post", "text", "model", "background"),
    Case("http.request", "url", "others", "loop"),
    Case("memory.write", "text", "others", "planned chain"),
    Case("tickets.close", "id", "others", "undo"),
    Case("mail.draft", "text", "literal", "alternative"),
]
SERVED = [
    Case(f"seams.{tool_name(5)}", "to", "others", "plan"),
    Case(f"seams.{tool_name(5)}", "file", "others", "planned chain"),
    Case(f"seams.{tool_name(7)}", "file", "file", "loop"),
    Case(f"seams.{tool_name(0)}", "text", "model", "sub-agent"),
]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with opened(tmp_path_factory.mktemp("seams"), server=False) as stage:
        yield stage


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with opened(tmp_path_factory.mktemp("seams"), server=True) as stage:
        yield stage


def named(case: Case) -> str:
    return f"{case.capability}.{case.argument}, {case.kind}, {case.way}"


@pytest.mark.long
@pytest.mark.sampled(5)
@pytest.mark.parametrize("case", [*PAY, *HAND, *BUILT_IN], ids=named)
def test_nothing_is_received_that_nobody_saw(case: Case, stage: Stage) -> None:
    outcome = sweep(case, stage)
    assert not outcome.findings, outcome


@pytest.mark.long
@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", SERVED, ids=named)
def test_no_tool_of_a_server_gets_what_nobody_saw(case: Case, served: Stage) -> None:
    outcome = sweep(case, served)
    assert outcome.made
    assert not outcome.findings, outcome


@pytest.mark.parametrize(
    ("kind", "way"), [("others", "plan"), ("literal", "loop"), ("model", "planned chain"), ("others", "undo")]
)
def test_a_card_that_leaves_an_argument_out_is_found(kind: Kind, way: str, stage: Stage) -> None:
    scene = stage.scene(Case("desk.pay", "account", kind, way))
    played = stage.play(scene, Person())
    assert not list(Judge().findings(scene, played))
    blind = Judge(blind="value" if (kind, way) == ("model", "planned chain") else "account")
    if blind.blind == "value":  # the card of the call shows it, too
        played = replace(
            played, cards=played.cards[:1], receipts=tuple((1, one) for _, one in played.receipts)
        )
    assert {one.what for one in blind.findings(scene, played)} == {"unseen"}


def test_content_that_no_card_shows_is_found(stage: Stage) -> None:
    scene = stage.scene(Case("desk.hand", "file", "file", "plan"))
    played = stage.play(scene, Person())
    assert not list(Judge().findings(scene, played))
    first = replace(played, cards=played.cards[:1], receipts=tuple((1, one) for _, one in played.receipts))
    assert {one.what for one in Judge().findings(scene, first)} == {"content"}


def test_what_the_product_lets_through_is_found(tmp_path: Path) -> None:
    rule = '[[rule]]\nmatch.capability = "desk.pay"\ndecide = "allow"\n'
    with opened(tmp_path, server=False, policy=rule) as stage:
        scene = stage.scene(Case("desk.pay", "account", "model", "loop"))
        played = stage.play(scene, Person())
    assert not played.cards
    assert {one.what for one in Judge().findings(scene, played)} == {"unseen"}


def test_what_is_received_after_a_no_is_found(stage: Stage) -> None:
    scene = stage.scene(Case("desk.pay", "account", "others", "plan"))
    played = stage.play(scene, Person(refused=0))
    assert not list(after_no(scene, played))
    late = replace(played, receipts=((1, Receipt("desk.pay", scene.args)),))
    assert [one.what for one in after_no(scene, late)] == ["after no"]


def test_a_person_may_say_that_they_need_not_see_it(tmp_path: Path) -> None:
    with opened(tmp_path, server=False, more='\n[approval]\norder = "plan_first"\n') as stage:
        scene = stage.scene(Case("desk.pay", "account", "others", "plan"))
        played = stage.play(scene, Person(unseen=True))
    assert [card.unseen for card in played.cards] == [True]
    assert not list(Judge().findings(scene, played))
    asked = replace(played, cards=tuple(replace(card, unseen=False) for card in played.cards))
    assert {one.what for one in Judge().findings(scene, asked)} == {"unseen"}


def test_an_approval_that_names_another_card_is_not_taken(stage: Stage) -> None:
    scene = stage.scene(Case("desk.pay", "account", "literal", "loop"))
    played = stage.play(scene, Person(refused=0, other="0" * 64))
    assert (len(played.cards), played.passed, played.receipts) == (1, False, ())


def test_every_capability_is_played_or_left_out_by_name(stage: Stage, served: Stage) -> None:
    chosen, left = cases(stage.registry)
    assert {case.capability for case in chosen} | LEFT_OUT.keys() == {*stage.registry.names}
    assert {case.way for case in chosen} == set(WAYS)
    assert {case.kind for case in chosen} == set(KINDS)
    assert sum(left.values()) > 0
    tools = {name for name in served.registry.names if name.startswith("seams.")}
    assert tools == {f"seams.{tool_name(number)}" for number in range(20)}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("hints", "kind"),
    [
        ((None, None, None, None), "effect"),
        ((True, None, None, None), "carries"),
        ((True, None, True, False), "reads"),
        ((False, False, None, True), "effect"),
        ((None, False, None, False), "low"),
    ],
)
def test_the_judge_reads_annotations_as_the_protocol_has_them(
    hints: tuple[bool | None, ...], kind: str
) -> None:
    alike = [
        n for n, each in enumerate(HINTS) if (each[0], each[1], each[3]) == (hints[0], hints[1], hints[3])
    ]
    assert {kind_of(Receipt(f"seams.{tool_name(number)}", {})) for number in alike} <= {kind}
