"""Tasks over tools that say nothing, and a model that is right about each: it knows the calls beforehand.

It calls what it is offered, searches for what it is not offered, plans where it is asked for a plan, and
takes from the result of one call what another one needs. What it was offered, found and told is kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from planwright.models.scripted import ScriptedModel

SEARCH = "tools__search"
_FENCE = re.compile(r"</?untrusted-[0-9a-f]+>")


@dataclass(frozen=True)
class From:
    """What an earlier call returned, counted from 0 over a message's calls: all of it, or a field."""

    call: int
    path: str = ""


@dataclass(frozen=True)
class Call:
    """A call that a right model makes."""

    name: str
    args: Mapping[str, Any]


@dataclass(frozen=True)
class Message:
    """What a person writes, the calls that are right, reply by reply, and what is said at the end."""

    words: str
    replies: tuple[tuple[Call, ...], ...] = ()
    answer: str = "That is done."

    @property
    def calls(self) -> list[Call]:
        """All calls, in their order."""
        return [call for reply in self.replies for call in reply]


@dataclass(frozen=True)
class Task:
    """Messages of one conversation, what is different in the world at its end, and what has to be told."""

    messages: tuple[Message, ...]
    end: Mapping[str, str | None] = field(default_factory=dict)
    told: tuple[str, ...] = ()
    raises: bool = False

    @property
    def needed(self) -> list[str]:
        """The tools that are called, each once."""
        return list(dict.fromkeys(call.name for message in self.messages for call in message.calls))


@dataclass(frozen=True)
class World:
    """Functions over one state, which of them only read, and how the state is left."""

    name: str
    tools: Sequence[Callable[..., object]]
    reads: frozenset[str]
    state: Callable[[], dict[str, Any]]


def call(name: str, /, **args: Any) -> Call:
    """Write a call."""
    return Call(name, args)


def task(
    words: str,
    *replies: Sequence[Call] | Call,
    end: Mapping[str, str | None] | None = None,
    told: Sequence[str] = (),
    after: Message | None = None,
    raises: bool = False,
) -> Task:
    """Write a task: a request, or an answer to what the agent has said after an earlier one."""
    message = Message(words, _replies(replies))
    return Task((message,) if after is None else (after, message), end or {}, tuple(told), raises)


def asked(words: str, *replies: Sequence[Call] | Call, answer: str) -> Message:
    """Write a first message to which the agent answers with a question of its own."""
    return Message(words, _replies(replies), answer)


def _replies(replies: Sequence[Sequence[Call] | Call]) -> tuple[tuple[Call, ...], ...]:
    return tuple((reply,) if isinstance(reply, Call) else tuple(reply) for reply in replies)


