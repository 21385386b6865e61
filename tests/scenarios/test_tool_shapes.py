"""Tools in the shapes that LangChain documents: what is injected, how they return, what they are called."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg, InjectedToolCallId, StructuredTool, tool
from langgraph.config import get_stream_writer
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from langgraph.types import Command
from pydantic import ConfigDict, Field, create_model

from planwright.domain.errors import SetupError
from planwright.models.conversation.call_arguments import wire_name

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

READS = {"mode": "read_only"}
ANY = ConfigDict(arbitrary_types_allowed=True)


def call_id(word: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
    """Say a word."""
    return f"{word} {len(tool_call_id)}"


def state(word: str, state: Annotated[dict[str, Any], InjectedState]) -> str:
    """Say a word."""
    return f"{word} {state['messages'][-1].text}"


def messages(word: str, before: Annotated[list[Any], InjectedState("messages")]) -> str:
    """Say a word."""
    return f"{word} {before[-1].text}"


def runtime(word: str, runtime: ToolRuntime) -> str:
    """Say a word."""
    runtime.stream_writer("on my way")
    return f"{word} {runtime.state['messages'][-1].text} {len(str(runtime.tool_call_id))}"


def config(word: str, config: RunnableConfig) -> str:
    """Say a word."""
    return f"{word} {len(config['configurable']['thread_id'])}"


def argument(word: str, key: Annotated[str, InjectedToolArg] = "own") -> str:
    """Say a word."""
    return f"{word} {key}"


def command(word: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[str]:
    """Say a word."""
    return Command(
        update={"messages": [ToolMessage(f"{word} told", tool_call_id=tool_call_id)], "mood": "good"}
    )


def update(word: str) -> Command[str]:
    """Say a word."""
    return Command(update={"mood": word})


def message(word: str) -> ToolMessage:
    """Say a word."""
    return ToolMessage(f"{word} told", tool_call_id="any")


def streams(word: str) -> str:
    """Say a word."""
    get_stream_writer()({"at": 1})
    return word


def artifact(word: str) -> tuple[str, list[int]]:
    """Say a word."""
    return word, [1, 2]


def region(word: str, region: str = None, most: Annotated[int, Field(gt=0)] = None) -> str:  # type: ignore[assignment]  # noqa: RUF013
    """Say a word."""
    return f"{word} {region} {most}"


class Asynchronous(BaseTool):
    """A tool that only waits."""

    name: str = "asynchronous"
    description: str = "Say a word."

    def _run(self, word: str) -> str:
        raise NotImplementedError

    async def _arun(self, word: str) -> str:
        return f"{word} in time"


class Plain(BaseTool):
    """A tool without a schema."""

    name: str = "plain"
    description: str = "Say a word."

    def _run(self, word: str) -> str:
        return f"{word} plainly"


def of(function: Callable[..., object], **more: Any) -> BaseTool:
    return StructuredTool.from_function(function, **more)


SHAPES: dict[str, tuple[BaseTool, object]] = {
    "the id of the call": (of(call_id), "A 64"),
    "the state": (of(state), "A Say it"),
    "messages of the state": (of(messages), "A Say it"),
    "a runtime": (of(runtime), "A Say it 64"),
    "a config": (of(config), "A 36"),
    "an argument with a default": (of(argument), "A own"),
    "a command with a message": (of(command), "A told"),
    "a command without": (of(update), {"mood": "A"}),
    "a message": (of(message), "A told"),
    "None by default and not by its type": (of(region), "A None None"),
    "it streams": (of(streams), "A"),
    "content and artifact": (of(artifact, response_format="content_and_artifact"), "A"),
    "the answer itself": (of(streams, return_direct=True), "A"),
    "only async": (Asynchronous(), "A in time"),
    "no schema": (Plain(), "A plainly"),
    "a name with other letters": (of(streams, name="say a/word.now"), "A"),
    "a name with more than 64": (of(streams, name="say." * 30), "A"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_tool_of_this_shape_is_called_and_what_it_told_is_on_record(scene: Scene, shape: str) -> None:
    made, told = SHAPES[shape]
    made.metadata = READS
    reply = scene.calls((wire_name(made.name), {"word": "A"}))
    agent = scene.agent(reply, "Said.", tools=[made], planning={"mode": "never"})
    assert scene.ask(agent, "Say it")["status"] == "completed"
    (row,) = scene.rows("SELECT result FROM steps")
    result = json.loads(row["result"])
    assert (result["capability"], result["output"]) == (made.name, told)


UNSET: Any = object()


def of_host(config: str, callbacks: str = "b", run_manager: str = "c") -> str:
    """Say a word."""
    return f"{config} {callbacks} {run_manager}"


def of_command(config: str, args: list[str], kwargs: dict[str, int] = {}) -> str:  # noqa: B006
    """Say a word."""
    return f"{config} {args} {kwargs}"


def variadic(config: str, *args: int, **options: int) -> str:
    """Say a word."""
    return f"{config} {args} {options}"


def untyped(config, most=UNSET, shape=(), by=str):  # type: ignore[no-untyped-def]
    """Say a word."""
    return f"{config} {most is UNSET} {shape} {by.__name__}"


def matched(config: str | Stack, by: re.Pattern[str] | Stack | None = None) -> str:
    """Say a word."""
    return f"{config} {by}"


async def awaited(config: str) -> str:
    """Say a word."""
    return f"{config} in time"


def message_of_none(config):  # type: ignore[no-untyped-def]
    """Say a word."""
    return ToolMessage(f"{config} told", tool_call_id="any")


class Stack:
    """A type that JSON does not have."""


FUNCTIONS: dict[Callable[..., object], str] = {
    of_host: "A b c",
    of_command: "A ['x'] {}",
    variadic: "A () {}",
    untyped: "A True () str",
    matched: "A None",
    awaited: "A in time",
    message_of_none: "A told",
}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_function_is_called_as_it_is_written_whatever_its_arguments_are_called(
    scene: Scene, function: Callable[..., object]
) -> None:
    args = {"config": "A", **({"args": ["x"]} if function is of_command else {})}
    reply = scene.calls((function.__name__, args))
    agent = scene.agent(reply, "Said.", tools=[function], planning={"mode": "never"})
    scene.ask(agent, "Say it")
    assert scene.decide(agent, "approve")["status"] == "completed"
    (row,) = scene.rows("SELECT result FROM steps")
    assert json.loads(row["result"])["output"] == FUNCTIONS[function]


def of_stack(stack: Stack) -> str:
    """Say a word."""
    return str(stack)


def elsewhere(word: Unknown) -> str:  # type: ignore[name-defined]  # noqa: F821
    """Say a word."""
    return str(word)


def by_place(word: str, /) -> str:
    """Say a word."""
    return word


def hidden(_word: str) -> str:
    """Say a word."""
    return _word


def all_of(*words: str, loud: bool = False) -> str:
    """Say a word."""
    return f"{words} {loud}"


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (of_stack, "Stack"),
        (of(of_stack, args_schema=create_model("Args", __config__=ANY, stack=(Stack, ...))), "Stack"),
        (elsewhere, "name 'Unknown' is not defined"),
        (by_place, "`word` cannot be passed by name"),
        (len, "`obj` cannot be passed by name"),
        (hidden, "`_word` cannot be passed by name"),
        (all_of, r"`\*words` cannot be passed by name"),
    ],
    ids=["type", "type of a tool", "unknown type", "by place", "builtin", "underscore", "any number"],
)
def test_a_function_that_no_model_could_call_is_refused_before_anything_runs(
    scene: Scene, function: Any, why: str
) -> None:
    with pytest.raises(SetupError, match=why) as refused:
        scene.agent("x", tools=[function])
    assert getattr(function, "__name__", "of_stack") in refused.value.cause
    assert "type" in refused.value.next_step


def test_a_store_of_langgraph_is_not_here_and_that_is_said_before_anything_runs(scene: Scene) -> None:
    @tool
    def keep(word: str, store: Annotated[Any, InjectedStore()]) -> str:
        """Keep a word."""
        return word

    with pytest.raises(SetupError, match="`store` injected, which nobody does here"):
        scene.agent("x", tools=[keep])


@pytest.mark.parametrize("name", ["a" * 65, "say it", "größe", "a.b" * 40])
def test_names_on_the_wire_are_such_as_providers_take_and_each_its_own(name: str) -> None:
    spelled = wire_name(name)
    assert len(spelled) <= 64
    assert spelled.replace("_", "").replace("-", "").isalnum()
    assert spelled.isascii()
    assert spelled != wire_name(f"{name}x")
