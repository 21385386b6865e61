"""A model that says what its script says, by its role; the same conversation hears the same."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from pydantic import PrivateAttr

from planwright.models.conversation.call_arguments import wire_name

Call = tuple[str, dict[str, Any]]
Turns = Sequence[Sequence[Call]]
SILENT = {"consolidate": '{"memories": []}', "planning": "no", "compaction": "They talked.", "title": "It"}


@dataclass(frozen=True)
class Job:
    """What a model does of one task: calls, turn by turn, then words."""

    turns: Turns = ()
    words: str = "That is done."


@dataclass(frozen=True)
class Script:
    """What a model says of one request: its own turns, those of other tasks, a plan, another call."""

    request: str
    main: Job = field(default_factory=Job)
    jobs: Mapping[str, Job] = field(default_factory=dict)
    plan: Mapping[str, Any] | None = None
    instead: Call | None = None


class SeamsModel(BaseChatModel):
    """Play a script; another may be laid before it between two runs."""

    _script: Script = PrivateAttr(default_factory=lambda: Script(""))

    @property
    def _llm_type(self) -> str:
        return "seams"

    def play(self, script: Script) -> None:
        """Lay a script before it."""
        self._script = script

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        """Take tools along; the script says which are called."""
        return self.bind(tools=tools, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        said = self._said(messages)
        message = AIMessage(
            **({"content": said} if isinstance(said, str) else {"content": "", "tool_calls": said}),
            usage_metadata={"input_tokens": 10, "output_tokens": 10, "total_tokens": 20},
            response_metadata={"model_name": "seams"},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _said(self, messages: list[BaseMessage]) -> str | list[dict[str, Any]]:
        script = self._script
        role = messages[0].text.partition("\n")[0].removeprefix("Role: ").strip()
        if role == "planner":
            return json.dumps(script.plan)
        if role == "task_extraction":
            return json.dumps({"task": script.request})
        if role == "alternative":
            name, args = script.instead or ("", {})
            return json.dumps({"capability": name, "params": args}) if name else "NO_ALTERNATIVE"
        if role in SILENT or role == "respond":
            return SILENT.get(role, "That is done.")
        job, turn = self._place(messages)
        if turn >= len(job.turns):
            return job.words
        return [
            {"name": wire_name(name), "args": args, "id": f"c{turn}_{n}", "type": "tool_call"}
            for n, (name, args) in enumerate(job.turns[turn])
        ]

    def _place(self, messages: Sequence[BaseMessage]) -> tuple[Job, int]:
        """Find which task a conversation is about, and how often the model has spoken since."""
        script = self._script
        for mark, job in (*script.jobs.items(), (script.request, script.main)):
            at = [n for n, one in enumerate(messages) if one.type == "human" and mark in one.text]
            if at:
                return job, sum(one.type == "ai" for one in messages[at[-1] :])
        return Job(), 0
