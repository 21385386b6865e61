"""The embedded model as a LangChain chat model.

It reads the role in the system prompt, the task and results in the message, and the capabilities as they
are: a catalogue in words is for models. It is a planner without a language model behind it, and its name
says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from planwright.extras.offline.planner import compose
from planwright.extras.offline.sequence import Step
from planwright.extras.offline.talking import reply_to
from planwright.presentation.answering import answer_from_results

NAME = "planwright-offline"


class OfflineModel(BaseChatModel):
    """Plan and answer deterministically, offline; refuse everything else."""

    model_name: str = NAME
    """Name that runs record of the model."""

    @property
    def _llm_type(self) -> str:
        return NAME

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        text = _reply(messages, kwargs.get("capabilities", ()))
        usage = {"input_tokens": count_tokens_approximately(messages), "output_tokens": len(text) // 4 + 1}
        message = AIMessage(
            content=text,
            usage_metadata={**usage, "total_tokens": sum(usage.values())},
            response_metadata={"model_name": NAME},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        whole = self._generate(messages, stop, run_manager, **kwargs).generations[0].message
        if not isinstance(whole, AIMessage):
            raise TypeError(f"a model replies with an AIMessage, not with a {type(whole).__name__}")
        chunk = AIMessageChunk(
            content=whole.content,
            usage_metadata=whole.usage_metadata,
            response_metadata=whole.response_metadata,
            chunk_position="last",
        )
        yield ChatGenerationChunk(message=chunk)


def _reply(messages: list[BaseMessage], capabilities: Sequence[Step]) -> str:
    system = "\n".join(str(message.content) for message in messages if message.type == "system")
    prompt = "\n".join(str(message.content) for message in messages if message.type == "human")
    role = re.search(r"^Role: (\w+)", system, re.MULTILINE)
    match role[1] if role else "":
        case "planner":
            return json.dumps(_plan(prompt, capabilities), ensure_ascii=False)
        case "respond":
            return reply_to(_section(prompt, "request")) or answer_from_results(_section(prompt, "results"))
        case "task_extraction":
            return json.dumps({"task": _section(prompt, "newest"), "depends_on_chat_history": False})
        case _:
            return "I am the embedded planner. I plan and carry out tasks, but I cannot converse."


def _plan(prompt: str, capabilities: Sequence[Step]) -> Step:
    wrong = _section(prompt, "findings")
    if wrong:
        return {"cannot": f"the only plan I know does not work: {wrong[0]}"}
    return compose(_section(prompt, "task"), list(capabilities), _section(prompt, "databases"))


def _section(prompt: str, name: str) -> Any:
    match = re.search(rf"<{name}>\n(.*?)\n</{name}>", prompt, re.DOTALL)
    if match is None:
        return None
    fenced = re.fullmatch(r"<untrusted-(\w+)>\n(.*)\n</untrusted-\1>", match[1], re.DOTALL)
    return json.loads(fenced[2] if fenced else match[1])
