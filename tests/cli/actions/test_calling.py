"""A capability is called by its name: arguments typed as options, the gate, the result on stdout."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from langgraph.types import Command

from planwright.cli.actions.calling import arguments
from planwright.cli.views.example_calls import example_call
from planwright.domain.errors import RunError, SetupError
from planwright.graph import RunContext, open_agent
from tests.cli.desk import Desk

SCHEMA = {
    "properties": {
        "title": {"type": "string"},
        "count": {"type": "integer"},
        "share": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "urgent": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "sizes": {"type": "array", "items": {"type": "integer"}},
        "where": {"$ref": "#/$defs/Place"},
        "due_on": {"type": "string"},
        "any": {},
    },
    "$defs": {"Place": {"type": "object"}},
}


@pytest.mark.parametrize(
    ("words", "args"),
    [
        ([], {}),
        (["--title=Call Ada"], {"title": "Call Ada"}),
        (["--title", "a=b"], {"title": "a=b"}),
        (["--title=5"], {"title": "5"}),
        (["--title="], {"title": ""}),
        (["--count=5", "--share=0.5"], {"count": 5, "share": 0.5}),
        (["--share=null"], {"share": None}),
        (["--urgent"], {"urgent": True}),
        (["--urgent", "--count", "2"], {"urgent": True, "count": 2}),
        (["--urgent=false"], {"urgent": False}),
        (["--tags=a", "--tags=b"], {"tags": ["a", "b"]}),
        (['--tags=["a", "b"]'], {"tags": ["a", "b"]}),
        (["--tags=7"], {"tags": ["7"]}),
        (["--sizes=7", "--sizes=[8, 9]"], {"sizes": [7, 8, 9]}),
        (['--where={"city": "Bonn"}'], {"where": {"city": "Bonn"}}),
        (["--due-on=2027-01-01"], {"due_on": "2027-01-01"}),
        (["--any=text", "--title=x"], {"any": "text", "title": "x"}),
    ],
)
def test_options_are_read_by_the_types_of_the_schema(words: list[str], args: dict[str, object]) -> None:
    assert arguments("a.b", words, None, SCHEMA) == args


def test_options_win_over_the_whole() -> None:
    assert arguments("a.b", ["--count=2"], '{"count": 1, "title": "t"}', SCHEMA) == {"count": 2, "title": "t"}


@pytest.mark.parametrize(
    ("words", "whole", "cause"),
    [
        (["--tilte=x"], None, "a.b has no argument tilte"),
        (["title"], None, "'title' names no argument"),
        (["--"], None, "'--' names no argument"),
        (["--count=many"], None, "--count is integer, and not 'many'"),
        ([], "[1]", "--args is no JSON object"),
        ([], "{", "--args is no JSON object"),
        ([], "@/not/there", "cannot read --args"),
    ],
)
def test_what_cannot_be_read_is_said(words: list[str], whole: str | None, cause: str) -> None:
    with pytest.raises(SetupError, match="^" + cause.replace("[", r"\[")):
        arguments("a.b", words, whole, SCHEMA)


def test_a_reading_call_prints_its_result_and_asks_nobody(desk: Desk) -> None:
    (desk.folder / "a.txt").write_text("hello")
    done = desk.run("call", "files.read", "--path=a.txt")
    assert done.code == 0
    assert "hello" in done.stdout
    assert desk.rows("SELECT status FROM gates") == []


def test_an_effect_waits_for_a_person_and_happens_once(desk: Desk) -> None:
    done = desk.run("call", "files.write", "--path=a.txt", "--args", '{"text": "hello"}', "--no-input")
    assert done.code == 3
    assert not (desk.folder / "a.txt").exists()
    assert desk.run("approve").code == 0
    assert (desk.folder / "a.txt").read_text() == "hello"
    assert desk.rows("SELECT capability, status FROM effects") == [("files.write", "done")]
    report = json.loads(desk.run("ls", "--json").stdout)["runs"][0]
    assert report["request"] == 'Call files.write {"text":"hello","path":"a.txt"}'


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (["files.raed", "--path=a"], "there is no capability files.raed"),
        (["files.read"], "files.read: path: field required"),
        (["files.read", "--pth=a"], "files.read has no argument pth"),
        (["files.read", "--path={{input.request}}"], "files.read: path: a call refers to nothing"),
    ],
)
def test_a_wrong_call_begins_no_run(desk: Desk, words: list[str], cause: str) -> None:
    refused = desk.run("call", *words)
    assert refused.code == 2
    assert cause in refused.stderr
    assert not (desk.folder / ".planwright").exists()


def test_the_example_of_a_capability_is_a_call_that_works(desk: Desk) -> None:
    shown = json.loads(desk.run("capabilities", "tickets.create").stdout)
    assert shown["example"] == "planwright call tickets.create --title=text"
    assert desk.run(*shlex.split(shown["example"])[1:], "--no-input").code == 3


def test_an_example_has_what_a_schema_names() -> None:
    properties = {
        "to": {"examples": ["ada@example.com"]},
        "how": {"enum": ["by hand", "by mail"]},
        "share": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "lines": {"type": "array"},
        "left_out": {"type": "string"},
    }
    schema = {"properties": properties, "required": ["to", "how", "share", "lines"]}
    wanted = "planwright call a.b --to=ada@example.com '--how=by hand' --share=1.5 '--lines=[]'"
    assert example_call("a.b", schema) == wanted


SHOP = """
from dataclasses import dataclass
from enum import Enum

