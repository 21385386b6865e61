"""Chains: what may be made of what, and what a made one looks like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel, JsonValue

from planwright.capabilities.arguments import check_arguments
from planwright.capabilities.builtin.answer import respond
from planwright.capabilities.builtin.chain import create_chain
from planwright.capabilities.builtin.delegate import delegate
from planwright.capabilities.builtin.http import request
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.chains.compose import compose_chain, known_arguments
from planwright.capabilities.chains.run_chains import Chains, allowed_in_run
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.capabilities.policy.decide import decide
from planwright.capabilities.registry import Registry
from planwright.capabilities.tools.schema_arguments import arguments_by
from planwright.domain.errors import CapabilityRejected, LedgerConflict
from planwright.domain.run_context import RunContext
from planwright.records.stores import Stores
from planwright.settings.agents import AgentProfile
from planwright.settings.profile import RunProfile, in_force


class Page(BaseModel):
    """What was found."""

    text: str
    links: list[str]


@capability("web.find", mode="read_only")
def find(topic: str, limit: int = 3) -> Page:
    """Find a page."""
    return Page(text=topic, links=[])


@capability("note.write", mode="local_write", effect="idempotent")
def write(text: str, tags: list[str] = []) -> str:  # noqa: B006
    """Write a note."""
    return text


@capability("disk.wipe", mode="destructive", risk="Critical")
def wipe(path: str) -> str:
    """Wipe a disk."""
    return path


@capability("mail.hidden", mode="read_only")
def hidden() -> str:
    """Be known, and not for this agent."""
    return ""


EVERYTHING = Registry([find, write, wipe, hidden, create_chain, delegate, respond])
TOOLS = Registry(found for found in EVERYTHING if found is not hidden)
FIND = {"toolName": "web.find", "arguments": {"topic": "{{input.topic}}"}}
WRITE = {"toolName": "note.write", "arguments": {"text": "{{previous_result.text}}"}}
Make = Callable[..., Capability]


def given(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "find_it", "description": "Find it", "steps": list(steps), **more}


@pytest.fixture
def make(make_world: Callable[..., CallContext]) -> Make:
    world = make_world()

    def make(*steps: dict[str, Any], everything: Registry = EVERYTHING, **more: Any) -> Capability:
        args = check_arguments(create_chain, given(*steps, **more))
        return compose_chain(args, TOOLS, everything, world)

    return make


def step(tool: str = "note.write", id_: str = "", **arguments: JsonValue) -> dict[str, Any]:
    return {"toolName": tool, "arguments": arguments, "id": id_}


def test_a_chain_is_as_grave_as_the_gravest_of_its_parts(make: Make) -> None:
    made = make(FIND, step("disk.wipe", path="{{previous_result.text}}"), step(text="done"))
    assert (made.mode, made.risk, made.effect) == ("destructive", "Critical", "blind")
    assert (make(FIND).mode, make(FIND).effect) == ("read_only", "pure")


def test_its_arguments_are_what_its_steps_refer_to_with_their_types(make: Make) -> None:
    made = make(
        step("web.find", topic="{{input.topic}}", limit="{{input.most}}"),
        step(text="{{input.head}}: {{input.topic}}", tags=["{{input.tag}}"]),
    )
    assert made.chain is not None
    types = {name: one.type for name, one in made.chain.inputs.items()}
    assert types == {"topic": "any", "most": "integer", "head": "any", "tag": "any"}
    with pytest.raises(CapabilityRejected):
        check_arguments(made, {"topic": "t", "most": "many", "head": "h", "tag": "x"})
    with pytest.raises(CapabilityRejected):
        check_arguments(made, {"topic": "t", "most": 1, "head": "h"})


def test_its_arguments_may_be_given_as_a_schema(make: Make) -> None:
    schema = {"type": "object", "properties": {"topic": {"type": "string", "description": "what"}}}
    made = make(FIND, input_schema=schema)
    assert made.args_schema["properties"]["topic"]["description"] == "what"
    assert made.args_schema["required"] == ["topic"]


def test_a_chain_returns_what_its_last_step_returns(make: Make) -> None:
    assert make(step(text="a"), FIND).result_schema == find.result_schema


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([step("note.wrote", text="a")], "note.wrote does not exist (nearest: note.write)"),
        ([step("mail.hidden")], "mail.hidden may not be used here"),
        ([step("find_it")], "would call the chain itself"),
        ([step("tool.create_chain")], "cannot be a part of a chain"),
        ([step("agent.delegate", task="t")], "cannot be a part of a chain"),
        ([step("respond")], "cannot be a part of a chain"),
        ([step(text="a", id_="a"), step(text="b", id_="a")], "the id 'a' is taken"),
        ([step(text="a", id_="2"), step(text="b")], "'2' is no id"),
        ([step(text="a", id_="a b")], "'a b' is no id"),
        ([step(txt="a")], "txt: extra inputs"),
        ([step()], "text: field required"),
        ([step(text=3)], "text: input should be a valid string"),
        ([step(text="{{previous_result}}")], "does not come before it"),
        ([step(text="{{steps.1.output}}")], "does not come before it"),
        ([step(text="a"), step(text="{{steps.2.output}}")], "does not come before it"),
        ([step(text="{{steps.b.output}}"), step(text="b", id_="b")], "does not come before it"),
        ([step(text="a"), step(text="{{steps.01.output}}")], "does not come before it"),
        ([FIND, step(text="{{previous_result.txt}}")], "web.find returns no 'txt'; it returns: text, links"),
        ([FIND, step(text="{{steps.1.output.title}}")], "web.find returns no 'title'"),
        ([step(text="{{input}}")], "is no reference"),
        ([step(text="{{ input.a | upper }}")], "is no reference"),
        ([step(text="{{secrets.key}}")], "is no reference"),
        ([step(text="{{input.a")], "is no reference"),
        ([step(text="{{input.{{input.a}}}}")], "is no reference"),
        ([step(text="a", tags=[{"{{input.a}}": 1}])], "is no reference"),
        ([step(text="{{input.copy}}")], "an input cannot be called 'copy'"),
        ([step(text="{{input.__class__}}")], "an input cannot be called '__class__'"),
        ([step(text="{{input.1}}")], "an input cannot be called '1'"),
        ([step(text="x" * 100_001)], "characters long"),
        ([step(text=" ".join(f"{{{{input.a{n}}}}}" for n in range(51)))], "51 inputs"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_a_chain_is_refused_with_the_reason(
    make: Make, steps: list[dict[str, Any]], said: str
) -> None:
    with pytest.raises(CapabilityRejected) as refused:
        make(*steps)
    assert said in refused.value.cause


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("web.find", "cannot be its name"),
        ("mail.anything", "cannot be its name"),
        ("web__find", "cannot be its name"),
        ("respond", "is a capability already"),
        ("agent", "cannot be its name"),
        ("approve_plan", "cannot be its name"),
        ("Find", "cannot be its name"),
        ("find it", "cannot be its name"),
        ("fіnd", "cannot be its name"),
    ],
)
def test_a_name_that_could_be_taken_for_another_is_refused(make: Make, name: str, said: str) -> None:
    with pytest.raises(CapabilityRejected, match=said):
        make(step(text="a"), name=name)


def test_a_name_that_is_withheld_is_taken(make: Make, make_world: Callable[..., CallContext]) -> None:
    plain = capability("plain", mode="read_only")(hidden.function)
    narrowed = Registry([*TOOLS, plain]).within(reader(make_world()))
    with pytest.raises(CapabilityRejected, match="is a capability already"):
        make(step(text="a"), name="plain", everything=narrowed)


def reader(world: CallContext) -> RunProfile:
    """The profile of an agent that may use `web.*` only."""
    settings = world.settings.model_copy(update={"agents": {"reader": AgentProfile(tools=("web.*",))}})
    return in_force(settings, RunContext(agent="reader"))


def test_more_than_twenty_steps_are_refused(make: Make) -> None:
    make(*[step(text="a")] * 20)
    with pytest.raises(CapabilityRejected):
        make(*[step(text="a")] * 21)


def test_a_chain_is_no_part_of_a_chain(make: Make, make_world: Callable[..., CallContext]) -> None:
    surface = TOOLS.beside([make(FIND)])
    args = check_arguments(create_chain, given(step("find_it", topic="t"), name="more"))
    with pytest.raises(CapabilityRejected, match="is a chain itself"):
        compose_chain(args, surface, surface, make_world())


def test_a_model_may_spell_tools_as_function_calling_does(make: Make) -> None:
    made = make(step("web__find", topic="t"))
    assert made.chain is not None
    assert made.chain.calls[0].capability == "web.find"


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"properties": {}}, "its steps refer to topic"),
        ({"properties": {"topic": {}, "more": {}}}, "input_schema names more, topic"),
    ],
)
def test_a_schema_that_does_not_name_the_inputs_is_refused(
    make: Make, schema: dict[str, Any], said: str
) -> None:
    with pytest.raises(CapabilityRejected, match=said):
        make(FIND, input_schema=schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"topic": {"type": "text"}}},
        {"properties": {"topic": {"minLength": 3}}},
        {"type": "array", "properties": {"topic": {}}},
        {"properties": {"topic": {}, "b": {}}, "required": ["topic"]},
    ],
)
def test_a_schema_that_would_be_ignored_in_part_is_refused(make: Make, schema: dict[str, Any]) -> None:
    with pytest.raises(CapabilityRejected):
        make(FIND, input_schema=schema)


def test_what_is_known_is_resolved_and_what_is_not_stays(make: Make) -> None:
    made = make(FIND, step(text="{{input.topic}}: {{previous_result.text}}"))
    assert made.chain is not None
    args = {"topic": "{{steps.1.output}}"}
    assert known_arguments(made.chain.calls[0], args) == {"topic": "{{steps.1.output}}"}
    assert known_arguments(made.chain.calls[1], args) == {
        "text": "{{steps.1.output}}: {{previous_result.text}}"
    }


def test_the_policy_asks_when_one_of_its_calls_asks(
    make: Make, make_world: Callable[..., CallContext]
) -> None:
    world = make_world()
    assert decide(make(FIND, WRITE), {"topic": "t"}, world).answer == "allow"
    ruling = decide(make(FIND, step("disk.wipe", path="/")), {"topic": "t"}, world)
    assert (ruling.answer, "disk.wipe" in ruling.reason) == ("ask", True)


def test_the_same_steps_have_the_same_hash_and_others_another(make: Make) -> None:
    def hash_of(found: Capability) -> str:
        assert found.chain is not None
        return found.chain.hash

    assert hash_of(make(FIND)) == hash_of(make(FIND))
    others = [
        make(WRITE | {"arguments": {"text": "a"}}),
        make(FIND, description="Other"),
        make(FIND, name="b"),
    ]
    assert hash_of(make(FIND)) not in map(hash_of, others)


async def test_a_run_has_its_own_chains_and_no_other_run_has(
    make: Make, stores: Stores, make_world: Callable[..., CallContext]
) -> None:
    chains, world = Chains(TOOLS, stores.chains), make_world()
    await chains.make(check_arguments(create_chain, given(FIND)), world)
    profile = in_force(world.settings, RunContext())
    assert (await allowed_in_run(TOOLS, chains, "run_1", profile)).chains == ("find_it",)
    assert "find_it" not in await allowed_in_run(TOOLS, chains, "run_2", profile)
    assert "find_it" not in TOOLS


async def test_a_chain_is_gone_for_an_agent_that_lost_one_of_its_parts(
    stores: Stores, make_world: Callable[..., CallContext]
) -> None:
    chains, world = Chains(TOOLS, stores.chains), make_world()
    await chains.make(check_arguments(create_chain, given(FIND, WRITE)), world)
    assert (await allowed_in_run(TOOLS, chains, "run_1", reader(world))).chains == ()


async def test_a_name_stands_for_one_definition_in_a_run(
    stores: Stores, make_world: Callable[..., CallContext]
) -> None:
    chains, world = Chains(TOOLS, stores.chains), make_world()
    first = check_arguments(create_chain, given(FIND))
    await chains.make(first, world)
    await chains.make(first, world)
    with pytest.raises(CapabilityRejected, match="another definition"):
        await chains.make(check_arguments(create_chain, given(FIND, WRITE)), world)


async def test_a_definition_that_was_changed_where_it_is_kept_is_an_error(
    stores: Stores, make_world: Callable[..., CallContext]
) -> None:
    chains, world = Chains(TOOLS, stores.chains), make_world()
    await chains.make(check_arguments(create_chain, given(FIND)), world)
    change = "UPDATE chains SET definition = replace(definition, 'topic', 'other')"
    stores.database.call("change", lambda c: c.execute(change) and None)
    with pytest.raises(LedgerConflict, match="is not what was made"):
        await allowed_in_run(TOOLS, chains, "run_1", in_force(world.settings, RunContext()))


def test_a_chain_has_no_function_to_call(make: Make) -> None:
    with pytest.raises(CapabilityRejected, match="step by step"):
        make(FIND).function(topic="t")


@pytest.mark.parametrize(
    ("method", "args", "gravity"),
    [
        ("GET", {}, ("Low", "pure")),
        ("{{input.method}}", {"method": "GET"}, ("Low", "pure")),
        ("{{input.method}}", {"method": "POST"}, ("High", "blind")),
        ("{{input.method}}", {"method": "{{steps.s1.output}}"}, ("High", "blind")),
        ("{{previous_result.text}}", {}, ("High", "blind")),
    ],
)
def test_a_chain_is_as_grave_as_its_arguments_make_its_parts(
    make_world: Callable[..., CallContext], method: str, args: dict[str, JsonValue], gravity: tuple[str, str]
) -> None:
    world, tools = make_world(), Registry([find, request])
    asks = step("http.request", url="https://example.org/", method=method)
    made = compose_chain(
        check_arguments(create_chain, given(step("web.find", topic="t"), asks)), tools, tools, world
    )
    assert (made.mode, made.risk, made.effect) == ("network", "High", "blind")
    called = made.narrowed(args, world)
    assert (called.risk, called.effect) == gravity


def test_a_chain_may_call_tools_that_follow_a_json_schema(make_world: Callable[..., CallContext]) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"],
    }
    added = replace(find, name="sums.add", args=arguments_by("sums.add", schema))
    tools, world = Registry([added]), make_world()
    whole = given(step("sums.add", a="{{input.first}}", b=1))
    made = compose_chain(check_arguments(create_chain, whole), tools, tools, world)
    assert made.chain is not None
    assert made.chain.inputs["first"].type == "number"
    with pytest.raises(CapabilityRejected):
        check_arguments(made, {"first": "one"})
    for wrong, said in (({"a": 1}, "'b' is a required property"), ({"a": "x", "b": 1}, "not of type")):
        with pytest.raises(CapabilityRejected, match=said):
            compose_chain(
                check_arguments(create_chain, given(step("sums.add", **wrong))), tools, tools, world
            )