@dataclass
class Play:
    """One conversation as the model sees it."""

    task: Task
    wanted: Mapping[str, str]
    at: int = 0
    reply: int = 0
    planned: int = 0
    offered: set[str] = field(default_factory=set)
    found: set[str] = field(default_factory=set)
    missed: set[str] = field(default_factory=set)
    told: list[str] = field(default_factory=list)
    searched: dict[str, list[str]] = field(default_factory=dict)
    named: bool = False
    results: list[Any] = field(default_factory=list)
    numbers: count[int] = field(default_factory=count)

    @property
    def message(self) -> Message:
        """The message that is being answered."""
        return self.task.messages[self.at]

    def next_message(self) -> None:
        """Begin with the next message."""
        self.at, self.reply, self.results = self.at + 1, 0, []

    def answer(self, messages: Sequence[BaseMessage], tools: Sequence[str]) -> str | dict[str, Any]:
        """Reply to what the product sends to a model."""
        system = messages[0].text
        role = system.partition("\n")[0].removeprefix("Role: ").strip()
        if role == "planner":
            return self._plan(system)
        if role == "task_extraction":
            earlier = self.at > 0
            return json.dumps({"task": self.message.words, "depends_on_chat_history": earlier})
        if role == "respond":
            self.told.append(messages[-1].text)
            return self.message.answer
        if role == "agent":
            return self._turn(messages, tools)
        return {"alternative": "NO_ALTERNATIVE", "consolidate": '{"memories": []}'}.get(role, "no")

    def _plan(self, system: str) -> str:
        self.planned += 1
        steps, before = list[dict[str, Any]](), list[str]()
        for reply in self.message.replies:
            ids = [f"s{len(steps) + n}" for n in range(len(reply))]
            for id_, call in zip(ids, reply, strict=True):
                listed = re.search(rf"^{re.escape(call.name)}[ (]", system, re.MULTILINE)
                (self.offered if listed else self.missed).add(call.name)
                params = {name: _reference(value) for name, value in call.args.items()}
                steps.append(
                    {"id": id_, "capability": call.name, "params": params, "depends_on": list(before)}
                )
            before = ids
        return json.dumps({"goal": self.message.words, "steps": steps})

    def _turn(self, messages: Sequence[BaseMessage], tools: Sequence[str]) -> str | dict[str, Any]:
        self._hear(messages)
        if self.reply >= len(self.message.replies):
            return self.message.answer
        calls = self.message.replies[self.reply]
        there = {call.name for call in calls if call.name in tools}
        (self.found if self.searched else self.offered).update(there - self.offered)
        lacking = {call.name for call in calls} - there
        if SEARCH in tools and (queries := [q for name in sorted(lacking) for q in self._queries(name)]):
            return _calling([(SEARCH, {"query": query}, f"q{next(self.numbers)}") for query in queries])
        self.missed |= lacking
        self.reply += 1
        first_number = sum(len(reply) for reply in self.message.replies[: self.reply - 1])
        return _calling(
            [(call.name, self._args(call), f"m{self.at}c{first_number + n}") for n, call in enumerate(calls)]
        )

    def _queries(self, name: str) -> list[str]:
        """Search for a tool twice: in the words of the request; then by a name it was told, or in its own."""
        tries = self.searched.setdefault(name, [])
        if len(tries) == 2:
            return []
        told = re.search(rf"[ ,]{name}(,|$)", "\n".join(self.told), re.MULTILINE)
        tries.append((name if told else self.wanted[name]) if tries else self.message.words)
        self.named |= bool(told) and len(tries) == 2
        return tries[-1:]

    def _hear(self, messages: Sequence[BaseMessage]) -> None:
        heard = {
            message.tool_call_id: message.text for message in messages if isinstance(message, ToolMessage)
        }
        self.told += [text for text in heard.values() if text not in self.told]
        ids = [f"m{self.at}c{n}" for n in range(len(self.message.calls))]
        self.results = [_value(heard[id_]) for id_ in ids if id_ in heard]

    def _args(self, call: Call) -> dict[str, Any]:
        return {
            name: _at(self.results, value) if isinstance(value, From) else value
            for name, value in call.args.items()
        }


def _reference(value: Any) -> Any:
    if not isinstance(value, From):
        return value
    path = f".{value.path}" if value.path else ""
    return f"{{{{steps.s{value.call}.output{path}}}}}"


def _at(results: Sequence[Any], wanted: From) -> Any:
    """Read a value out of a result; what is not there is told as that, so that the call shows it."""
    value: Any = results[wanted.call] if wanted.call < len(results) else None
    for part in wanted.path.split(".") if wanted.path else ():
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]
        except (KeyError, IndexError, TypeError, ValueError):
            return f"no {wanted.path} in {value!r}"
    return value


def _value(text: str) -> Any:
    """Read a result as a model does: a list or record by its fields, anything else as it is written."""
    plain = _FENCE.sub("", text).strip()
    if not plain.startswith(("[", "{")):
        return plain
    try:
        return json.loads(plain)
    except ValueError:
        return plain


def _calling(calls: Sequence[tuple[str, Mapping[str, Any], str]]) -> dict[str, Any]:
    listed = [{"name": name, "args": dict(args), "id": id_} for name, args, id_ in calls]
    return {"content": "", "tool_calls": listed}


class Stage:
    """The conversation that is being played in this process."""

    play: Play


class RightModel(ScriptedModel):
    """A model that plays its part in the conversation on the stage."""

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        names = [tool["function"]["name"] for tool in kwargs.get("tools", ())]
        reply = Stage.play.answer(messages, names)
        fields = {"content": reply} if isinstance(reply, str) else reply
        usage = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
        message = AIMessage(**fields, usage_metadata=usage, response_metadata={"model_name": "right"})
        return ChatResult(generations=[ChatGeneration(message=message)])
