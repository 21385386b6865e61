"""Every way a secret could come into a run by: each is a place, played with one text that holds it."""

from __future__ import annotations

import json
import traceback
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.types import Command

from benchmarks.leak_stage import Stage
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.errors import CapabilityRejected, CapabilityUnavailable, PlanwrightError
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import load


class Dripping(ScriptedModel):
    """Streams its replies in pieces of one to eight characters, the arguments of its calls as well."""

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **more: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        reply = self._reply(messages)
        fields = {"content": reply} if isinstance(reply, str) else reply
        for piece in pieces(fields["content"]):
            yield ChatGenerationChunk(message=AIMessageChunk(content=piece))
        for index, call in enumerate(fields.get("tool_calls", ())):
            for at, piece in enumerate(pieces(json.dumps(call["args"]))):
                part = {"name": None if at else call["name"], "id": None if at else call["id"]}
                part |= {"args": piece, "index": index, "type": "tool_call_chunk"}
                yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[part]))
        yield ChatGenerationChunk(message=AIMessageChunk(content="", chunk_position="last"))


def pieces(text: str) -> Iterator[str]:
    """Cut a text into pieces of 1, 2, … 8, 1, 2 … characters."""
    at, size = 0, 1
    while at < len(text):
        yield text[at : at + size]
        at, size = at + size, size % 8 + 1


def ask(text: str = "Do it") -> dict[str, Any]:
    """Write a request."""
    return {"messages": [("user", text)]}


def plan(*steps: tuple[str, dict[str, Any]], goal: str = "Do it") -> str:
    """Write a planner's reply of steps one after another."""
    listed = [
        {"id": f"s{n}", "capability": name, "params": args, "depends_on": [f"s{n - 1}"] if n > 1 else []}
        for n, (name, args) in enumerate(steps, 1)
    ]
    return json.dumps({"goal": goal, "steps": listed})


def calls(name: str, args: dict[str, Any], text: str = "") -> dict[str, Any]:
    """Write a model's reply that calls one tool."""
    return {"content": text, "tool_calls": [{"name": name, "args": args, "id": f"c{uuid.uuid4().hex[:8]}"}]}


def telling(answer: Callable[[], Any], name: str = "leak.tell") -> tuple[Capability, ...]:
    """Declare a capability that answers, or raises, what it is given."""

    def tell() -> Any:
        """Tell what is behind it."""
        return answer()

    return (capability(name, mode="read_only", tags=("leak",))(tell),)


def raising(error: Exception) -> tuple[Capability, ...]:
    """Declare a capability that raises."""

    def fail() -> Any:
        raise error

    return telling(fail)


def _step(stage: Stage, tools: tuple[Capability, ...]) -> None:
    stage.play(ScriptedModel(replies=[plan(("leak.tell", {})), "done"]), ask(), tools=tools)


def result(stage: Stage, text: str) -> None:
    """A step's result is handed on to another step, and to whoever words the answer."""
    two = plan(("leak.tell", {}), ("text.summarize", {"text": "{{steps.s1.output}}"}))
    stage.play(Dripping(replies=[two, text]), ask(), tools=telling(lambda: text))


def nested_json(stage: Stage, text: str) -> None:
    """A result as an MCP server sends it."""
    told = {"content": [{"type": "text", "text": json.dumps({"env": {"KEY": text}})}], "meta": [[text]]}
    _step(stage, telling(lambda: told))


def key_of_json(stage: Stage, text: str) -> None:
    """A result whose field is named so."""
    _step(stage, telling(lambda: {"fields": {text: 1}}))


def large_result(stage: Stage, text: str) -> None:
    """A result that is shortened, kept in the blob store, and read back piece by piece."""
    model = ScriptedModel(replies=[calls("leak__tell", {}), "done"])
    stage.play(model, ask(), tools=telling(lambda: {"lines": [text] * 400}), mode="never")


def exception(stage: Stage, text: str) -> None:
    """A capability breaks with it in its words."""
    _step(stage, raising(RuntimeError(f"cannot log in with {text}")))


def rejection(stage: Stage, text: str) -> None:
    """A capability refuses, and says why and what to do."""
    _step(stage, raising(CapabilityRejected(f"no: {text}", f"try {text}")))


def retries(stage: Stage, text: str) -> None:
    """A capability is unavailable, and is tried again."""
    _step(stage, raising(CapabilityUnavailable(f"503: {text}")))


def traceback_text(stage: Stage, text: str) -> None:
    """A capability hands out a traceback, values of the environment included."""

    def fail() -> str:
        try:
            raise KeyError({"KEY": text})
        except KeyError:
            return traceback.format_exc()

    _step(stage, telling(fail))


def tool_result(stage: Stage, text: str) -> None:
    """A tool of an agentic loop returns it, and the model quotes it."""
    model = Dripping(replies=[calls("leak__tell", {}, text), f"it says {text}"])
    stage.play(model, ask(), tools=telling(lambda: text), mode="never")


