"""Two steps that may run at once and overwrite the same thing are found before anything runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import JsonValue

from planwright.capabilities.builtin.channel import post
from planwright.capabilities.builtin.files import read, write
from planwright.capabilities.builtin.tickets import create
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.capability import capability
from planwright.capabilities.jail import Jail
from planwright.capabilities.registry import Registry
from planwright.checkpoints.stores import open_stores
from planwright.graph.plan import CheckedStep, PlanStep
from planwright.graph.settings import load
from planwright.nodes.resources import resource_conflicts


@capability("two.put", mode="local_write", writes=lambda args, call: [f"shelf:{n}" for n in list(args["on"])])  # type: ignore[arg-type]
def put(on: list[str]) -> str:
    """Put something on shelves."""
    return ", ".join(on)


@capability("two.log", mode="local_write", writes=lambda args, call: [f"log:{args['to']}"])
def log(to: str = "main") -> str:
    """Replace a log."""
    return to


@capability("two.break", mode="local_write", writes=lambda args, call: [str(args["nothing"])])
def broken() -> str:
    """Do something that cannot say what it writes."""
    return ""


REGISTRY = Registry([read, write, create, post, put, log, broken])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CallContext]:
    folder: Path = tmp_path_factory.mktemp("workspace")
    stores = open_stores(folder / "store")
    yield CallContext(load(folder), Jail(folder), stores.memories)
    stores.close()


def step(id_: str, name: str, *after: str, **params: JsonValue) -> CheckedStep:
    found = REGISTRY.get(name)
    assert found is not None
    planned = PlanStep(id=id_, capability=name, params=params)
    return CheckedStep(
        step=planned, uid=id_, needs=after, effect=found.effect, mode=found.mode, risk=found.risk, gated=False
    )


def file(id_: str, path: str, *after: str) -> CheckedStep:
    return step(id_, "files.write", *after, path=path, text=id_)


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ([file("a", "x.md"), file("b", "y.md")], []),
        ([file("a", "x.md"), file("b", "x.md")], [("b", "a", "file:x.md")]),
        ([file("a", "x.md"), file("b", "x.md", "a")], []),
        ([file("a", "x.md"), file("b", "y.md", "a"), file("c", "x.md", "b")], []),
        ([file("a", "x.md"), file("b", "y.md"), file("c", "x.md", "b")], [("c", "a", "file:x.md")]),
        ([file("a", "./n/x.md"), file("b", "n//x.md")], [("b", "a", "file:n/x.md")]),
        ([file("a", "n/x.md"), file("b", "x.md")], []),
        ([file("a", "x.md"), file("b", "X.md")], []),
        ([file(i, "x") for i in "abc"], [("b", "a", "file:x"), ("c", "a", "file:x"), ("c", "b", "file:x")]),
        ([file("a", "{{input.x}}"), file("b", "{{input.x}}")], [("b", "a", "file:{{input.x}}")]),
        ([file("a", "{{input.x}}"), file("b", "x.md")], []),
        ([file("a", "x.md"), step("b", "files.read", path="x.md")], []),
        ([step("a", "tickets.create", title="t"), step("b", "tickets.create", title="t")], []),
        ([step("a", "channel.post", text="t"), step("b", "channel.post", text="t")], []),
        ([step("a", "two.log"), step("b", "two.log", to="main")], [("b", "a", "log:main")]),
        ([step("a", "two.put", on=["1", "2"]), step("b", "two.put", on=["3"])], []),
        ([step("a", "two.put", on=["1", "2"]), step("b", "two.put", on=["2", "3"])], [("b", "a", "shelf:2")]),
    ],
)  # fmt: skip
def test_steps_that_share_a_resource_and_no_order_are_found(
    world: CallContext, steps: list[CheckedStep], found: list[tuple[str, str, str]]
) -> None:
    conflicts = list(resource_conflicts(steps, set(), REGISTRY, world))
    assert [finding.code for finding in conflicts] == ["resource_conflict"] * len(found)
    told = [(finding.step_id, finding.message) for finding in conflicts]
    said = "it may run at the same time as {}, and both write {}"
    assert told == [(second, said.format(first, key)) for second, first, key in found]


def test_a_step_that_does_not_run_again_is_in_nobodys_way(world: CallContext) -> None:
    steps = [file("a", "x.md"), file("b", "x.md")]
    assert list(resource_conflicts(steps, {"a"}, REGISTRY, world)) == []


def test_a_capability_that_cannot_say_what_it_writes_is_not_permitted(world: CallContext) -> None:
    (finding,) = resource_conflicts([step("a", "two.break")], set(), REGISTRY, world)
    assert (finding.code, finding.step_id) == ("not_permitted", "a")
    assert "the writes of two.break broke: KeyError" in finding.message
