"""A LangChain tool as a capability. What it may do is in its `metadata`; left out, it is destructive.

A tool that comes from an MCP server by an adapter has the server's hints there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Literal, TypeVar, get_args, get_origin, get_type_hints

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.runnables import ensure_config
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool
from langgraph.prebuilt import InjectedState, ToolRuntime
from langgraph.types import Command
from pydantic import BaseModel, JsonValue, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.encoding import ANY_RESULT
from planwright.capabilities.signature import Fields, arguments_of, check_fields, with_optional_fields
from planwright.capabilities.tools.hints import read_hints
from planwright.capabilities.tools.schema_arguments import arguments_by
from planwright.domain.errors import SetupError
from planwright.domain.risk import Effect, Mode, Risk

Injected = Literal["call_id", "messages", "state", "runtime"]
"""What LangGraph injects into an argument of a tool."""
CHOICES: dict[str, tuple[str, ...]] = {
    "mode": get_args(Mode),
    "risk": get_args(Risk),
    "effect": get_args(Effect),
}
"""What the metadata of a tool may declare, and as what."""
ONE_SLIP = 0.7  # how like two words are, of 1, that differ by one letter of four
ChoiceT = TypeVar("ChoiceT", bound=str)


def from_tool(brought: object) -> Capability:
    """Wrap a tool: `metadata={"mode": "read_only", "risk": …, "effect": …}` declares what a call does.

    A plain function is made a tool first, and a capability stays what it is. Raises SetupError for what is no
    tool, for one without a schema, or whose declaration is not one of ours.
    """
    tool = brought if isinstance(brought, BaseTool | Capability) else _of_function(brought)
    if isinstance(tool, Capability):
        return tool
    args = _arguments(tool)
    metadata = tool.metadata or {}
    _refuse_slips(tool, metadata)
    hints = read_hints(metadata)
    declared = metadata.get("mode", hints.mode)
    mode: Mode = _one_of(tool, "mode", declared or "destructive", get_args(Mode))
    risk: Risk = _one_of(tool, "risk", metadata.get("risk", hints.risk(mode)), get_args(Risk))
    effect: Effect = _one_of(tool, "effect", metadata.get("effect", hints.effect(mode)), get_args(Effect))

    injected, optional = _injected(tool), _optional(args)

    def call(planwright_call: CallContext, **arguments: JsonValue) -> object:
        values = _without_defaults(arguments, optional)
        return _returned(tool.invoke(_input(tool, values, injected, planwright_call)))

    async def acall(planwright_call: CallContext, **arguments: JsonValue) -> object:
        values = _without_defaults(arguments, optional)
        return _returned(await tool.ainvoke(_input(tool, values, injected, planwright_call)))

    return Capability(
        name=tool.name,
        description=tool.description.split("\n\n")[0].replace("\n", " "),
        function=acall if _is_async(tool) else call,  # a thread of its own is seen where it ends late
        args=args,
        result=ANY_RESULT,
        mode=mode,
        risk=risk,
        effect=effect,
        tags=tuple(tool.tags or ()),
        declared=declared is not None,
        context_parameter="planwright_call",
        has_callbacks=True,
        result_schema=ANY_RESULT.json_schema(),
        source=getattr(tool, "coroutine", None) or getattr(tool, "func", None) or type(tool),
    )


def _refuse_slips(tool: BaseTool, metadata: Mapping[str, object]) -> None:
    """Raise SetupError for a key that reads like one of ours, with a value that reads like one of its own.

    Dropped, `rsik = "Critical"` would let a call run unasked. Other keys may be anybody's.
    """
    for key, value in ((key, value) for key, value in metadata.items() if isinstance(value, str)):
        for field, choices in CHOICES.items():
            if key != field and _reads_like(key, [field]) and _reads_like(value, choices):
                cause = f"the metadata of the tool {tool.name} has no {key!r}"
                raise SetupError(cause, f"did you mean {field} = {_nearest(value, choices)!r}?")


def _reads_like(word: str, choices: Sequence[str]) -> bool:
    return _nearest(word, choices) is not None


def _nearest(word: str, choices: Sequence[str]) -> str | None:
    lowered = {choice.lower(): choice for choice in choices}
    near = get_close_matches(word.lower(), lowered, 1, ONE_SLIP)
    return lowered[near[0]] if near else None


def _of_function(function: object) -> BaseTool | Capability:
    """Take a function by its own signature; by LangChain's reading only where a type of LangChain is in it.

    LangChain keeps arguments back that are named `config`, `args` or `kwargs`, and fills in `**options`.
    """
    if not inspect.isroutine(function):
        cause = f"`tools` holds {_shortly(function)}, which is no tool"
        raise SetupError(cause, "pass LangChain tools, or functions with types and a docstring")
    try:
        if not any(map(_of_langchain, get_type_hints(function, include_extras=True).values())):
            return _by_signature(function)
        if inspect.iscoroutinefunction(function):
            return StructuredTool.from_function(coroutine=function)
        return StructuredTool.from_function(function)
    except (TypeError, ValueError, NameError, PydanticUserError) as error:
        cause = f"the function {function.__name__} is no tool: {str(error).splitlines()[0]}"
        raise SetupError(
            cause, "give it types and a docstring, or wrap it in a function that has them"
        ) from error


def _by_signature(function: Callable[..., object]) -> Capability:
    if not (function.__doc__ or "").strip():
        raise ValueError("it has no docstring")

    def call(**arguments: JsonValue) -> object:
        return _returned(function(**arguments))

    async def acall(**arguments: JsonValue) -> object:
        result = function(**arguments)
        return _returned(await result if inspect.isawaitable(result) else result)

    return Capability(
        name=function.__name__,
        description=inspect.cleandoc(function.__doc__ or "").split("\n\n")[0].replace("\n", " "),
        function=acall if inspect.iscoroutinefunction(function) else call,
        args=arguments_of(function),
        result=ANY_RESULT,
        mode="destructive",
        risk="Critical",
        effect="blind",
        declared=False,
        result_schema=ANY_RESULT.json_schema(),
        source=function,
    )


def _of_langchain(hint: object) -> bool:
    """Say whether a type of LangChain or LangGraph, or a mark of theirs, is in a type."""
    home = str(getattr(hint, "__module__", "")).partition(".")[0]
    return home in ("langchain_core", "langgraph", "langchain") or any(map(_of_langchain, get_args(hint)))


def _shortly(thing: object) -> str:
    return f"a {type(thing).__name__} ({repr(thing)[:40]})"


def _arguments(tool: BaseTool) -> type[BaseModel]:
    """Read the arguments that a model may give: none that the tool has injected by its host."""
    args: object = tool.args_schema or tool.get_input_schema()  # of a class that only has `_run`, from that
    if isinstance(args, dict):
        return arguments_by(tool.name, args)
    if not (isinstance(args, type) and issubclass(args, BaseModel)):
        raise SetupError(f"the tool {tool.name} has no schema of its arguments", "give it an args_schema")
    visible = tool.tool_call_schema
    if not (isinstance(visible, type) and issubclass(visible, BaseModel)):
        raise SetupError(f"the tool {tool.name} has no schema of pydantic 2", "give it an args_schema")
    injected = [name for name in args.model_fields if name not in visible.model_fields]
    available = _injected(tool)
    if needed := [
        name for name in injected if name not in available and args.model_fields[name].is_required()
    ]:
        cause = f"the tool {tool.name} has `{needed[0]}` injected, which nobody does here"
        raise SetupError(cause, "give it a default, or write a capability, which has a CallContext")
    model = with_optional_fields(_without(tool, args, injected) if injected else args)
    try:
        check_fields(tool.name, model)
    except PydanticUserError as error:
        cause = f"the tool {tool.name} has no schema of its arguments: {error.message}"
        raise SetupError(cause, "use types that JSON can hold") from error
    return model


def _injected(tool: BaseTool) -> dict[str, Injected]:
    """Find the arguments that LangGraph injects and that a call here has, too: id, messages, runtime."""
    args: object = tool.args_schema or tool.get_input_schema()
    if not (isinstance(args, type) and issubclass(args, BaseModel)):
        return {}
    kinds = {name: _kind(info) for name, info in args.model_fields.items()}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def _kind(info: FieldInfo) -> Injected | None:
    """Say what LangGraph injects into a field; one that asks for one key of the state gets the messages."""
    if info.annotation is ToolRuntime or get_origin(info.annotation) is ToolRuntime:
        return "runtime"
    for mark in info.metadata:
        if mark is InjectedToolCallId or isinstance(mark, InjectedToolCallId):
            return "call_id"
        if mark is InjectedState or isinstance(mark, InjectedState):
            field = getattr(mark, "field", None)
            return "state" if field is None else "messages" if field == "messages" else None
    return None


def _optional(args: type[BaseModel]) -> frozenset[str]:
    fields = args.model_fields.items()
    return frozenset(name for name, info in fields if info.default is None and not info.is_required())


def _without_defaults(arguments: Mapping[str, JsonValue], optional: frozenset[str]) -> dict[str, JsonValue]:
    """Leave out what is None by default: LangChain puts it in, and checks no default by the field's type."""
    return {name: value for name, value in arguments.items() if value is not None or name not in optional}


