"""Steps that use the same things get an order before anything runs, and no others do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from planwright.capabilities.builtin import memory
from planwright.capabilities.builtin.channel import post
from planwright.capabilities.builtin.files import list_files, read, write
from planwright.capabilities.builtin.http import request
from planwright.capabilities.builtin.mail import smtp
from planwright.capabilities.builtin.mail.drafts import draft
from planwright.capabilities.builtin.mail.mail import search as search_mail
from planwright.capabilities.builtin.sql import execute, query
from planwright.capabilities.builtin.tickets import create, list_tickets
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.capabilities.registry import Registry
from planwright.capabilities.tools.hints import Hints
from planwright.domain.plan import Plan, PlanStep
from planwright.domain.verified_step import VerifiedStep
from planwright.extras.mcp.tools import Tool, capability_of
from planwright.planning.write_conflicts import in_order
from planwright.records.stores import open_stores
from planwright.security.jail import Jail
from planwright.settings.mcp import McpServerSettings
from planwright.settings.settings import load


def shelves(args: Mapping[str, JsonValue], call: CallContext) -> list[str]:
    """Name the shelves that a call uses."""
    return [f"shelf:{number}" for number in cast(list[object], args["on"])]


@capability("two.put", mode="local_write", writes=shelves)
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


@capability("two.look", mode="read_only")
def look() -> str:
    """Look at what is its own; it does not say what that is."""
    return ""


@capability("two.note", mode="local_write")
def note() -> str:
    """Write something, and do not say what."""
    return ""


@capability("two.clear")
def clear() -> str:
    """Do something of which nothing is declared."""
    return ""


OWN = [put, log, broken, look, note, clear]
HINTS = {
    "look": Hints(read_only=True),
    "add": Hints(destructive=False),
    "wipe": Hints(destructive=True),
    "mute": Hints(),
}


async def unreached(tool: Tool, effect: object, args: object) -> JsonValue:
    raise AssertionError("nothing is called here")


def of_server(server: str, name: str) -> Capability:
    """Make a capability of a tool as an MCP server lists it."""
    tool = Tool(name, "", {"type": "object"}, None, HINTS[name])
    return capability_of(tool, f"{server}.{name}", (), McpServerSettings(), unreached)


MCP = [of_server(server, name) for server in ("one", "two_servers") for name in HINTS]
BUILT_IN = [read, write, list_files, create, list_tickets, post, memory.write, memory.search, memory.forget]
REGISTRY = Registry([*OWN, *MCP, *BUILT_IN, query, execute, request, draft, search_mail, smtp.send])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CallContext]:
    folder: Path = tmp_path_factory.mktemp("workspace")
    stores = open_stores(folder / "store")
    yield CallContext(load(folder), Jail(folder), stores.memories)
    stores.close()


def step(id_: str, name: str, *after: str, **params: JsonValue) -> VerifiedStep:
    found = REGISTRY.get(name)
    assert found is not None
    planned = PlanStep(id=id_, capability=name, params=params)
    return VerifiedStep(
        step=planned, uid=id_, needs=after, effect=found.effect, mode=found.mode, risk=found.risk, gated=False
    )


def file(id_: str, path: str, *after: str) -> VerifiedStep:
    return step(id_, "files.write", *after, path=path, text=id_)


def reads(id_: str, path: str, *after: str) -> VerifiedStep:
    return step(id_, "files.read", *after, path=path)


def ask(id_: str, method: str, url: str) -> VerifiedStep:
    return step(id_, "http.request", method=method, url=url)


def agent(id_: str, *tools: str) -> VerifiedStep:
    planned = PlanStep(id=id_, tool_hints=tools, description="do it")
    return VerifiedStep(
        step=planned, uid=id_, needs=(), effect="blind", mode="destructive", risk="High", gated=False
    )


def edges(steps: list[VerifiedStep], world: CallContext, *ended: str) -> list[str]:
    plan = Plan(steps=tuple(entry.step for entry in steps))
    ordered, findings = in_order(plan, steps, ended, REGISTRY, world)
    assert not findings
    assert sorted(entry.uid for entry in ordered) == sorted(entry.uid for entry in steps)
    return [f"{one.uid}<{entry.uid} {one.resource}" for entry in ordered for one in entry.follows]


FILES: dict[str, tuple[list[VerifiedStep], list[str]]] = {
    "two files": ([file("a", "x.md"), file("b", "y.md")], []),
    "one file": ([file("a", "x.md"), file("b", "x.md")], ["a<b x.md"]),
    "an order there is": ([file("a", "x.md"), file("b", "x.md", "a")], []),
    "an order over another": ([file("a", "x.md"), file("b", "y.md", "a"), file("c", "x.md", "b")], []),
    "a need that is no order": ([file("a", "x.md"), file("b", "y"), file("c", "x.md", "b")], ["a<c x.md"]),
    "a need against the writing": ([file("a", "x.md", "b"), file("b", "x.md")], []),
    "one in a row": ([file(i, "x") for i in "abc"], ["a<b x", "b<c x"]),
    "read what is written": ([file("a", "x.md"), reads("b", "x.md")], ["a<b x.md"]),
    "read, then write": ([reads("a", "x.md"), file("b", "x.md")], ["a<b x.md"]),
    "two readers": ([reads("a", "x.md"), reads("b", "x.md")], []),
    "readers between writers": (
        [file("a", "x"), reads("b", "x"), reads("c", "x"), file("d", "x")],
        ["a<b x", "a<c x", "c<d x", "b<d x"],
    ),
    "spelled otherwise": ([file("a", "./n/X.md"), reads("b", "n//x.md")], ["a<b n/x.md"]),
    "a bare name": ([file("a", "n/x.md"), reads("b", "x.md")], ["a<b x.md"]),
    "another bare name": ([file("a", "n/x.md"), reads("b", "y.md")], []),
    "names alike": ([file("a", "n/x.md"), file("b", "m/x.md")], []),
    "a folder": ([file("a", "n/x.md"), step("b", "files.list", path="n")], ["a<b n/x.md"]),
    "all folders": ([step("a", "files.list"), file("b", "n/x.md")], ["a<b n/x.md"]),
    "another folder": ([file("a", "n/x.md"), step("b", "files.list", path="nn")], []),
    "unknown": ([file("a", "{{input.x}}"), reads("b", "x.md")], ["a<b x.md"]),
    "unknown, in a folder": ([file("a", "n/{{input.x}}"), reads("b", "m/x.md")], []),
    "unknown, below a folder": ([file("a", "n/{{input.x}}"), reads("b", "n/x.md")], ["a<b n/x.md"]),
    "unknown, begun": ([file("a", "n/a{{input.x}}"), reads("b", "n/x.md")], ["a<b n/x.md"]),
    "both unknown": ([file("a", "{{input.x}}"), reads("b", "{{input.y}}")], ["a<b files"]),
    "a ticket database": (
        [step("a", "tickets.create", title="t"), reads("b", "tickets.db")],
        ["a<b tickets.db"],
    ),
    "an attachment": (
        [file("a", "x.md"), step("b", "mail.send", to=["a@b.c"], text="t", attachments=["x.md"])],
        ["a<b x.md"],
    ),
}
OTHERS: dict[str, tuple[list[VerifiedStep], list[str]]] = {
    "tickets": ([step(i, "tickets.create", title="t") for i in "abc"], []),
    "posts": ([step(i, "channel.post", text="t") for i in "ab"], []),
    "mails": ([step(i, "mail.send", to=["a@b.c"], text="t") for i in "ab"], []),
    "a list before and after": (
        [
            step("a", "tickets.list"),
            step("b", "tickets.create", title="t"),
            step("c", "tickets.create", title="t"),
            step("d", "tickets.list"),
        ],
        ["a<b tickets.db", "a<c tickets.db", "c<d tickets.db", "b<d tickets.db"],
    ),
    "the table of the tickets": (
        [
            step("a", "tickets.create", title="t"),
            step("b", "sql.query", database="tickets.db", statement="SELECT 1"),
            step("c", "sql.query", database="other.db", statement="SELECT 1"),
        ],
        ["a<b tickets.db"],
    ),
    "one database": (
        [
            step("a", "sql.execute", database="x.db", statement="DELETE FROM a"),
            step("b", "sql.execute", database="./x.db", statement="DELETE FROM b"),
        ],
        ["a<b x.db"],
    ),
    "any database": (
        [
            step("a", "sql.execute", database="{{input.x}}", statement="DELETE FROM a"),
            step("b", "sql.query", database="x.db", statement="SELECT 1"),
        ],
        ["a<b x.db"],
    ),
    "memories": (
        [
            step("a", "memory.write", text="t"),
            step("b", "memory.write", text="u"),
            step("c", "memory.forget", query="t"),
            step("d", "memory.search", query="t"),
        ],
        ["b<c memories", "a<c memories", "c<d memories"],
    ),
    "drafts and the inbox": (
        [step("a", "mail.draft", to=["a@b.c"], text="t"), step("b", "mail.search", query="t")],
        [],
    ),
    "two pages": ([ask("a", "GET", "https://a.b/x"), ask("b", "GET", "https://a.b/x")], []),
    "two orders": ([ask("a", "POST", "https://a.b/x"), ask("b", "POST", "https://a.b/y")], []),
    "an order and a page": (
        [ask("a", "POST", "https://a.b/x"), ask("b", "GET", "https://A.B/")],
        ["a<b a.b:443"],
    ),
    "another server": ([ask("a", "POST", "https://a.b/x"), ask("b", "GET", "https://c.d/x")], []),
    "another port": ([ask("a", "PUT", "https://a.b/x"), ask("b", "GET", "https://a.b:8443/x")], []),
    "two pages replaced": ([ask("a", "PUT", "https://a.b/x"), ask("b", "PUT", "https://a.b/y")], []),
    "one page replaced": (
        [ask("a", "PUT", "https://a.b/x"), ask("b", "PATCH", "https://a.b/%78")],
        ["a<b a.b:443/x"],
    ),
    "one order and one replaced": (
        [ask("a", "POST", "https://a.b/x"), ask("b", "DELETE", "https://a.b/y")],
        ["a<b a.b:443/y"],
    ),
    "any server": ([ask("a", "POST", "{{input.x}}"), ask("b", "GET", "https://a.b/x")], ["a<b a.b:443"]),
    "a server, and any page": (
        [ask("a", "PUT", "https://a.b/{{input.x}}"), ask("b", "PUT", "https://a.b/x")],
        ["a<b a.b:443/x"],
    ),
    "declared": ([step("a", "two.log"), step("b", "two.log", to="main")], ["a<b main"]),
    "declared apart": ([step("a", "two.put", on=["1", "2"]), step("b", "two.put", on=["3"])], []),
    "declared in part": (
        [step("a", "two.put", on=["1", "2"]), step("b", "two.put", on=["2", "3"])],
        ["a<b 2"],
    ),
    "a list that is not known": (
        [step("a", "two.put", on="{{input.x}}"), step("b", "two.put", on=["2"])],
        ["a<b 2"],
    ),
    "nothing declared, reading": ([step("a", "two.look"), step("b", "two.look")], []),
    "nothing declared, writing": ([step("a", "two.note"), step("b", "two.note")], []),
    "nothing declared, both": ([step("a", "two.note"), step("b", "two.look")], []),
    "nothing declared, not even a mode": ([step("a", "two.clear"), step("b", "two.clear")], []),
    "a server, reading": ([step("a", "one.look"), step("b", "one.look")], []),
    "a server, adding": ([step("a", "one.add"), step("b", "one.add")], []),
    "a server, adding and reading": ([step("a", "one.add"), step("b", "one.look")], ["a<b one"]),
    "a server, taking away": ([step("a", "one.wipe"), step("b", "one.wipe")], ["a<b one"]),
    "a server that says nothing": ([step("a", "one.mute"), step("b", "one.add")], ["a<b one"]),
    "two servers": ([step("a", "one.wipe"), step("b", "two_servers.wipe")], []),
    "agents that read": ([agent(i, "files.read", "mail.search", "memory.search") for i in "abc"], []),
    "agents that write": ([agent(i, "files.write") for i in "ab"], ["a<b files"]),
    "an agent that may read it": (
        [file("a", "x.md"), agent("b", "files.read", "agent.delegate")],
        ["a<b x.md"],
    ),
    "an agent that may put anywhere": ([agent("a", "two.put"), step("b", "two.put", on=["1"])], ["a<b 1"]),
    "an agent that may attach any file": (
        [step("a", "tickets.create", title="t"), agent("b", "mail.draft"), file("c", "x.md")],
        ["b<c x.md"],
    ),
    "an agent that may ask any database": (
        [step("a", "tickets.create", title="t"), agent("b", "sql.query")],
        ["a<b tickets.db"],
    ),
    "agents that add": ([agent(i, "tickets.create", "channel.post") for i in "ab"], []),
}


@pytest.mark.parametrize(("steps", "added"), [*FILES.values(), *OTHERS.values()], ids=[*FILES, *OTHERS])
def test_steps_that_use_the_same_things_keep_the_order_of_their_plan(
    world: CallContext, steps: list[VerifiedStep], added: list[str]
) -> None:
    assert edges(steps, world) == added


def test_nobody_waits_for_a_step_that_does_not_run_again(world: CallContext) -> None:
    steps = [file("a", "x.md"), file("b", "x.md"), file("c", "x.md")]
    assert edges(steps, world, "a") == ["b<c x.md"]
    assert edges(steps, world, "b") == ["a<c x.md"]


def test_a_step_that_has_ended_hides_no_order(world: CallContext) -> None:
    steps = [file("a", "x.md"), file("b", "y.md", "a"), file("c", "x.md", "b")]
    assert edges(steps, world, "b") == ["a<c x.md"]


def test_a_need_against_the_writing_holds_behind_a_step_that_has_ended(world: CallContext) -> None:
    steps = [file("a", "x.md", "b"), file("b", "y.md", "c"), file("c", "x.md")]
    assert edges(steps, world, "b") == ["c<a x.md"]


def test_a_capability_that_cannot_say_what_it_writes_is_not_permitted(world: CallContext) -> None:
    entry = step("a", "two.break")
    _, (finding,) = in_order(Plan(steps=(entry.step,)), [entry], (), REGISTRY, world)
    assert (finding.code, finding.step_id) == ("not_permitted", "a")
    assert "the writes of two.break broke: KeyError" in finding.message


def test_a_step_of_an_old_checkpoint_follows_nobody() -> None:
    fields = file("a", "x.md").model_dump(exclude={"follows"})
    assert VerifiedStep.model_validate(fields).follows == ()