def tool_arguments(stage: Stage, text: str) -> None:
    """A model puts it into the arguments of a call that writes."""
    wrote = calls("memory__write", {"text": text, "tags": [text]})
    stage.play(Dripping(replies=[wrote, "done"]), ask("Remember this note in the memory"), mode="never")


def copied(stage: Stage, text: str) -> None:
    """A plan copies a result into the memory."""
    two = plan(("leak.tell", {}), ("memory.write", {"text": "{{steps.s1.output}}"}))
    stage.play(ScriptedModel(replies=[two, "done"]), ask(), tools=telling(lambda: text))


def planned(stage: Stage, text: str) -> None:
    """A model plans with it: in the goal, a description and the arguments."""
    stage.play(Dripping(replies=[plan(("memory.write", {"text": text}), goal=text), "done"]), ask())


def request(stage: Stage, text: str) -> None:
    """A user writes it into the request."""
    stage.play(ScriptedModel(replies=[plan(("datetime.now", {})), "done"]), ask(f"Use {text} now"))


def asked_tool(stage: Stage, text: str) -> None:
    """A user writes it into a request that a model answers with tools, and the model says it again."""
    stage.play(Dripping(replies=[text]), ask(f"Say {text}"), mode="never")


def refusal(stage: Stage, text: str) -> None:
    """A person rejects a plan, and gives it as the reason."""
    again = plan(("memory.write", {"text": "hello"}))
    said: Command[Any] = Command(resume={"decisions": [{"type": "reject", "message": f"rather with {text}"}]})
    approval = {"plan": "always"}
    stage.play(ScriptedModel(replies=[again, again, "done"]), ask(), said, approval=approval)


def edited(stage: Stage, text: str) -> None:
    """A person edits it into a plan."""
    edit = {"goal": "Do it", "steps": [{"id": "s1", "capability": "memory.write", "params": {"text": text}}]}
    action = {"name": "approve_plan", "args": {"plan": edit}}
    said: Command[Any] = Command(resume={"decisions": [{"type": "edit", "edited_action": action}]})
    model = ScriptedModel(replies=[plan(("memory.write", {"text": "hello"})), "done"])
    stage.play(model, ask(), said, approval={"plan": "always"})


def question(stage: Stage, text: str) -> None:
    """A person answers the question of a model with it."""
    model = ScriptedModel(replies=[calls("clarify", {"questions": ["Which key?"]}), "done"])
    stage.play(model, ask(), ask(text), mode="never")


def file_contents(stage: Stage, text: str) -> None:
    """A file of the workspace holds it."""
    (stage.folder / "planted").mkdir(exist_ok=True)
    (stage.folder / "planted" / "config.md").write_text(f"# Settings\n{text}\n", "utf-8")
    two = plan(("files.read", {"path": "planted/config.md"}), ("files.search", {"query": "Settings"}))
    stage.play(ScriptedModel(replies=[two, "done"]), ask())


def mail_body(stage: Stage, text: str) -> None:
    """A mail holds it."""
    folder = stage.folder / "mail"
    for name in ("cur", "new", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    head = "From: a@example.com\r\nSubject: access\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"
    mail = f"{head}{text}\r\n"
    (folder / "cur" / "1:2,S").write_bytes(mail.encode())
    stage.play(ScriptedModel(replies=[plan(("mail.search", {"query": "access"})), "done"]), ask())


def broken_model(stage: Stage, text: str) -> None:
    """A model of the user's own breaks with an error of no known kind."""

    class Broken(ScriptedModel):
        def _generate(self, *given: Any, **more: Any) -> Any:
            raise ZeroDivisionError({"key": text}, text)

    stage.play(Broken(replies=["never"]), ask())


def rejected_model(stage: Stage, text: str) -> None:
    """A model of the user's own refuses with an error of ours."""

    class Refusing(ScriptedModel):
        def _generate(self, *given: Any, **more: Any) -> Any:
            raise PlanwrightError(f"key {text} is wrong", text)

    stage.play(Refusing(replies=["never"]), ask())


def state_update(stage: Stage, text: str) -> None:
    """Somebody writes it into the state of a thread from outside."""
    stage.play(ScriptedModel(replies=[plan(("datetime.now", {})), "done"]), ask())
    agent = build_graph(load(stage.folder))
    try:
        changed = {"messages": [("user", text)], "answer": text}
        agent.update_state(stage.config, changed, as_node="consolidate")
        stage.hear("state", agent.get_state(stage.config))
    finally:
        agent.close()


PLACES: tuple[Callable[[Stage, str], None], ...] = (
    *(result, nested_json, key_of_json, large_result, exception, rejection, retries, traceback_text),
    *(tool_result, tool_arguments, copied, planned, request, asked_tool, refusal, edited, question),
    *(file_contents, mail_body, broken_model, rejected_model, state_update),
)