from pydantic import BaseModel

from planwright.capabilities import capability


class Speed(Enum):
    FAST = "fast"
    SLOW = "slow"


class Item(BaseModel):
    sku: str
    count: int
    note: str = ""


@dataclass
class Address:
    street: str


@capability("orders.place", mode="read_only")
def place(item: Item, to: Address, speed: Speed, more: Item | None, limits: dict[str, int]) -> str:
    "Place an order."
    return f"{item.sku} {to.street} {speed.value}"
"""


def test_an_example_fills_models_dataclasses_and_enums(desk: Desk) -> None:
    (desk.folder / "shop.py").write_text(SHOP, "utf-8")
    desk.settings('[capabilities]\nmodules = ["shop"]\n')
    example = desk.run("capabilities", "orders.place", "--json").json["example"]
    assert example == (
        """planwright call orders.place '--item={"sku": "text", "count": 1}' '--to={"street": "text"}' """
        """--speed=fast '--more={"sku": "text", "count": 1}' '--limits={}'"""
    )
    called = desk.run(*shlex.split(example)[1:])
    assert (called.code, "text text fast" in called.stdout) == (0, True)


def test_what_no_option_can_say_is_in_one_argument() -> None:
    schema = {"properties": {"what": {"anyOf": [{"enum": [7]}, {"type": "string"}]}}, "required": ["what"]}
    assert example_call("a.b", schema) == """planwright call a.b --args '{"what": 7}'"""


def test_a_call_was_forked_from_nothing(desk: Desk) -> None:
    assert desk.run("call", "datetime.now").code == 0
    assert desk.run("show", "last", "--json").json["forked_from"] is None


def test_a_call_from_python_is_a_run_on_a_thread_of_its_own(tmp_path: Path) -> None:
    agent = open_agent(tmp_path)
    try:
        config = agent.call("files.write", {"path": "a.txt", "text": "hello"}, thread_id="t1")
        with pytest.raises(RunError, match="t1"):
            agent.call("files.write", {"path": "b.txt", "text": "hello"}, thread_id="t1")
        assert agent.invoke(None, config)["__interrupt__"]
        out = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
    finally:
        agent.close()
    assert out["status"] == "completed"
    assert (tmp_path / "a.txt").read_text() == "hello"


def test_an_agent_calls_only_what_its_profile_allows(desk: Desk) -> None:
    desk.settings('[agents.reader]\ntools = ["files.read"]\n')
    agent = open_agent(desk.folder)
    try:
        config = agent.call("files.write", {"path": "a", "text": "b"}, context=RunContext(agent="reader"))
        out = agent.invoke(None, config)
    finally:
        agent.close()
    assert out["status"] in ("failed", "refused")
    assert "files.write" in out["answer"]
    assert not (desk.folder / "a").exists()
