"""Replies of a model, played through the agentic loop: what runs, and whether its history stays valid."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.utils import convert_to_openai_messages
from langchain_core.runnables import RunnableConfig
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send
from pydantic import JsonValue

from planwright.capabilities.builtin.files import check_inside
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.capabilities.registry import Registry
from planwright.checkpoints.serde import AllowListedSerializer
from planwright.execution.tool_calls import CallReader, batch_of, tools_of
from planwright.graph.agentic_loop import after_guard
from planwright.graph.building import build_graph
from planwright.models.conversation.history import normalise, repair
from planwright.models.scripted import ScriptedModel
from planwright.nodes.loop.llm_invoker import call_ids
from planwright.nodes.loop.parallel_execution import answer_message, runnable
from planwright.planning.reply_order import held_back, in_stages
from planwright.settings.settings import load
from planwright.state.agent_state import ModelRoute
from planwright.state.loop_state import LoopState, LoopTask, ToolCall

Ran = list[tuple[str, dict[str, Any]]]
FLAGS: dict[str, Any] = {
    "planning": {"mode": "never"},
    "tools": {"top_k": 100},
    "execution": {"max_tool_iterations": 500},
    "loop_guard": {"window": 1},
    "approval": {"risk": "Critical"},
    "budgets": {
        "run": {"tool_calls": "unlimited", "effects": "unlimited", "effects_per_minute": "unlimited"}
    },
}
_LOOP = LoopTask(lane="main", goal="Go", route=ModelRoute(provider="scripted", model="scripted"), tools=())
_SPELLED = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def recording(ran: Ran) -> list[Capability]:
    """Declare tools that only write down that they ran, by the name a model calls them."""

    @capability("notes.add", trusted_result=True, mode="local_write", effect="idempotent")
    def add(text: str, times: int = 1) -> str:
        """Add a note."""
        ran.append(("notes__add", {"text": text, "times": times}))
        return "added"

    @capability("notes.read_all", trusted_result=True, mode="read_only")
    def read_all(folder: str) -> str:
        """Read all notes of a folder."""
        ran.append(("notes__read_all", {"folder": folder}))
        return "nothing"

    @capability("sums.total", trusted_result=True, mode="read_only")
    def total(numbers: list[float]) -> float:
        """Add numbers up."""
        ran.append(("sums__total", {"numbers": numbers}))
        return sum(numbers)

    @capability("box.put", trusted_result=True, mode="local_write", effect="idempotent")
    def put(value: JsonValue) -> str:
        """Put any value into a box."""
        ran.append(("box__put", {"value": value}))
        return "put"

    @capability("shelf.open", trusted_result=True, mode="read_only", preflight=check_inside)
    def open_(path: str) -> str:
        """Open a file of the workspace."""
        ran.append(("shelf__open", {"path": path}))
        return "opened"

    @capability("disk.wipe", trusted_result=True, mode="destructive")
    def wipe(name: str) -> str:
        """Wipe a disk; a person has to agree."""
        ran.append(("disk__wipe", {"name": name}))
        return "wiped"

    return [add, read_all, total, put, open_, wipe]


def flaws(messages: Sequence[BaseMessage]) -> list[str]:
    """List why a provider or a store would refuse a conversation."""
    found, seen, open_ids = list[str](), set[str](), list[str]()
    for message in messages:
        if isinstance(message, ToolMessage):
            if not open_ids or message.tool_call_id != open_ids.pop(0):
                found.append(f"{message.tool_call_id!a} is answered out of turn")
            continue
        if open_ids:
            found.append(f"{open_ids!a} are not answered at once")
        open_ids = []
        for call in message.tool_calls if isinstance(message, AIMessage) else ():
            id_ = str(call["id"])
            found += [f"the id {id_!a} is used twice"] if id_ in seen else []
            found += [
                f"{text!a} is misspelled" for text in (call["name"], id_) if not _SPELLED.fullmatch(text)
            ]
            seen.add(id_)
            open_ids.append(id_)
    found += [f"{open_ids!a} are not answered"] if open_ids else []
    try:
        json.dumps(convert_to_openai_messages(messages), allow_nan=False, ensure_ascii=False).encode()
        AllowListedSerializer().dumps_typed(list(messages))
    except (TypeError, ValueError, RecursionError) as error:
        found.append(f"it cannot be sent or stored: {error}")
    return found


class Player:
    """The path of a reply without stores: normalise, verify, answer, repair.

    Calls that ask a person are rejected. `conversation` is what the model is sent next.
    """

    def __init__(self, capabilities: Iterable[Capability], world: CallContext) -> None:
        registry = Registry(capabilities)
        self._reader = CallReader(registry, world, "High")
        self._context = world.for_call("default", "run_1", "")
        self._tools = tools_of([found.name for found in registry], registry)
        self.begin()

    def begin(self) -> None:
        """Begin a new conversation."""
        self.conversation: list[AnyMessage] = [HumanMessage("Go", id="request")]
        self.turn = 0

    async def play(self, reply: AIMessage, lost: Iterable[int] = ()) -> Ran:
        """Play one reply and return the calls that would run; answers at the places in `lost` are lost."""
        self.turn += 1
        key = f"main.{self.turn}"
        clean, wrong = normalise(reply, f"main_{self.turn}", call_ids(self.conversation))
        calls = await self._reader.read(clean, wrong, self._tools, key, self._context)
        batch = batch_of(calls, "Go", key)
        batch.model_dump_json()
        state = LoopState(loop=_LOOP, conversation=[], calls=in_stages(calls), batch=batch.plan_hash)
        state["made"] = [call.signature for call in calls]
        ran = _sent(state, "tool_execution")
        names = {tool.name: wire for wire, tool in self._tools.items()}
        results = [answer_message(call if call.error else _answered(call)) for call in calls]
        gone = set(lost)
        kept = [result for place, result in enumerate(reversed(results)) if place not in gone]
        added: list[Any] = [clean, *kept]
        merged: Any = add_messages(list[Any](self.conversation), added)
        self.conversation = repair(merged)
        steps = (call.checked.step for call in ran if call.checked)
        return [(names[step.capability or ""], step.params) for step in steps]


def whole_run(replies: Sequence[dict[str, Any]], folder: Path) -> tuple[Ran, list[str]]:
    """Play replies as the turns of one run of an agent, rejecting what asks a person.

    Returns what ran, and what was wrong with a conversation the model was sent or with the end.
    """
    ran: Ran = []
    model = ScriptedModel(replies=[*replies, "the end"])
    with closing(build_graph(load(folder, **FLAGS), model=model, capabilities=recording(ran))) as agent:
        thread: RunnableConfig = {"configurable": {"thread_id": str(uuid.uuid4())}}
        out = agent.invoke({"messages": [("user", "Go")]}, thread)
        for _ in replies:
            if not (asked := agent.get_state(thread).interrupts):
                break
            decisions = {found.value["gate_id"]: "reject" for found in asked}
            out = agent.invoke(Command(resume=decisions), thread)
    ended = (out.get("status"), out.get("answer"))
    wrong = [] if ended == ("completed", "the end") else [f"the run ended as {ended!a}"]
    if len(model.prompts) != len(replies) + 1:
        wrong.append(f"the model was asked {len(model.prompts)} times")
    return ran, wrong + [flaw for asked in model.prompts[-1:] for flaw in flaws(asked)]


def _sent(state: LoopState, node: str) -> list[ToolCall]:
    """List the calls that the loop sends to a node, once people have rejected what asks them."""
    after = after_guard(state)
    if isinstance(after, list) and any(send.node == "tool_approval" for send in after):
        asked = {call.call_id for send in after for call in send.arg["calls"]}
        state["calls"] = [
            call.model_copy(update={"error": "not made: rejected"}) if call.call_id in asked else call
            for call in state["calls"]
        ]
    sent = list[ToolCall]()
    for stage in range(len(state["calls"])):
        state["calls"] = [_at_its_turn(call, state["calls"]) for call in state["calls"]]
        sends: list[Send] = runnable({**state, "stage": stage})
        sent += [send.arg["call"] for send in sends if send.node == node]
    return sent


def _at_its_turn(call: ToolCall, calls: list[ToolCall]) -> ToolCall:
    """Give a call the reason why it is not made: it is as wrong as before, or an effect before it is."""
    error = call.unverified or (held_back(call, calls, ()) if call.to_make else "")
    return call.model_copy(update={"error": error}) if error else call


def _answered(call: ToolCall) -> ToolCall:
    return call.model_copy(update={"error": "done"})