def _input(
    tool: BaseTool, arguments: dict[str, JsonValue], injected: Mapping[str, Injected], call: CallContext
) -> dict[str, object]:
    """Put the input of a tool together; one into which something is injected is called as by a model."""
    if not injected:
        return dict(arguments)
    messages = [HumanMessage(call.request)] if call.request else []
    values: dict[Injected, object] = {
        "call_id": call.idempotency_key,
        "messages": messages,
        "state": {"messages": messages},
    }
    if "runtime" in injected.values():
        key, config, state = call.idempotency_key, ensure_config(), values["state"]
        values["runtime"] = ToolRuntime(state, None, config, _no_writer, key, None)
    args = {**arguments, **{name: values[kind] for name, kind in injected.items()}}
    return {"type": "tool_call", "id": call.idempotency_key, "name": tool.name, "args": args}


def _no_writer(_: object) -> None:
    """Drop what a tool streams: what a call did is on record once it has ended."""


def _returned(result: object) -> object:
    """Take what a tool tells the model out of a message or a command; no other state is updated."""
    if isinstance(result, ToolMessage):
        return result.content
    if isinstance(result, Command):
        update = result.update if isinstance(result.update, Mapping) else {}
        texts = [
            message.content for message in update.get("messages", ()) if isinstance(message, ToolMessage)
        ]
        return texts[0] if len(texts) == 1 else texts or update
    return result


def _without(tool: BaseTool, args: type[BaseModel], injected: Sequence[str]) -> type[BaseModel]:
    """Leave fields out of a model. What LangChain makes for that has lost the checks of the others."""
    checks = args.__pydantic_decorators__
    if checks.field_validators or checks.model_validators or checks.validators or checks.root_validators:
        cause = f"the tool {tool.name} has injected arguments, and checks of its own as methods"
        raise SetupError(cause, "write the checks beside the types: Annotated[…, AfterValidator(…)]")
    fields: Fields = {
        name: (info.annotation, info) for name, info in args.model_fields.items() if name not in injected
    }
    return create_model(args.__name__, __config__=args.model_config, **fields)


def _is_async(tool: BaseTool) -> bool:
    if hasattr(tool, "coroutine"):
        return tool.coroutine is not None
    return type(tool)._arun is not BaseTool._arun


def _one_of(tool: BaseTool, field: str, value: object, choices: Sequence[ChoiceT]) -> ChoiceT:
    for choice in choices:
        if choice == value:
            return choice
    cause = f"the tool {tool.name} declares {field} {value!r}"
    raise SetupError(cause, f"use one of: {', '.join(choices)}")
