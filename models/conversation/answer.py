"""The answer of a run is told as soon as it is there; title and memories are found behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda

from planwright.domain.results import answer_id
from planwright.models.providers.common_form import REASONING
from planwright.records.runs import Runs
from planwright.state.invocation import Invocation


async def emit_answer(runs: Runs, answer: str, invocation: Invocation, config: RunnableConfig) -> None:
    """Tell the answer to who watches, and write it down, once a run: from then on it is the answer."""
    if not invocation.emit("agent_message", {"content": answer}, "run"):
        return
    runs.tell(invocation.lease, answer)
    await emit_messages([closing_message(invocation, answer)], config)


async def emit_messages(
    messages: Sequence[AnyMessage],
    config: RunnableConfig,
    place: Mapping[str, object] | None = None,
    *,
    seen: Sequence[AnyMessage] = (),
) -> None:
    """Stream messages before the state has them, as those of this node or of the one that a place names.

    LangGraph streams the messages that something of the name of a node returns, unless one with its id was
    streamed before or came in (`StreamMessagesHandler`, 1.2); its `push_message` repeats those. What an
    earlier stream of the run has told is `seen`.
    """
    if not messages and not seen:
        return
    metadata = {**config["metadata"], **(place or {})}
    named: RunnableConfig = {**config, "metadata": metadata, "run_name": str(metadata["langgraph_node"])}

    async def says(_: object) -> list[AnyMessage]:
        return [*messages]

    await RunnableLambda(says).ainvoke({"messages": [*seen]}, named)


def closing_message(invocation: Invocation, answer: str) -> AIMessage:
    """Make the message that a run ends with; where its words were streamed, it is that message."""
    run_id, streamed = invocation.run_id, invocation.streamed
    message = AIMessage(answer, id=answer_id(run_id), response_metadata={"run_id": run_id})
    if streamed is None or not streamed.id or streamed.text != answer:
        return message
    thoughts = {key: text for key, text in streamed.additional_kwargs.items() if key == REASONING}
    return message.model_copy(update={"id": streamed.id, "additional_kwargs": thoughts})
